// The question whether the assistant may do something: all that is asked, why, and the answers.
// A card that was just shown, or may just have moved, takes no answer for a moment: nobody says yes by accident.
import { answer, moved, secondsUntil, sharedOffers } from "../approvals.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useEvent, useRef, useState } from "../lib.js";
import { Badge, complain } from "../parts/basics.js";
import { Shown } from "./shown.js";
import { Wider } from "./wider.js";

const ARMED_AFTER_MS = 400;
const LAYERS = {
  confirm: "cannot be taken back",
  switch: "is switched off",
  taint: "outside text could be behind it",
  guard: "touches something protected",
};
const VERBS = { exec: "run this command", process: "steer a process", browser: "act in the browser", message: "send this message", web_fetch: "fetch this address", write: "write this file", edit: "change this file", apply_patch: "change these files" };

const MANY = { exec: (n) => `run these ${n} commands`, message: (n) => `send these ${n} messages`, web_fetch: (n) => `fetch these ${n} addresses` };

export const askedFor = (tool, many = 1) => `May I ${(many > 1 && MANY[tool]?.(many)) || (VERBS[tool] ?? `use ${tool}`) + (many > 1 ? `, ${many} times` : "")}?`;

/** How much time is left: a ring that empties and a clock that runs down. Read aloud only to whoever asks for it. */
const TimeLeft = ({ from, until }) => {
  const [left, setLeft] = useState(() => secondsUntil(until));
  useEffect(() => {
    const timer = setInterval(() => setLeft(secondsUntil(until)), 1000);
    return () => clearInterval(timer);
  }, [until]);
  const around = 2 * Math.PI * 8;
  const part = Math.min(1, left / Math.max(1, until - from));
  const clock = `${Math.floor(left / 60)}:${String(Math.floor(left % 60)).padStart(2, "0")}`;
  const words = left <= 0 ? "Time is over" : left < 90 ? `${Math.ceil(left)} s left` : `${Math.ceil(left / 60)} min left`;
  return html`<span class=${cls("time-left", left < 60 && "late")} title=${words}><span class="hidden">${words}</span>
    <svg class="meter-ring" width="20" height="20" viewBox="0 0 22 22" aria-hidden="true"><circle cx="11" cy="11" r="8" /><circle class="full" cx="11" cy="11" r="8" stroke-dasharray=${`${around * part} ${around}`} transform="rotate(-90 11 11)" /></svg>
    <small aria-hidden="true">${clock}</small></span>`;
};

const BOUND = "If one of these changes before it runs, you are asked again.";
/** Names stand back behind what they name. What the call was given cannot look like a name: its own lines are indented. */
const Line = ({ line, isFirst }) => {
  const [name, ...rest] = line.startsWith(" ") ? [""] : line.split(": ");
  if (isFirst || name === "as they are now") return html`<span class="muted" title=${isFirst ? undefined : BOUND}><${Shown} text=${line} /></span>`;
  return name && rest.length ? html`<span class="muted">${name}: </span><${Shown} text=${rest.join(": ")} />` : html`<${Shown} text=${line} />`;
};

/** Every text whole, in a box that scrolls; what does not fit is said, so that nobody answers half of it. */
const Texts = ({ rows }) => {
  const box = useRef();
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const all = [box.current, ...box.current.querySelectorAll("pre")];
    const measure = () => setLong(all.some((each) => each.scrollHeight > each.clientHeight + 4));
    const watcher = new ResizeObserver(measure);
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  const lines = rows.reduce((sum, row) => sum + row.text.split("\n").length, 0);
  return html`
    <div class="asked-all" ref=${box} tabindex=${isLong ? 0 : undefined}>${rows.map((row) => html`<pre key=${row.id} tabindex="0" aria-label=${`What ${row.tool} would be given`}>${row.text.split("\n").map((line, i) => html`${i > 0 && "\n"}<${Line} key=${i} line=${line} isFirst=${i === 0} />`)}</pre>`)}</div>
    ${isLong && html`<p class="more-text"><${Icon} name="down" size=${13} /> ${rows.length > 1 ? `${rows.length} calls, ` : ""}${lines} lines: scroll to read all of it</p>`}`;
};

const Why = ({ row }) => {
  const isOutside = row.trust === "untrusted" || row.trust === "contact";
  return html`
    <p class="why">${row.reason}${/[.?!]$/.test(row.reason) ? "" : "."}</p>
    <div class="layers">${row.layers.map((layer) => html`<span key=${layer} class=${cls("badge", layer === "taint" && "warn")} title=${`Asked by the layer ${layer}`}><strong>${layer}</strong>${LAYERS[layer] && html` ${LAYERS[layer]}`}</span>`)}</div>
    ${isOutside && html`<p class="origin"><${Icon} name="alert" size=${15} /><span>The conversation holds text from ${row.sources.length ? row.sources.map((source, i) => html`${i > 0 && ", "}<code key=${source}><${Shown} text=${source} /></code>`) : "outside"}${row.private ? ", and private things" : ""}. It may not be your idea.</span></p>`}`;
};

/** True once the card has stood still in front of the reader for a moment. */
const useArmed = (identity) => {
  const stamp = useCell(moved);
  const since = useRef(performance.now());
  const [isArmed, setArmed] = useState(false);
  const [again, setAgain] = useState(0);
  const disarm = () => setAgain((n) => n + 1);
  useEvent(window, "focus", disarm);
  useEvent(document, "visibilitychange", disarm);
  useEffect(() => {
    since.current = performance.now();
    setArmed(false);
    const timer = setTimeout(() => setArmed(true), ARMED_AFTER_MS);
    return () => clearTimeout(timer);
  }, [identity, stamp, again]);
  return [isArmed, () => isArmed && performance.now() - since.current >= ARMED_AFTER_MS];
};

/** Whoever answered by the keyboard goes on with the next question, or with writing. */
const goOn = () =>
  setTimeout(() => {
    if (document.activeElement !== document.body) return;
    (document.querySelector(".question") ?? document.querySelector("main textarea") ?? document.querySelector("main"))?.focus();
  }, 60);

export const identityOf = (rows) => rows.map((row) => [row.id, row.text, row.reason, row.deadline].join("\n")).join("\n\n");

export const Card = ({ rows, place = null }) => {
  const [isArmed, isReady] = useArmed(identityOf(rows));
  const [isBusy, setBusy] = useState(false);
  const [isWider, setWider] = useState(false);
  const first = rows[0];
  const deadline = Math.min(...rows.map((row) => row.deadline));
  const offers = sharedOffers(rows);
  const mayAnswer = gateway.may("approve");
  const give = async (words) => {
    if (!isReady() || isBusy || !mayAnswer) return;
    setBusy(true);
    try {
      await answer(rows, words);
    } catch (error) {
      complain(error);
    }
    setBusy(false);
  };
  const press = (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    if (event.key !== "y" && event.key !== "n") return;
    event.preventDefault();
    event.stopPropagation();
    give({ allow: event.key === "y" }).then(goOn);
  };
  const isOff = !isArmed || isBusy;
  const many = rows.length;
  return html`
    <section class=${cls("question", first.layers.includes("taint") && "tainted")} tabindex="0" role="group" aria-label=${`${askedFor(first.tool, many)} Press y to allow once, n to refuse.`} data-armed=${isArmed} onKeyDown=${press}>
      <header><h2>${askedFor(first.tool, many)}</h2>${many > 1 && html`<${Badge} kind="warn">${many} like this<//>`}${place}<${TimeLeft} from=${first.askedAt} until=${deadline} /></header>
      <${Texts} rows=${rows} />
      <${Why} row=${first} />
      ${mayAnswer
        ? html`<footer>
            <button type="button" class="button primary" disabled=${isOff} onClick=${() => give({ allow: true })}>${many > 1 ? `Allow all ${many} once` : "Allow once"}</button>
            <button type="button" class="button" disabled=${isOff} onClick=${() => give({ allow: false })}>${many > 1 ? `Refuse all ${many}` : "Refuse"}</button>
            ${offers.length > 0 && html`<button type="button" class="button quiet" aria-expanded=${isWider} disabled=${isOff} onClick=${() => isReady() && setWider(!isWider)}>Allow like this …</button>`}
            <small class="muted wide-only"><kbd>y</kbd> <kbd>n</kbd></small>
          </footer>
          ${isWider && html`<${Wider} tool=${first.tool} offers=${offers} isOff=${isOff} onGive=${(wider) => give({ allow: true, ...wider })} />`}`
        : html`<p class="muted small">This browser may not answer. The owner can, or grant it under Devices.</p>`}
    </section>`;
};
