// Forgetting: everything that holds a text is shown, then erased for ever on the owner's word.
import { plural } from "../format.js";
import { gateway } from "../gateway.js";
import { html, useLoad, useState } from "../lib.js";
import { Dialog, ErrorNote, Spinner, say } from "../parts/basics.js";
import { Shown } from "../questions/shown.js";

/** The text without the marks of lists and emphasis: what is looked for. */
export const plain = (text) => text.replace(/^\s*(?:[-*+]|\d+[.)])\s+/gm, "").replace(/\*\*/g, "").trim();

const Preview = ({ plan }) => {
  const also = [plan.versions && plural(plan.versions, "old version"), plan.turns && plural(plan.turns, "turn"), plan.summaries && plural(plan.summaries, "summary", "summaries")].filter(Boolean);
  if (!plan.entries.length && !plan.events) return html`<p class="muted">Nothing that can be erased holds this text.</p>`;
  return html`
    <ul class="plan">${plan.entries.map((row) => html`<li key=${`${row.path}:${row.line}`}><code><${Shown} text=${`${row.path}:${row.line}`} /></code><span class="gone"><${Shown} text=${row.text} /></span></li>`)}</ul>
    ${also.length > 0 && html`<p class="muted small">And ${also.join(", ")}${plan.sessions.length ? ` in ${plural(plan.sessions.length, "conversation")}` : ""} in which it was said: a turn goes as a whole.</p>`}`;
};

export const Forget = ({ text, onClose, onDone }) => {
  const [wanted, setWanted] = useState(plain(text));
  const [asked, setAsked] = useState(plain(text));
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const { value, error, loading, again } = useLoad(() => gateway.request("memory.forget.preview", { text: asked }, { timeoutMs: 300_000 }), [asked]);
  const run = async (event) => {
    event.preventDefault();
    if (wanted !== asked) {
      setAsked(wanted);
      return;
    }
    setBusy(true);
    try {
      const result = await gateway.act("memory.forget", { text: asked, digest: value.digest });
      onClose();
      onDone();
      say(["Forgotten.", ...result.notices].join(" "), { ms: 10_000 });
    } catch (failed) {
      setProblem(failed);
      if (failed.code === "CONFLICT") again();
    }
    setBusy(false);
  };
  const isShown = value && wanted === asked && !loading;
  const isNothing = isShown && !value.entries.length && !value.events;
  return html`
    <${Dialog} title="Forget for ever" wide onClose=${onClose}>
      <form onSubmit=${run}>
        <label>Everything that holds these words<textarea class="field" rows="2" value=${wanted} onInput=${(e) => setWanted(e.target.value)}></textarea></label>
        <${ErrorNote} error=${problem ?? error} />
        ${loading ? html`<${Spinner} label="Looking through notes and conversations…" />` : isShown && html`<${Preview} plan=${value} />`}
        ${isShown && value.left.map((words) => html`<p key=${words} class="muted small">Stays: <${Shown} text=${words} /></p>`)}
        <p class="muted small">It leaves notes, their old versions, the index and the conversations it was said in. This cannot be undone.</p>
        <footer><button type="button" class="button" onClick=${onClose}>Cancel</button>
          <button type="submit" class=${wanted === asked ? "button danger" : "button"} disabled=${isBusy || loading || isNothing || wanted.trim().length < 4}>${wanted === asked ? "Erase" : "Look"}</button></footer>
      </form>
    <//>`;
};
