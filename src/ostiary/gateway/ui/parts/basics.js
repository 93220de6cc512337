// Small parts that every page shares: notes, dialogs, menus, empty places, errors in words.
import { Cell, cls, html, newId, useCell, useEffect, useLayoutEffect, useRef, useState } from "../lib.js";
import { Icon } from "../icons.js";

const notes = new Cell([]);
export const dropNote = (id) => {
  notes.value = notes.value.filter((note) => note.id !== id);
};
/** A short word at the edge of the screen. `action`: {label, run}. */
export const say = (text, { kind = "info", action = null, ms = 5000 } = {}) => {
  const id = newId(4);
  notes.value = [...notes.value.slice(-3), { id, text, kind, action }];
  setTimeout(() => dropNote(id), ms);
};
export const complain = (error) => say([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad", ms: 9000 });

export const Notes = () => html`
  <div class="notes" role="status" aria-live="polite">
    ${useCell(notes).map(
      (note) => html`
        <div class=${cls("note", note.kind)} key=${note.id}>
          <span>${note.text}</span>
          ${note.action && html`<button type="button" class="link" onClick=${() => (dropNote(note.id), note.action.run())}>${note.action.label}</button>`}
          <button type="button" class="icon-button small" aria-label="Dismiss" onClick=${() => dropNote(note.id)}><${Icon} name="close" size=${14} /></button>
        </div>`,
    )}
  </div>`;

/** A modal dialog; Esc and a click beside it close it, and the focus returns to where it was. */
export const Dialog = ({ title, onClose, children, wide = false, bare = false }) => {
  const ref = useRef();
  useLayoutEffect(() => {
    const before = document.activeElement;
    ref.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`
    <dialog ref=${ref} class=${cls("dialog", wide && "wide", bare && "bare")} aria-label=${title}
      onCancel=${(event) => (event.preventDefault(), onClose())}
      onMouseDown=${(event) => event.target === ref.current && onClose()}>
      <div class="dialog-body">
        ${!bare && html`<header><h2>${title}</h2><button type="button" class="icon-button" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button></header>`}
        ${children}
      </div>
    </dialog>`;
};

const question = new Cell(null);
/** Ask before something that cannot be undone; gives true or false. */
export const confirm = (ask) =>
  new Promise((resolve) => {
    question.value = { ...ask, resolve };
  });
export const prompt = (ask) => confirm({ ...ask, input: true });

export const Question = () => {
  const ask = useCell(question);
  const [text, setText] = useState("");
  useEffect(() => setText(ask?.value ?? ""), [ask]);
  if (!ask) return null;
  const end = (answer) => {
    question.value = null;
    ask.resolve(answer);
  };
  const yes = (event) => {
    event.preventDefault();
    end(ask.input ? text.trim() : true);
  };
  return html`
    <${Dialog} title=${ask.title} onClose=${() => end(ask.input ? null : false)}>
      <form onSubmit=${yes}>
        ${ask.text && html`<p class="muted">${ask.text}</p>`}
        ${ask.input && html`<input class="field" aria-label=${ask.title} value=${text} maxlength="200" autofocus onInput=${(e) => setText(e.target.value)} />`}
        <footer>
          <button type="button" class="button" onClick=${() => end(ask.input ? null : false)}>Cancel</button>
          <button type="submit" class=${cls("button", ask.danger ? "danger" : "primary")} autofocus=${!ask.input}>${ask.yes ?? "OK"}</button>
        </footer>
      </form>
    <//>`;
};

/** A button with a list of choices under it. Items: {label, icon, run, danger, hint, checked} or null for a line. */
export const Menu = ({ label, icon = "more", items, children, align = "end", className = "" }) => {
  const [isOpen, setOpen] = useState(false);
  const ref = useRef();
  useEffect(() => {
    if (!isOpen) return undefined;
    const away = (event) => !ref.current?.contains(event.target) && setOpen(false);
    document.addEventListener("pointerdown", away);
    ref.current.querySelector('[role^="menuitem"]')?.focus();
    return () => document.removeEventListener("pointerdown", away);
  }, [isOpen]);
  const move = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      setOpen(false);
      ref.current.querySelector("button").focus();
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const all = [...ref.current.querySelectorAll('[role^="menuitem"]')];
    const at = all.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    all[(at + all.length) % all.length]?.focus();
  };
  return html`
    <div class=${cls("menu", className)} ref=${ref} onKeyDown=${isOpen ? move : undefined}>
      <button type="button" class=${children ? "menu-button" : "icon-button"} aria-haspopup="menu" aria-expanded=${isOpen} aria-label=${label} title=${children ? undefined : label}
        onClick=${(event) => (event.preventDefault(), event.stopPropagation(), setOpen(!isOpen))}>
        ${children ?? html`<${Icon} name=${icon} />`}
      </button>
      ${isOpen &&
      html`<div class=${cls("menu-list", align)} role="menu">
        ${items.map((item, i) =>
          item === null
            ? html`<hr key=${i} />`
            : html`<button type="button" key=${i} role=${item.checked === undefined ? "menuitem" : "menuitemradio"} aria-checked=${item.checked}
                class=${cls(item.danger && "danger")} disabled=${item.disabled}
                onClick=${(event) => (event.stopPropagation(), setOpen(false), item.run())}>
                <${Icon} name=${item.checked ? "check" : (item.icon ?? "none")} size=${16} />
                <span>${item.label}</span>${item.hint && html`<small>${item.hint}</small>`}
              </button>`,
        )}
      </div>`}
    </div>`;
};

export const Empty = ({ icon = "info", title, children }) => html`
  <div class="empty"><span class="empty-icon"><${Icon} name=${icon} size=${26} /></span><h2>${title}</h2><div class="muted">${children}</div></div>`;

const WHAT_TO_DO = {
  OFFLINE: "The page keeps trying; you need do nothing.",
  TIMEOUT: "Try again; if it stays so, look at the logs.",
  FORBIDDEN: "This browser was not given that right. The owner can grant it under Devices.",
  UNAVAILABLE: "This gateway does not offer it yet.",
  BUSY: "Wait a moment and try again.",
};
export const ErrorNote = ({ error, onRetry }) =>
  error &&
  html`<div class="error-note" role="alert">
    <${Icon} name="alert" />
    <div><strong>${error.message}</strong><p>${error.hint || WHAT_TO_DO[error.code] || ""}</p></div>
    ${onRetry && html`<button type="button" class="button small" onClick=${onRetry}>Try again</button>`}
  </div>`;

export const Spinner = ({ label = "Loading…" }) => html`<div class="spinner" role="status"><i></i><span class="hidden">${label}</span></div>`;

export const copyText = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Outside a secure context there is no clipboard interface; the old way still works there.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
};

export const CopyButton = ({ text, label = "Copy" }) => {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(typeof text === "function" ? text() : text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class="icon-button small" aria-label=${label} title=${label} onClick=${copy}><${Icon} name=${isDone ? "check" : "copy"} size=${15} /></button>`;
};

/** `isNamed`: the title says more than the name of the page, so it is shown on a phone, too. */
export const Page = ({ title, about, actions, children, isNamed = false }) => html`
  <main id="main" class=${cls("page", isNamed && "named")} tabindex="-1">
    <header class="page-head"><div><h1>${title}</h1>${about && html`<p class="muted">${about}</p>`}</div><div class="page-actions">${actions}</div></header>
    ${children}
  </main>`;

export const Badge = ({ kind = "", children }) => html`<span class=${cls("badge", kind)}>${children}</span>`;
