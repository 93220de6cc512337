// What was decided and done, in the order it happened; each entry is chained to those before it.
import { moment, number, time } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useEffect, useState } from "../lib.js";
import { Badge, Empty, ErrorNote, Page, Spinner } from "../parts/basics.js";
import { Shown } from "../questions/shown.js";
import { link } from "../router.js";
import { Styles } from "./styles.js";

const KINDS = [["", "everything"], ["tool.*", "tools"], ["approval.*", "approvals"], ["grant.*", "grants"], ["control.*", "control"], ["config.*", "configuration"], ["credential.*", "credentials"], ["login*", "logins"], ["device.*", "devices"], ["undo", "undo"]];
const GOOD = new Set(["allow", "ok", "allowed", "given", "done", "undone"]);
const BAD = new Set(["deny", "error", "denied", "failed", "refused", "expired"]);
const PAGE = 100;
const MOST = 1000;
const EVERY_MS = 2000;

const kindOf = (outcome) => (GOOD.has(outcome) ? "good" : BAD.has(outcome) ? "bad" : outcome === "ask" || outcome === "asked" ? "warn" : "");

const Entry = ({ entry }) => {
  const { session, turn, ...rest } = entry.detail ?? {};
  const brief = [rest.layer, rest.reason].filter(Boolean).join(": ") || (rest.pattern ?? "");
  return html`
    <details class="entry">
      <summary><small class="seq">${entry.seq}</small><time title=${moment(entry.at)}>${time(entry.at)}</time><code>${entry.kind}</code><strong><${Shown} text=${entry.subject} /></strong><span class="gist"><${Shown} text=${String(brief)} /></span><${Badge} kind=${kindOf(entry.outcome)}>${entry.outcome}<//></summary>
      <div class="entry-body"><dl class="event-facts">
        <div><dt>When</dt><dd>${moment(entry.at)}</dd></div><div><dt>Who</dt><dd>${entry.actor}</dd></div>
        ${session && html`<div><dt>Conversation</dt><dd><a href=${turn ? link("sessions", session, turn) : link("sessions", session)}>${session}</a></dd></div>`}
        ${Object.entries(rest).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd><${Shown} text=${typeof value === "string" ? value : JSON.stringify(value)} /></dd></div>`)}
        <div><dt>Chain</dt><dd><code title=${entry.chain}>${(entry.chain ?? "").slice(0, 16)}</code></dd></div></dl></div>
    </details>`;
};

const Verify = () => {
  const [state, setState] = useState(null);
  const run = async () => {
    setState({ isBusy: true });
    try {
      setState(await gateway.request("audit.verify", {}, { timeoutMs: 120_000 }));
    } catch (error) {
      setState({ error });
    }
  };
  const problem = state?.problem ?? "";
  const isFine = state && !state.isBusy && !state.error && !problem;
  return html`
    <button type="button" class="button primary" disabled=${state?.isBusy} onClick=${run}><${Icon} name="seal" size=${16} /> ${state?.isBusy ? "Verifying …" : "Verify"}</button>
    ${isFine && html`<p class="verified good" role="status"><${Icon} name="check" size=${15} /> The chain holds${state.entries ? ` over all ${number(state.entries)} entries` : ""}.</p>`}
    ${problem && html`<p class="verified bad" role="alert"><${Icon} name="alert" size=${15} /> ${problem}</p>`}
    ${state?.error && html`<p class="verified bad" role="alert">${state.error.message} ${state.error.hint}</p>`}`;
};

export default function Audit() {
  const [kind, setKind] = useState("");
  const [entries, setEntries] = useState(null);
  const [isFollowing, setFollowing] = useState(true);
  const [error, setError] = useState(null);
  useEffect(() => {
    let isGone = false;
    let timer = 0;
    let last = 0;
    const look = async () => {
      try {
        const part = await gateway.request("audit.list", last ? { kind, after: last, limit: PAGE } : { kind, limit: PAGE, newest: true });
        if (isGone) return;
        last = Math.max(last, ...part.entries.map((entry) => entry.seq));
        setEntries((old) => [...(old ?? []), ...part.entries].slice(-MOST));
        setError(null);
      } catch (problem) {
        if (!isGone && problem.code !== "OFFLINE") setError(problem);
      }
      if (!isGone && isFollowing) timer = setTimeout(look, EVERY_MS);
    };
    setEntries(null);
    look();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [kind, isFollowing]);
  const actions = html`
    <label class="hidden" for="audit-kind">Kind</label>
    <select id="audit-kind" class="select narrow" value=${kind} onChange=${(e) => setKind(e.target.value)}>${KINDS.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}</select>
    <button type="button" class="button" aria-pressed=${isFollowing} onClick=${() => setFollowing(!isFollowing)}><${Icon} name=${isFollowing ? "pause" : "play"} size=${15} /> ${isFollowing ? "Pause" : "Follow"}</button>
    <${Verify} />`;
  return html`
    <${Styles} name="pages" /><${Styles} name="timeline" /><${Styles} name="house" />
    <${Page} title="Audit" about="Every decision, answer, call, login and change. Entries can be added, never changed: each is chained to those before it." actions=${actions}>
      <${ErrorNote} error=${error} />
      ${!entries && !error && html`<${Spinner} />`}
      ${entries && !entries.length && html`<${Empty} icon="seal" title="Nothing of this kind yet">What is decided and done appears here as it happens.<//>`}
      ${entries?.length > 0 && html`<div class=${cls("card audit-log")} role="log" aria-label="Audit entries, the newest first">${entries.toReversed().map((entry) => html`<${Entry} key=${entry.seq} entry=${entry} />`)}</div>`}
    <//>`;
}
