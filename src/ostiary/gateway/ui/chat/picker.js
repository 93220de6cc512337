// Choosing a model and how long it thinks, for this conversation.
import { short } from "../format.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useRef, useState } from "../lib.js";
import { Menu, complain } from "../parts/basics.js";
import { score } from "../parts/switcher.js";
import { link } from "../router.js";
import { models, nameOf } from "./models.js";

export const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];

const ModelList = ({ conversation, onClose }) => {
  const all = useCell(models);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const box = useRef();
  const chosen = conversation.settings.model ?? "";
  const rows = [{ ref: "", name: "Default", hint: nameOf(all.find((m) => m.current)?.ref ?? ""), usable: true }, ...all]
    .map((m) => ({ ...m, points: query ? score(`${m.name} ${m.ref} ${m.alias ?? ""}`, query.toLowerCase()) : 1 }))
    .filter((m) => m.points > 0)
    .sort((a, b) => Number(b.ref === "") - Number(a.ref === "") || b.points - a.points || Number(b.usable) - Number(a.usable))
    .slice(0, 80);
  useEffect(() => setAt(0), [query]);
  useEffect(() => box.current?.querySelector(".at")?.scrollIntoView({ block: "nearest" }), [at]);
  const pick = async (model) => {
    onClose();
    try {
      await conversation.set({ model: model.ref });
    } catch (error) {
      complain(error);
    }
  };
  const press = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      onClose();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt((n) => (n + (event.key === "ArrowDown" ? 1 : -1) + rows.length) % Math.max(1, rows.length));
    } else if (event.key === "Enter" && rows[at]) {
      event.preventDefault();
      pick(rows[at]);
    }
  };
  return html`
    <div class="picker" role="dialog" aria-label="Choose a model">
      <label class="switcher-field"><${Icon} name="search" size=${16} /><input autofocus ref=${(n) => n && !n.dataset.on && ((n.dataset.on = "1"), n.focus())} placeholder="Find a model" aria-label="Find a model" value=${query} onInput=${(e) => setQuery(e.target.value)} onKeyDown=${press} /></label>
      <ul role="listbox" ref=${box} aria-label="Models">
        ${rows.map(
          (m, i) => html`<li key=${m.ref} role="option" aria-selected=${chosen === m.ref} class=${cls(i === at && "at", !m.usable && "dim")} onMouseMove=${() => setAt(i)} onClick=${() => pick(m)}>
            <${Icon} name=${chosen === m.ref || (chosen && chosen === m.alias) ? "check" : "none"} size=${16} />
            <span><strong>${m.name || m.ref}</strong><small>${m.hint ?? m.ref}</small></span>
            <small class="facts">${m.usable === false ? "no key" : m.contextWindow ? short(m.contextWindow) : ""}${m.reasons ? html` <span title="Can think before it answers"><${Icon} name="thought" size=${13} /></span>` : ""}</small>
          </li>`,
        )}
        ${!rows.length && html`<li class="none muted">No model is called that.</li>`}
      </ul>
      <a class="picker-foot" href=${link("models")}>Models and keys <${Icon} name="chevron" size=${13} /></a>
    </div>`;
};

export const ModelPicker = ({ conversation }) => {
  useCell(models);
  const [isOpen, setOpen] = useState(false);
  const ref = useRef();
  useEffect(() => {
    if (!isOpen) return undefined;
    const away = (event) => !ref.current?.contains(event.target) && setOpen(false);
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [isOpen]);
  const name = nameOf(conversation.settings.model || conversation.model || models.value.find((m) => m.current)?.ref);
  const close = () => {
    setOpen(false);
    ref.current?.querySelector("button")?.focus();
  };
  return html`
    <div class="picker-wrap" ref=${ref}>
      <button type="button" class="chip" aria-haspopup="dialog" aria-expanded=${isOpen} aria-label=${`Model: ${name}`} title="Model of this conversation" onClick=${() => setOpen(!isOpen)}>
        <span>${name}</span><${Icon} name="caret" size=${14} />
      </button>
      ${isOpen && html`<${ModelList} conversation=${conversation} onClose=${close} />`}
    </div>`;
};

export const ThinkingPicker = ({ conversation }) => {
  const level = conversation.settings.thinking ?? "";
  const set = (value) => conversation.set({ thinking: value }).catch(complain);
  const items = [
    { label: "Default", checked: level === "", run: () => set("") },
    null,
    ...LEVELS.map((l) => ({ label: l, checked: l === level, run: () => set(l) })),
  ];
  return html`<${Menu} label=${`Thinking: ${level || "default"}`} items=${items} align="start up" className="thinking">
    <span class="chip" title="How long to think before answering"><${Icon} name="thought" size=${15} /><span class="wide-only">${level || "thinking"}</span></span>
  <//>`;
};
