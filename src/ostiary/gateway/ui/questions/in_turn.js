// The questions of one turn, under it; those that were answered fold to a line.
import { answered, inGroups, pending } from "../approvals.js";
import { who } from "../format.js";
import { Icon } from "../icons.js";
import { html, useCell, useEffect, useEvent, useRef, useState } from "../lib.js";
import { Card, askedFor, identityOf } from "./card.js";

export const ANSWERS = { allowed: ["check", "Allowed"], denied: ["close", "Refused"], expired: ["clock", "Not answered in time, so refused"], withdrawn: ["close", "Not needed any more"], answered: ["check", "Answered elsewhere"] };

const argumentsOf = (call) => {
  try {
    return JSON.parse(call.arguments) ?? {};
  } catch {
    return {};
  }
};
const gistOf = (row) => String(Object.values(row.arguments)[0] ?? "").replace(/\s+/g, " ").slice(0, 120);

export const Folded = ({ entry }) => {
  const [icon, words] = ANSWERS[entry.answer] ?? ANSWERS.answered;
  return html`<p class=${`answered ${entry.answer}`}><${Icon} name=${icon} size=${14} /><strong>${words}</strong><code>${entry.approval.tool}</code><span class="gist">${gistOf(entry.approval)}</span>${entry.by && html`<small>by ${who(entry.by)}</small>`}</p>`;
};

/** Those that the turn itself remembers having been answered. */
const remembered = (calls) => calls.flatMap((call) => (call.asked ?? []).filter((asked) => asked.answer).map((asked) => ({ ...asked, approval: { id: asked.id, callId: call.id, tool: call.name, arguments: argumentsOf(call) } })));

/** Answers about `calls`; without them, about what the turn does not list yet. */
export const Answered = ({ sessionKey, turn, calls = null }) => {
  const all = turn.steps.flatMap((step) => step.calls);
  const listed = new Set(all.map((call) => call.id));
  const wanted = new Set((calls ?? []).map((call) => call.id));
  const known = calls ? remembered(calls) : [];
  const ids = new Set(remembered(all).map((entry) => entry.approval.id));
  const fresh = useCell(answered).filter(({ approval: { id, key, turn: of, callId } }) => key === sessionKey && of === turn.id && !ids.has(id) && (calls ? wanted.has(callId) : !listed.has(callId)));
  return [...known, ...fresh].map((entry) => html`<${Folded} key=${entry.approval.id} entry=${entry} />`);
};

export const Questions = ({ sessionKey, turn }) => {
  const open = useCell(pending).filter((row) => row.key === sessionKey && row.turn === turn.id);
  return inGroups(open).map((rows) => html`<${Card} key=${identityOf(rows)} rows=${rows} />`);
};

/** Says once, aloud, that something is asked; Alt+Q goes to it. */
export const Crier = () => {
  const rows = useCell(pending);
  const known = useRef(new Set());
  const [said, setSaid] = useState("");
  useEffect(() => {
    const fresh = rows.filter((row) => !known.current.has(row.id));
    known.current = new Set(rows.map((row) => row.id));
    if (fresh.length) setSaid(`${fresh.map((row) => `The assistant asks: ${askedFor(row.tool)} ${gistOf(row)}.`).join(" ")} Press Alt Q to go to the question.`);
    else if (!rows.length) setSaid("");
  }, [rows]);
  useEvent(document, "keydown", (event) => {
    if (!event.altKey || event.code !== "KeyQ") return;
    event.preventDefault();
    const card = document.querySelector(".question");
    if (card) card.focus();
    else if (rows.length) location.hash = "#/approvals";
  });
  return html`<div class="hidden" role="alert" aria-live="assertive">${said}</div>`;
};
