// What the assistant did besides answering: thoughts and tool calls, folded under one line.
import { plural, seconds } from "../format.js";
import { Icon } from "../icons.js";
import { cls, html, useState } from "../lib.js";
import { visible } from "../questions/shown.js";
import { CallBody, withoutEnding } from "./call_body.js";

const STATES = {
  running: ["pulse", "running"],
  done: ["check", "done"],
  refused: ["lock", "refused by policy"],
  skipped: ["close", "skipped"],
  interrupted: ["alert", "interrupted: it may have happened"],
  unanswered: ["alert", "not answered"],
};

/** One line that says what a call is about: the first telling argument. */
const gist = (value) => {
  let given = value;
  if (typeof value === "string") {
    try {
      given = JSON.parse(value);
    } catch {
      return visible(value.slice(0, 120));
    }
  }
  if (!given || typeof given !== "object") return visible(String(given ?? ""));
  const telling = ["path", "file", "query", "url", "command", "pattern", "name", "text"].find((name) => typeof given[name] === "string");
  const first = telling ? given[telling] : Object.values(given).find((v) => typeof v === "string");
  return visible((first ?? "").replace(/\s+/g, " ").slice(0, 120));
};

const Call = ({ call }) => {
  const [isOpen, setOpen] = useState(false);
  const [icon, words] = STATES[call.state] ?? STATES.done;
  const isBad = call.isError || ["refused", "interrupted", "unanswered"].includes(call.state);
  return html`
    <details class=${cls("call", isBad && "bad", call.state)} onToggle=${(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
      <summary>
        ${call.state === "running" ? html`<i class="ring" aria-hidden="true"></i>` : html`<${Icon} name=${call.isError && call.state === "done" ? "alert" : icon} size=${15} />`}
        <code>${call.name}</code>
        <span class="gist">${gist(call.arguments)}</span>
        <span class="hidden">${words}</span>
        ${call.state !== "running" && call.state !== "done" && html`<small class="state">${words}</small>`}
        <small>${seconds(call.seconds)}</small>
      </summary>
      ${(isOpen || call.state === "running") && html`<${CallBody} call=${call} />`}
    </details>`;
};

const Thought = ({ text, isLive }) => html`
  <details class="call thought">
    <summary>${isLive ? html`<i class="ring" aria-hidden="true"></i>` : html`<${Icon} name="thought" size=${15} />`}<span>${isLive ? "Thinking…" : "Thought"}</span><span class="gist">${text.trim().slice(0, 140).replace(/\s+/g, " ")}</span></summary>
    <div class="call-body thought-text">${text}</div>
  </details>`;

const summary = (items, isLive, isAsking) => {
  const calls = items.filter((item) => item.call).map((item) => item.call);
  const running = calls.find((call) => call.state === "running");
  if (isLive && running) return `${running.name} ${gist(running.arguments)}`.trim();
  if (!calls.length) return isLive ? "Thinking…" : "Thought about it";
  const names = [...new Set(calls.map((call) => call.name))];
  const verb = isAsking && calls.every((call) => call.state === "running") ? "Wants to use" : "Used";
  const shown = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  return `${verb} ${shown}${calls.length > names.length ? ` · ${calls.length} calls` : ""}`;
};

const LINES = 8;
/** What people want to have seen: what a running call says, and what a command printed. */
const spokenBy = (call) => (call.state === "running" ? call.progress : call.name === "exec" && call.state === "done" ? withoutEnding(call.result) : "") ?? "";

const Spoken = ({ call }) => {
  const lines = visible(spokenBy(call).trim()).split("\n");
  const left = lines.length - LINES;
  return html`<pre class="progress" tabindex="0" aria-label=${call.state === "running" ? `${call.name} is at work` : `What ${call.name} printed`}>${left > 0 && html`<span class="muted">⋯ ${plural(left, "line")} above${"\n"}</span>`}${lines.slice(-LINES).join("\n")}</pre>`;
};

export const Work = ({ items, isLive, isAsking = false }) => {
  const [isOpen, setOpen] = useState(false);
  const calls = items.filter((item) => item.call).map((item) => item.call);
  const spent = calls.reduce((sum, call) => sum + (call.seconds ?? 0), 0);
  const refused = calls.filter((call) => call.state === "refused").length;
  const bad = calls.filter((call) => call.state !== "refused" && (call.isError || call.state === "interrupted")).length;
  return html`
    <div class=${cls("work", isOpen && "open")}>
      <button type="button" class="work-line" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
        ${isLive ? html`<i class="ring" aria-hidden="true"></i>` : html`<${Icon} name=${calls.length ? "tool" : "thought"} size=${15} />`}
        <span class=${cls(isLive && "shimmer")}>${summary(items, isLive, isAsking)}</span>
        ${spent > 0 && html`<small>${seconds(spent)}</small>`}
        ${refused > 0 && html`<small class="bad">${refused} refused</small>`}
        ${bad > 0 && html`<small class="bad">${bad} failed</small>`}
        <${Icon} name="chevron" size=${14} />
      </button>
      ${calls.filter((call) => spokenBy(call).trim()).map((call) => html`<${Spoken} key=${call.id} call=${call} />`)}
      ${isOpen &&
      html`<div class="work-list">
        ${items.map((item, i) => (item.call ? html`<${Call} key=${item.call.id} call=${item.call} />` : html`<${Thought} key=${`t${i}`} text=${item.thought} isLive=${isLive && i === items.length - 1} />`))}
      </div>`}
    </div>`;
};
