// A text changed in place. It is written over the version it was made from and over no other.
import { since } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { html, useEffect, useRef, useState } from "../lib.js";
import { ErrorNote, confirm } from "../parts/basics.js";
import { whoOf } from "../parts/whose.js";
import { Compare } from "./compare.js";
import { done } from "./state.js";

const Clash = ({ clash, base, collection, path, onTheirs, onMine }) => {
  const { version, author, at } = clash.details ?? {};
  return html`
    <div class="error-note" role="alert"><${Icon} name="alert" />
      <div><strong>${version ? `${whoOf(author)} wrote version ${version} ${since(at)}, while you were writing.` : "It was deleted while you were writing."}</strong>
        <p>Nothing of yours is lost: it is still in the field. Look at what changed, then decide.</p></div>
      ${version > 0 && html`<button type="button" class="button small" onClick=${onTheirs}>Take theirs</button>`}
      <button type="button" class="button small" onClick=${onMine}>Write mine over it</button></div>
    ${version > 0 && html`<${Compare} collection=${collection} path=${path} before=${base} after=${version} />`}`;
};

export const Edit = ({ collection, path, text, version, onClose }) => {
  const [own, setOwn] = useState(text);
  const [clash, setClash] = useState(null);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const area = useRef();
  useEffect(() => area.current?.focus(), []);
  const isDirty = own !== text;
  useEffect(() => {
    if (!isDirty) return undefined;
    const warn = (event) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isDirty]);
  const save = async (over = version) => {
    setBusy(true);
    setError(null);
    try {
      const written = await gateway.act("vault.put", { collection, path, text: own, version: over });
      onClose();
      done(`Saved as version ${written.version}.`, collection, written.undoAt, path);
    } catch (problem) {
      if (problem.code === "CONFLICT") setClash(problem);
      else setError(problem);
      setBusy(false);
    }
  };
  const leave = async () => {
    if (!isDirty || (await confirm({ title: "Throw your changes away?", yes: "Throw away", danger: true }))) onClose();
  };
  const press = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      event.preventDefault();
      if (isDirty && !isBusy) save();
    } else if (event.key === "Escape") leave();
  };
  return html`
    <div class="editor">
      ${clash && html`<${Clash} clash=${clash} base=${version} collection=${collection} path=${path} onTheirs=${onClose} onMine=${() => save(clash.details?.version ?? 0)} />`}
      <${ErrorNote} error=${error} />
      <textarea ref=${area} class="field" aria-label=${`Text of ${path}`} spellcheck="false" value=${own} onInput=${(e) => setOwn(e.target.value)} onKeyDown=${press}></textarea>
      <footer class="row end"><small class="muted wide-only">Ctrl+S saves, Esc leaves</small><button type="button" class="button" onClick=${leave}>Cancel</button>
        <button type="button" class="button primary" disabled=${!isDirty || isBusy} onClick=${() => save()}>Save</button></footer>
    </div>`;
};
