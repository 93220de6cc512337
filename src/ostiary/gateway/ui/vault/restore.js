// Bringing a whole collection, a folder's worth of documents or one document back: first what would change, then the yes.
import { moment, plural } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { html, useLoad, useState } from "../lib.js";
import { Dialog, ErrorNote, Spinner } from "../parts/basics.js";
import { Shown } from "../questions/shown.js";
import { Compare } from "./compare.js";
import { done, nameOf } from "./state.js";

const WORDS = { back: ["plus", "comes back"], changed: ["retry", "goes back"], deleted: ["trash", "goes away"] };
const MOST = 200;

const Changes = ({ plan }) => html`
  ${!plan.count && html`<p class="muted pad">Nothing would change: everything is as it was then.</p>`}
  <ul class="plan">${plan.changes.slice(0, MOST).map((row) => {
    const [icon, words] = WORDS[row.change];
    return html`<li key=${row.path}><${Icon} name=${icon} size=${15} /><code><${Shown} text=${row.path} /></code><small class="muted">${words}${row.then ? ` to version ${row.then}` : ""}</small></li>`;
  })}</ul>
  ${plan.count > MOST && html`<p class="muted small">and ${plan.count - MOST} more</p>`}
  ${plan.left.map((words) => html`<p key=${words} class="muted small">Stays: <${Shown} text=${words} />.</p>`)}`;

const local = (seconds) => {
  const at = new Date(seconds * 1000);
  return new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

/** `wanted`: {path, version}, {at} or {turn}; with none of them the moment is asked for here. */
export const RestoreDialog = ({ collection, wanted = {}, onClose }) => {
  const isFixed = Boolean(wanted.version || wanted.turn);
  const [at, setAt] = useState(wanted.at ?? Date.now() / 1000 - 86_400);
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const asked = { collection, ...wanted, ...(!isFixed && { at }) };
  const { value, error, loading, again } = useLoad(() => gateway.request("vault.restore.preview", asked), [at]);
  const run = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const result = await gateway.act("vault.restore", { ...asked, digest: value.digest });
      onClose();
      done(`${plural(result.count, "document")} brought back.`, collection, result.undoAt, wanted.path);
    } catch (failed) {
      setProblem(failed);
      if (failed.code === "CONFLICT") again();
    }
    setBusy(false);
  };
  return html`
    <${Dialog} title=${wanted.path ? `Bring back version ${wanted.version}?` : `Bring ${nameOf(collection)} back`} wide onClose=${onClose}>
      <form onSubmit=${run}>
        ${!isFixed && html`<label class="as-field">To how it was at <input type="datetime-local" class="field" value=${local(at)} max=${local(Date.now() / 1000)} onChange=${(e) => e.target.value && setAt(new Date(e.target.value).getTime() / 1000)} /></label>`}
        <p class="muted small">${wanted.path ? "It gets a new version" : isFixed ? "Each document gets a new version" : `Each document gets a new version, as it was on ${moment(at)}`}; nothing is lost, and it can be undone.</p>
        <${ErrorNote} error=${problem ?? error} />
        ${loading && !value ? html`<${Spinner} />` : value && html`<${Changes} plan=${value} />`}
        ${wanted.version && value?.count > 0 && html`<${Compare} collection=${collection} path=${wanted.path} before=${value.changes[0].now} after=${wanted.version} />`}
        <footer><button type="button" class="button" onClick=${onClose}>Cancel</button>
          <button type="submit" class="button primary" disabled=${isBusy || loading || !value?.count}>Bring ${value?.count ? plural(value.count, "document") : "it"} back</button></footer>
      </form>
    <//>`;
};
