// One setting: its field, its help, where its value comes from, and the way back to the default.
import { html, useEffect, useState } from "../lib.js";
import { Icon } from "../icons.js";
import { Badge } from "../parts/basics.js";

const ORIGINS = { file: ["accent", "from the file"], posture: ["", "from the posture"], default: ["", "default"] };

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** What is wrong with a value, in words; empty if nothing. */
export const wrongWith = (schema, value) => {
  if (typeof value === "number") {
    if (schema.type === "integer" && !Number.isInteger(value)) return "A whole number, please.";
    if (schema.minimum !== undefined && value < schema.minimum) return `At least ${schema.minimum}.`;
    if (schema.maximum !== undefined && value > schema.maximum) return `At most ${schema.maximum}.`;
  }
  if (typeof value === "string" && schema.pattern && !new RegExp(schema.pattern, "u").test(value)) return "This does not have the right form.";
  return "";
};

const Switch = ({ id, value, set }) => html`<button type="button" id=${id} role="switch" class="switch" aria-checked=${Boolean(value)} onClick=${() => set(!value)}><i></i><span class="hidden">${value ? "on" : "off"}</span></button>`;

const Choice = ({ id, value, schema, isOptional, set, unset }) => html`
  <select id=${id} class="select" value=${value ?? ""} onChange=${(e) => (e.target.value === "" ? unset() : set(e.target.value))}>
    ${(isOptional || value === null || value === undefined) && html`<option value="">not set</option>`}
    ${schema.enum.map((choice) => html`<option key=${choice} value=${choice}>${String(choice)}</option>`)}
  </select>`;

const Number_ = ({ id, value, schema, set, unset }) => html`<input id=${id} class="field number" type="number" inputmode="decimal" min=${schema.minimum} max=${schema.maximum} step=${schema.type === "integer" ? 1 : "any"} placeholder="not set" value=${value ?? ""}
  onInput=${(e) => (e.target.value === "" ? unset() : set(Number(e.target.value)))} />`;

const Text = ({ id, value, set }) => html`<input id=${id} class="field" type="text" spellcheck="false" autocapitalize="off" placeholder="not set" value=${value ?? ""} onInput=${(e) => set(e.target.value)} />`;

const Secret = ({ id, value, set, unset }) => {
  const [typed, setTyped] = useState("");
  const shown = typeof value === "string" && value ? `${value.slice(0, 24)} (kept as it is)` : "not set";
  return html`<input id=${id} class="field" type="password" autocomplete="new-password" spellcheck="false" placeholder=${shown} value=${typed} onInput=${(e) => (setTyped(e.target.value), e.target.value ? set(e.target.value) : unset())} />`;
};

const List = ({ id, value, set }) => html`<textarea id=${id} class="field mono" rows=${Math.min(8, Math.max(2, (value?.length ?? 0) + 1))} placeholder="one per line" spellcheck="false" value=${(value ?? []).join("\n")}
  onInput=${(e) => set(e.target.value.split("\n").map((line) => line.trim()).filter((line, i, all) => line || i === all.length - 1).filter(Boolean))}></textarea>`;

const Json = ({ id, value, set, fail }) => {
  const [text, setText] = useState(() => JSON.stringify(value ?? null, null, 2));
  const input = (typed) => {
    setText(typed);
    try {
      set(JSON.parse(typed));
    } catch {
      fail("This is not JSON yet.");
    }
  };
  return html`<textarea id=${id} class="field mono" rows=${Math.min(14, text.split("\n").length + 1)} spellcheck="false" value=${text} onInput=${(e) => input(e.target.value)}></textarea>`;
};

const EDITORS = { switch: Switch, choice: Choice, number: Number_, text: Text, secret: Secret, list: List, json: Json };

export const Field = ({ leaf, value, origin, edit, problem, onEdit }) => {
  const Editor = EDITORS[leaf.kind];
  const [round, setRound] = useState(0);
  const shown = edit && !edit.isUnset && leaf.kind !== "secret" ? edit.value : edit?.isUnset ? leaf.schema.default : value;
  const set = (next) => onEdit(same(next, value) ? null : { value: next, problem: wrongWith(leaf.schema, next) });
  const unset = () => onEdit(leaf.kind === "secret" || value === null || value === undefined ? null : { isUnset: true });
  const back = () => {
    onEdit({ isUnset: true });
    setRound(round + 1);
  };
  useEffect(() => {
    if (!edit) setRound((n) => n + 1);
  }, [Boolean(edit), JSON.stringify(value)]);
  const wrong = edit?.problem || problem || "";
  const [kind, words] = ORIGINS[origin] ?? ["", ""];
  const id = `field-${leaf.path}`;
  return html`
    <div class=${`setting ${leaf.kind}${edit ? " edited" : ""}`}>
      <div class="setting-words">
        <label for=${id}>${leaf.label}</label>
        <p>${leaf.help}</p>
        <small><code>${leaf.path}</code>${words && html` <${Badge} kind=${kind}>${words}<//>`}</small>
      </div>
      <div class="setting-field">
        <${Editor} key=${leaf.kind === "json" || leaf.kind === "secret" ? round : 0} id=${id} value=${leaf.kind === "secret" ? value : shown} schema=${leaf.schema} isOptional=${leaf.isOptional} set=${set} unset=${unset} fail=${(words_) => onEdit({ value: undefined, problem: words_ })} />
        ${wrong && html`<p class="problem small" role="alert">${wrong}</p>`}
        ${edit
          ? html`<button type="button" class="link small" onClick=${() => onEdit(null)}>Undo</button>`
          : origin === "file" && html`<button type="button" class="link small with-icon" title="Take it out of the file" onClick=${back}><${Icon} name="retry" size=${12} />back to the default</button>`}
      </div>
    </div>`;
};
