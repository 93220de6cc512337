// A session's journal, turn by turn: what was sent, what came back, each call with its verdict, what it cost, how long it took.
import { pretty } from "../chat/call_body.js";
import { cost, moment, number, seconds, time, titleOf } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useLoad, useRef, useState } from "../lib.js";
import { Badge, CopyButton, Empty, ErrorNote, Page, Spinner, complain, confirm, say } from "../parts/basics.js";
import { go, link } from "../router.js";
import { sessions } from "../sessions.js";
import { Styles } from "./styles.js";

const field = (event, name) => event[name] ?? event[name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())];
const textOf = (parts = []) => parts.filter((p) => (p.kind ?? "text") === "text" && typeof p.text === "string").map((p) => p.text).join("\n");
const thoughtOf = (parts = []) => parts.filter((p) => p.kind === "thinking").map((p) => p.text).join("\n");
const callsOf = (parts = []) => parts.filter((p) => p.name && p.arguments !== undefined);
const userOf = (principal) => (principal?.user ? `${principal.user.channel}:${principal.user.stable_id ?? principal.user.stableId}` : "");

const Facts = ({ rows }) => {
  const shown = rows.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return shown.length > 0 && html`<dl class="event-facts">${shown.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
};
const Text = ({ text, label }) => text && html`<div class="event-text"><div class="labelled"><span>${label}</span><${CopyButton} text=${text} /></div><pre tabindex="0">${text}</pre></div>`;
const usageFacts = (usage) =>
  usage
    ? [["Read", number(usage.input)], ["From cache", number(usage.cache_read ?? usage.cacheRead)], ["Answered", number(usage.output)], ["Cost", usage.cost === null || usage.cost === undefined ? "no price known" : cost(usage.cost)]]
    : [];
const digest = (text) => (text ? html`<code title=${text}>${text.slice(0, 12)}</code>` : "");
const trustOf = (label) => (label ? [label.trust, label.private && "private", ...(label.sources ?? [])].filter(Boolean).join(" · ") : "");

/** Each kind of event: icon, colour, title, and what it shows. */
const KINDS = {
  "turn.started": (e) => ["chat", "", "Message taken", html`
    ${(e.inputs ?? []).map((input, i) => html`<${Text} key=${i} label="Said" text=${textOf(input.parts) || "(a picture)"} />`)}
    <${Facts} rows=${[["By", userOf(e.principal)], ["Role", e.principal?.role], ["Lane", e.lane], ["Configuration", e.generation && `generation ${e.generation}`], ["Client tools", field(e, "client_tools")?.length || ""]]} />`],
  "turn.steered": (e) => ["chat", "", "Joined while running", (e.inputs ?? []).map((input, i) => html`<${Text} key=${i} label="Said" text=${textOf(input.parts)} />`)],
  "model.requested": (e) => ["send", "accent", html`Asked <strong>${e.model}</strong>`, html`
    <${Facts} rows=${[["Messages sent", number(e.messages)], ["Characters", number(e.characters)], ["Thinking", e.thinking], ["Prompt", digest(e.prefix)], ["Tools", digest(e.schemas)], ["History", digest(e.history)]]} />`],
  "model.answered": (e) => ["models", "accent", html`<strong>${e.model}</strong> answered`, html`
    <${Text} label="Thought" text=${thoughtOf(e.parts)} /><${Text} label="Answer" text=${textOf(e.parts)} />
    ${callsOf(e.parts).map((c) => html`<p key=${c.id ?? c.name} class="wants"><${Icon} name="tool" size=${14} /> wants <code>${c.name}</code></p>`)}
    <${Facts} rows=${[...usageFacts(e.usage), ["Ended by", e.stop], ["Key", e.profile], ["Trust", trustOf(e.label)]]} />`],
  "tool.intended": (e) => ["check", "good", html`Allowed <code>${e.name}</code>`, html`
    <${Facts} rows=${[["Decided by", e.layer], ["Because", e.reason], ["Repeatable", e.repeatable ? "yes" : "no"]]} /><${Text} label="Arguments" text=${pretty(e.arguments)} />`],
  "tool.resulted": (e) => {
    const isFine = e.fate === "done" && !field(e, "is_error");
    const words = { done: isFine ? "finished" : "failed", refused: "was refused", skipped: "was skipped", interrupted: "was interrupted; it may have happened", unanswered: "was not answered" };
    return [isFine ? "tool" : e.fate === "refused" ? "lock" : "alert", isFine ? "good" : "bad", html`<code>${e.name}</code> ${words[e.fate] ?? e.fate}`, html`
      <${Text} label=${isFine ? "Result" : "What it said"} text=${e.text} />
      <${Facts} rows=${[["Trust", trustOf(e.label)], ...Object.entries(e.details ?? {}).map(([k, v]) => [k, typeof v === "object" ? JSON.stringify(v) : String(v)])]} />`];
  },
  "approval.asked": (e) => ["hand", "warn", html`Asked a person about <code>${e.name}</code>`, html`
    <${Facts} rows=${[["Asked by", (e.layers ?? []).join(", ")], ["Because", e.reason], ["Until", moment(e.deadline)], ["Trust", trustOf(e.label)], ["Number", e.approval], ["Bound to", digest(e.digest)]]} />
    <${Text} label="Bound to" text=${Object.entries(e.bound ?? {}).map(([name, value]) => `${name}: ${value}`).join("\n")} />`],
  "approval.answered": (e) => [e.answer === "allowed" ? "check" : "close", e.answer === "allowed" ? "good" : "bad", `A person’s answer: ${e.answer}`, html`<${Facts} rows=${[["By", e.by || "nobody"], ["Wider grant", e.grant], ["Note", e.note], ["Number", e.approval]]} />`],
  "session.declassified": (e) => ["seal", "warn", "Vouched for", html`<${Facts} rows=${[["By", e.by], ["Because", e.reason]]} />`],
  "turn.suspended": (e) => ["clock", "warn", `Waits for ${field(e, "waiting_for")}`, html`<${Facts} rows=${[["Until", moment(e.deadline)]]} />`],
  "turn.resumed": (e) => ["play", "", "Went on", html`<${Facts} rows=${[["Because", e.reason]]} />`],
  "turn.ended": (e) => [e.status === "completed" ? "check" : "alert", e.status === "completed" ? "good" : "bad", `Turn ${e.status}`, html`
    <${Facts} rows=${[["Reason", e.reason], ["Kind of error", field(e, "error_kind")]]} /><${Text} label="Shown before it was cut short" text=${e.partial} /><${Text} label="Reply" text=${e.reply} />`],
  "session.setting": (e) => ["config", "", html`<code>${e.name}</code> set to <strong>${e.value || "default"}</strong>`, html`<${Facts} rows=${[["By", e.by]]} />`],
  "session.prefix": (e) => ["lock", "", "Prompt pinned", html`<${Facts} rows=${[["Because", e.reason], ["Prompt", digest(e.digest)], ["Tools", digest(e.schemas)]]} />`],
  "session.reset": (e) => ["retry", "warn", "Began afresh", html`<${Facts} rows=${[["Because", e.reason]]} />`],
  "session.trimmed": (e) => ["close", "warn", "Earlier turns left out", html`<${Facts} rows=${[["Turns", e.turns], ["Told", e.notice]]} />`],
  "session.compacted": (e) => ["file", "", "Summarised", html`<${Text} label="Summary" text=${e.summary} />`],
  "session.branched": (e) => ["branch", "", "Branched", html`<${Facts} rows=${[["From", e.parent], ["At event", e.at_event ?? ""]]} />`],
  "session.imported": (e) => ["file", "", "Imported", html`<${Facts} rows=${[["From", e.source], ["Mended", (e.notes ?? []).join("; ")]]} />`],
  "session.noted": (e) => ["edit", "", "Note put in", html`<${Text} label="Note" text=${e.text} />`],
  erased: () => ["trash", "", "Erased", html`<p class="muted">Its contents were removed on purpose.</p>`],
};

const brief = (event) => {
  switch (event.kind) {
    case "turn.started":
      return textOf(event.inputs?.[0]?.parts);
    case "model.answered":
      return textOf(event.parts) || callsOf(event.parts).map((c) => c.name).join(", ");
    case "model.requested":
      return `${number(event.messages)} messages · ${number(event.characters)} characters`;
    case "tool.intended":
      return [event.layer, event.reason].filter(Boolean).join(": ");
    case "tool.resulted":
      return event.text;
    case "turn.ended":
      return event.reason;
    default:
      return event.reason ?? "";
  }
};

/** The same question again in a branch, with everything that was known before that step. */
const runAgain = async (key, turn, step) => {
  const isSure = await confirm({ title: `Run it again from step ${step}?`, text: "It goes on in a branch: what was said and done before that step is kept, and the turn’s own words are said again. Nothing here changes; what it does, it does again, by today’s rules.", yes: "Run again" });
  if (!isSure) return;
  try {
    const made = await gateway.act("turns.rerun", { key, turn, step });
    go("chat", made.key);
    say("This is a branch; the conversation it came from stays as it was.");
  } catch (error) {
    complain(error);
  }
};

const Event = ({ event, gap, sessionKey }) => {
  const [icon, kind, title, body] = (KINDS[event.kind] ?? (() => ["info", "", event.kind, html`<${Text} label="Event" text=${JSON.stringify(event, null, 2)} />`]))(event);
  return html`
    <details class=${cls("event", kind)} id=${`event-${event.seq}`}>
      <summary>
        <span class="event-icon"><${Icon} name=${icon} size=${15} /></span>
        <span class="event-title">${title}</span>
        <span class="gist">${(brief(event) ?? "").replace(/\s+/g, " ").slice(0, 160)}</span>
        <small title=${moment(event.at)}>${event.seconds ? seconds(event.seconds) : gap > 0.05 ? `+${seconds(gap)}` : ""}</small>
      </summary>
      <div class="event-body">${body}
        ${event.kind === "model.requested" && sessionKey && gateway.offers("turns.rerun") && html`<div><button type="button" class="button small" onClick=${() => runAgain(sessionKey, event.turn, event.step)}><${Icon} name="retry" size=${14} /> Run again from here</button></div>`}
        <p class="muted small">Event ${event.seq} · ${moment(event.at)} · <code>${event.kind}</code></p></div>
    </details>`;
};

const Block = ({ block, sessionKey, isWanted }) => {
  const ref = useRef();
  useEffect(() => {
    if (isWanted) ref.current.scrollIntoView({ block: "start" });
  }, [isWanted]);
  const [isOpen, setOpen] = useState(true);
  if (!block.turn) return html`<section class="loose">${block.events.map((e) => html`<${Event} key=${e.seq} event=${e} />`)}</section>`;
  const ended = block.events.find((e) => e.kind === "turn.ended");
  const first = block.events[0];
  const took = (ended ?? block.events.at(-1)).at - first.at;
  const answers = block.events.filter((e) => e.kind === "model.answered");
  const spent = answers.reduce((sum, e) => sum + (e.usage?.cost ?? 0), 0);
  const tools = block.events.filter((e) => e.kind === "tool.resulted").length;
  const state = ended ? ended.status : "running";
  const asked = textOf(block.events.find((e) => e.kind === "turn.started")?.inputs?.[0]?.parts);
  return html`
    <section ref=${ref} class=${cls("card turn-block", isWanted && "wanted")} id=${`turn-${block.turn}`}>
      <header>
        <button type="button" class="fold" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}><${Icon} name="chevron" size=${14} /><strong>${asked || "Turn"}</strong></button>
        <div class="turn-facts">
          <${Badge} kind=${state === "completed" ? "good" : state === "running" ? "accent" : "bad"}>${state}<//>
          <span>${time(first.at)}</span><span>${seconds(took)}</span><span>${answers.length} asked</span>${tools > 0 && html`<span>${tools} calls</span>`}${spent > 0 && html`<span>${cost(spent)}</span>`}
          <a class="icon-button small" href=${link("sessions", sessionKey, block.turn)} title="Link to this turn" aria-label="Link to this turn"><${Icon} name="link" size=${14} /></a>
        </div>
      </header>
      ${isOpen && html`<div class="events">${block.events.map((e, i) => html`<${Event} key=${e.seq} event=${e} sessionKey=${sessionKey} gap=${i ? e.at - block.events[i - 1].at : 0} />`)}</div>`}
    </section>`;
};

/** Events by turn. What happens to the session while a turn runs is shown within that turn. */
const inBlocks = (events) => {
  const ends = new Map(events.map((event) => [event.turn, event.seq]));
  const blocks = [];
  for (const event of events) {
    const last = blocks.at(-1);
    const isWithin = last && (last.turn === event.turn || (!event.turn && last.turn && event.seq < ends.get(last.turn)));
    if (isWithin) last.events.push(event);
    else blocks.push({ turn: event.turn, id: `${event.turn}-${event.seq}`, events: [event] });
  }
  return blocks;
};

const PAGE = 500;

export const Timeline = ({ sessionKey, turn }) => {
  const rows = useCell(sessions);
  const session = rows.find((s) => s.key === sessionKey) ?? { key: sessionKey };
  const [limit, setLimit] = useState(PAGE);
  const { value, error, loading, again } = useLoad(async () => {
    const events = [];
    for (;;) {
      const part = await gateway.request("sessions.events", { key: sessionKey, after: events.at(-1)?.seq ?? 0, limit: PAGE });
      events.push(...part.events);
      const more = part.more ?? part.events.length === PAGE;
      if (!more || events.length >= limit) return { events, more };
    }
  }, [sessionKey, limit]);
  useEffect(() => gateway.on("sessions", (e) => e.key === sessionKey && again()), [sessionKey]);
  const events = value?.events ?? [];
  const actions = html`<a class="button" href=${link("sessions")}>All sessions</a><a class="button primary" href=${link("chat", sessionKey)}><${Icon} name="chat" size=${16} /> Open the chat</a>`;
  return html`
    <${Styles} name="pages" /><${Styles} name="timeline" />
    <${Page} isNamed title=${titleOf(session)} about=${sessionKey} actions=${actions}>
      <${ErrorNote} error=${error} onRetry=${again} />
      ${loading && !value && html`<${Spinner} />`}
      ${value && !events.length && html`<${Empty} icon="clock" title="Nothing happened here yet">What is said here leaves a line for every step.<//>`}
      ${inBlocks(events).map((block) => html`<${Block} key=${block.id} block=${block} sessionKey=${sessionKey} isWanted=${Boolean(turn) && block.turn === turn} />`)}
      ${value?.more && html`<button type="button" class="button" onClick=${() => setLimit(limit + PAGE * 4)}>Show later events</button>`}
    <//>`;
};
