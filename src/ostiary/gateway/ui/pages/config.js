// The configuration: a form made from the schema, and the file itself. What is saved is checked by the gateway first.
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useEffect, useLoad, useRef, useState } from "../lib.js";
import { ErrorNote, Page, Spinner, say } from "../parts/basics.js";
import { Field } from "./config_fields.js";
import { at, isUnder, originOf, sectionsOf } from "./config_schema.js";
import { Styles } from "./styles.js";

const conflict = { message: "The file was changed by somebody else meanwhile.", hint: "It was read again and your changes are kept here. Look at them once more, then save." };

const SaveBar = ({ edits, isBusy, problems, onSave, onDiscard }) =>
  edits.size > 0 &&
  html`<div class="save-bar" role="region" aria-label="Changes">
    <span><strong>${edits.size}</strong> ${edits.size === 1 ? "change" : "changes"} not saved${problems ? html` · <span class="bad-text">${problems} not valid</span>` : ""}</span>
    <button type="button" class="button" disabled=${isBusy} onClick=${onDiscard}>Discard</button>
    <button type="button" class="button primary" disabled=${isBusy || problems > 0} onClick=${onSave}>${isBusy ? "Saving…" : "Save"}</button>
  </div>`;

const Group = ({ group, view, edits, wrong, onEdit }) => {
  const plain = group.leaves.filter((leaf) => !leaf.isAdvanced);
  const folded = group.leaves.filter((leaf) => leaf.isAdvanced);
  const field = (leaf) => html`<${Field} key=${leaf.path} leaf=${leaf} value=${at(view.config, leaf.path)} origin=${originOf(view, leaf.path)} edit=${edits.get(leaf.path)} problem=${wrong.get(leaf.path)} onEdit=${(edit) => onEdit(leaf.path, edit)} />`;
  return html`
    <section class="card config-group">
      <h2>${group.title}</h2>${group.about && html`<p class="muted small group-about">${group.about}</p>`}
      ${plain.map(field)}
      ${folded.length > 0 && html`<details class="advanced" open=${!plain.length}><summary>Advanced (${folded.length})</summary>${folded.map(field)}</details>`}
    </section>`;
};

const Form = ({ view, about, onSaved }) => {
  const sections = sectionsOf(about.schema, about.uiHints);
  const [name, setName] = useState(sections[0].name);
  const [query, setQuery] = useState("");
  const [edits, setEdits] = useState(() => new Map());
  const [wrong, setWrong] = useState(() => new Map());
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const keep = (event) => edits.size && event.preventDefault();
    addEventListener("beforeunload", keep);
    return () => removeEventListener("beforeunload", keep);
  }, [edits]);
  const onEdit = (path, edit) => {
    const next = new Map(edits);
    if (edit === null) next.delete(path);
    else next.set(path, edit);
    setEdits(next);
    if (wrong.has(path)) setWrong(new Map([...wrong].filter(([p]) => p !== path)));
  };
  const save = async () => {
    setBusy(true);
    setError(null);
    let { hash } = view;
    const left = new Map(edits);
    for (const [path, edit] of edits) {
      try {
        ({ hash } = await gateway.act("config.patch", { path, hash, ...(edit.isUnset ? { unset: true } : { value: edit.value }) }));
        left.delete(path);
      } catch (problem) {
        if (problem.code === "CONFLICT") setError(conflict);
        else {
          setWrong(new Map([...wrong, [path, problem.message]]));
          setError(problem);
        }
        break;
      }
    }
    setEdits(left);
    setBusy(false);
    onSaved();
    if (!left.size) say("Saved. It is in force.");
  };
  const wanted = query.trim().toLowerCase();
  const current = sections.find((s) => s.name === name) ?? sections[0];
  const groups = wanted
    ? sections.flatMap((s) => s.groups.map((g) => ({ ...g, title: `${s.title} · ${g.title}`, leaves: g.leaves.filter((l) => `${l.path} ${l.help}`.toLowerCase().includes(wanted)).map((l) => ({ ...l, isAdvanced: false })) })).filter((g) => g.leaves.length))
    : current.groups;
  const problems = [...edits.values()].filter((edit) => edit.problem).length;
  return html`
    <${ErrorNote} error=${error} />
    <div class="config">
      <nav class="config-nav" aria-label="Sections">
        <label class="filter"><${Icon} name="search" size=${15} /><input type="search" placeholder="Find a setting" aria-label="Find a setting" value=${query} onInput=${(e) => setQuery(e.target.value)} /></label>
        <ul>${sections.map((s) => html`<li key=${s.name}><button type="button" aria-current=${!wanted && s.name === current.name ? "true" : undefined} onClick=${() => (setName(s.name), setQuery(""))}>${s.title}${[...edits.keys()].some((p) => isUnder(p, s.name)) && html`<i class="dot warn"></i>`}</button></li>`)}</ul>
      </nav>
      <div class="config-body">
        ${groups.map((g) => html`<${Group} key=${g.id} group=${g} view=${view} edits=${edits} wrong=${wrong} onEdit=${onEdit} />`)}
        ${!groups.length && html`<p class="muted">No setting is called that.</p>`}
      </div>
    </div>
    <${SaveBar} edits=${edits} isBusy=${isBusy} problems=${problems} onSave=${save} onDiscard=${() => (setEdits(new Map()), setWrong(new Map()), setError(null))} />`;
};

const Text = ({ view, onSaved }) => {
  const [text, setText] = useState(view.text);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const hash = useRef(view.hash);
  const isChanged = text !== view.text;
  useEffect(() => {
    if (hash.current === view.hash) return;
    if (!isChanged || !error) setText(view.text);
    hash.current = view.hash;
  }, [view.hash]);
  const save = async () => {
    setBusy(true);
    try {
      await gateway.act("config.apply", { text, hash: view.hash });
      setError(null);
      say("Saved. It is in force.");
    } catch (problem) {
      setError(problem.code === "CONFLICT" ? { ...conflict, hint: "Your text is kept here. Take theirs, or save yours over it." } : problem);
    }
    setBusy(false);
    onSaved();
  };
  const press = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      if (isChanged) save();
    }
  };
  return html`
    <${ErrorNote} error=${error} />
    <section class="card text-card">
      <div class="text-head"><code>${[view.sources].flat().filter(Boolean).join(", ") || "no file yet"}</code><span class="space"></span>
        ${isChanged && html`<button type="button" class="button small" onClick=${() => (setText(view.text), setError(null))}>${error ? "Take theirs" : "Discard"}</button>`}
        <button type="button" class="button small primary" disabled=${!isChanged || isBusy} onClick=${save}>Save</button></div>
      <textarea class="config-text" aria-label="The configuration file" spellcheck="false" autocapitalize="off" value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${press}></textarea>
    </section>
    <p class="muted small">JSON5: comments and trailing commas are welcome. A masked secret (•••) keeps the value that it has. What is not valid is never written.</p>`;
};

export default function Config() {
  const [tab, setTab] = useState("form");
  const about = useLoad(() => gateway.request("config.schema"), []);
  const view = useLoad(() => gateway.request("config.get"), []);
  const tabs = html`<div class="tabs" role="tablist">${[["form", "Form"], ["text", "Text"]].map(([id, label]) => html`<button type="button" key=${id} role="tab" aria-selected=${tab === id} onClick=${() => setTab(id)}>${label}</button>`)}</div>`;
  const isReady = about.value && view.value;
  return html`
    <${Styles} name="pages" /><${Styles} name="config" />
    <${Page} title="Configuration" about="What is in force now. Changes count at once; turns under way keep what they began with." actions=${tabs}>
      <${ErrorNote} error=${about.error ?? view.error} onRetry=${() => (about.again(), view.again())} />
      ${view.value?.problem && html`<${ErrorNote} error=${{ message: "The file is not in force.", hint: view.value.problem }} />`}
      ${!isReady && !about.error && !view.error && html`<${Spinner} />`}
      ${isReady && (tab === "form" ? html`<${Form} view=${view.value} about=${about.value} onSaved=${view.again} />` : html`<${Text} view=${view.value} onSaved=${view.again} />`)}
    <//>`;
}
