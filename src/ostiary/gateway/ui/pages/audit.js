// What was decided and done, in the order it happened; each entry is chained to those before it.
import { moment, number, plural, time } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useEffect, useState } from "../lib.js";
import { Badge, Empty, ErrorNote, Page, Spinner } from "../parts/basics.js";
import { Shown } from "../questions/shown.js";
import { link } from "../router.js";
import { PARTS, WhatWhen } from "./audit_plot.js";
import { Styles } from "./styles.js";

const KINDS = [["", "everything"], ["tool.*", "tools"], ["approval.*", "approvals"], ["grant.*", "grants"], ["control.*", "control"], ["config.*", "configuration"], ["credential.*", "credentials"], ["login*", "logins"], ["device.*", "devices"], ["undo", "undo"]];
const GOOD = new Set(["allow", "ok", "allowed", "given", "done", "undone"]);
const BAD = new Set(["deny", "error", "denied", "failed", "refused", "expired"]);
const PAGE = 100;
const LARGEST = 500;
const MOST = 1000;
const EVERY_MS = 2000;

/** "good", "warn" (asked), "bad", or "" for what is neither. */
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

/** The newest entries of a kind, followed while `isFollowing`. */
const useEntries = (kind, limit, isFollowing) => {
  const [entries, setEntries] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let isGone = false;
    let timer = 0;
    let last = 0;
    const look = async () => {
      try {
        const part = await gateway.request("audit.list", last ? { kind, after: last, limit: PAGE } : { kind, limit, newest: true });
        if (isGone) return;
        const isFirst = !last;
        last = Math.max(last, ...part.entries.map((entry) => entry.seq));
        if (isFirst || part.entries.length) setEntries((old) => [...(isFirst ? [] : old), ...part.entries].slice(-MOST));
        setError(null);
      } catch (problem) {
        if (!isGone && problem.code !== "OFFLINE") setError(problem);
      }
      if (!isGone && isFollowing) timer = setTimeout(look, EVERY_MS);
    };
    look();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [kind, limit, isFollowing]);
  return [entries, error];
};

const holds = (entry, words) => [entry.kind, entry.actor, entry.subject, entry.outcome, JSON.stringify(entry.detail)].join(" ").toLowerCase().includes(words);

export default function Audit() {
  const [kind, setKind] = useState("");
  const [outcome, setOutcome] = useState("any");
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState(null);
  const [limit, setLimit] = useState(PAGE);
  const [isFollowing, setFollowing] = useState(true);
  const [entries, error] = useEntries(kind, limit, isFollowing);
  const wanted = words.trim().toLowerCase();
  const alike = (entries ?? []).filter((entry) => (outcome === "any" || kindOf(entry.outcome) === outcome) && (!wanted || holds(entry, wanted)));
  const shown = chosen ? alike.filter((entry) => entry.at >= chosen.from && entry.at < chosen.until) : alike;
  const clear = () => (setKind(""), setOutcome("any"), setWords(""), setChosen(null));
  const actions = html`
    <button type="button" class="button" aria-pressed=${isFollowing} onClick=${() => setFollowing(!isFollowing)}><${Icon} name=${isFollowing ? "pause" : "play"} size=${15} /> ${isFollowing ? "Pause" : "Follow"}</button>
    <${Verify} />`;
  return html`
    <${Styles} name="pages" /><${Styles} name="timeline" /><${Styles} name="house" />
    <${Page} title="Audit" about="Every decision, answer, call, login and change. Entries can be added, never changed: each is chained to those before it." actions=${actions}>
      <${ErrorNote} error=${error} />
      <div class="filters" role="search">
        <label class="filter"><${Icon} name="search" size=${15} /><input type="search" placeholder="Who, what, why" aria-label="Find in the entries" value=${words} onInput=${(e) => setWords(e.target.value)} /></label>
        <select class="select narrow" aria-label="Kind" value=${kind} onChange=${(e) => (setKind(e.target.value), setChosen(null))}>${KINDS.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}</select>
        <select class="select narrow" aria-label="Outcome" value=${outcome} onChange=${(e) => setOutcome(e.target.value)}><option value="any">any outcome</option>${PARTS.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}</select>
        ${(kind || wanted || chosen || outcome !== "any") && html`<button type="button" class="link" onClick=${clear}>Show everything</button>`}
        <small class="muted" role="status">${entries ? plural(shown.length, "entry", "entries") : ""}</small>
      </div>
      ${!entries && !error && html`<${Spinner} />`}
      ${alike.length > 1 && html`<section class="card"><${WhatWhen} entries=${alike} kindOf=${kindOf} chosen=${chosen} onPick=${setChosen} /></section>`}
      ${entries && !shown.length && html`<${Empty} icon="seal" title="Nothing of this kind yet">What is decided and done appears here as it happens.<//>`}
      ${shown.length > 0 && html`<div class=${cls("card audit-log")} role="log" aria-label="Audit entries, the newest first">${shown.toReversed().map((entry) => html`<${Entry} key=${entry.seq} entry=${entry} />`)}</div>`}
      ${entries?.length >= limit && limit < LARGEST && html`<button type="button" class="button small older" onClick=${() => setLimit(LARGEST)}>Show earlier entries</button>`}
      ${entries?.length >= LARGEST && html`<p class="muted small centred">These are the newest ${number(entries.length)}. <code>ostiary audit export</code> gives all of them.</p>`}
    <//>`;
}
