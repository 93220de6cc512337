// The owner's hand on the house: awake or asleep, which tools are switched on, and stopping everything at once.
import { gatewayNow, secondsUntil } from "../approvals.js";
import { duration, moment, plural, seconds, since, time } from "../format.js";
import { gateway } from "../gateway.js";
import { house, look, stateOf } from "../house.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useState } from "../lib.js";
import { Badge, Dialog, Page, Spinner, complain, confirm, say } from "../parts/basics.js";
import { Styles } from "./styles.js";

const SPANS = [["30 minutes", 1800], ["1 hour", 3600], ["8 hours", 28_800], ["until it sleeps", null]];
const STANDING = { allow: ["good", "runs"], ask: ["warn", "asks"], deny: ["bad", "off"] };
const COUNTS = [["turns", "turn"], ["queued", "queued message"], ["processes", "process", "processes"], ["sends", "unsent message"], ["jobs", "job"]];

const Stopped = ({ report, onClose }) => {
  const found = COUNTS.filter(([name]) => report[name] > 0);
  return html`
    <${Dialog} title=${report.unfinished.length ? "Stopped, but not all of it" : "Everything is stopped"} onClose=${onClose}>
      <div class="stack">
        ${found.length ? html`<ul class="stopped">${found.map(([name, one, many]) => html`<li key=${name}><strong>${report[name]}</strong> ${plural(report[name], one, many).replace(/^\S+ /, "")} stopped</li>`)}</ul>` : html`<p>Nothing was running.</p>`}
        <p class="muted">It took ${seconds(report.seconds)}.</p>
        ${report.unfinished.length > 0 && html`<div class="error-note" role="alert"><${Icon} name="alert" /><div><strong>Still being stopped</strong>${report.unfinished.map((each) => html`<p key=${each}>${each}</p>`)}</div></div>`}
        <footer><button type="button" class="button primary" onClick=${onClose}>Close</button></footer>
      </div>
    <//>`;
};

const Enable = ({ tools, onDone }) => {
  const [patterns, setPatterns] = useState("");
  const [span, setSpan] = useState(1);
  const submit = async (event) => {
    event.preventDefault();
    const names = patterns.split(/[\s,]+/).filter(Boolean);
    if (!names.length) return;
    try {
      await gateway.act("control.enable", { patterns: names, seconds: SPANS[span][1] });
      setPatterns("");
      say(`${names.join(", ")} ${names.length > 1 ? "are" : "is"} on.`);
      onDone();
    } catch (error) {
      complain(error);
    }
  };
  return html`
    <form class="enable" onSubmit=${submit}>
      <label>Switch on<input class="field" list="switchable" value=${patterns} onInput=${(e) => setPatterns(e.target.value)} placeholder="exec, group:web, mcp:github" /></label>
      <datalist id="switchable">${["group:fs", "group:runtime", "group:web", ...tools].map((name) => html`<option key=${name} value=${name} />`)}</datalist>
      <label>For<select class="select" aria-label="For how long" value=${span} onChange=${(e) => setSpan(Number(e.target.value))}>${SPANS.map(([label], i) => html`<option key=${label} value=${i}>${label}</option>`)}</select></label>
      <button type="submit" class="button primary" disabled=${!patterns.trim()}>Switch on</button>
    </form>`;
};

const Switches = ({ view, mayMove, onDone }) => {
  const off = async (patterns) => {
    try {
      await gateway.act("control.disable", { patterns });
      say(patterns.length ? `${patterns[0]} is off.` : "Every tool is off.");
      onDone();
    } catch (error) {
      complain(error);
    }
  };
  const rows = view.switches.filter((row) => !row.until || row.until > gatewayNow());
  return html`
    <section class="card"><h2>Switches<span class="space"></span>${mayMove && rows.some((row) => row.on) && html`<button type="button" class="button small" onClick=${() => off([])}>All off</button>`}</h2>
      <p class="muted pad">On channels, tools that act are off until you switch them on. Here, at the terminal and through the API you are asked instead.</p>
      ${mayMove && html`<${Enable} tools=${view.tools.map((tool) => tool.name)} onDone=${onDone} />`}
      ${rows.length > 0 && html`<ul class="plain-list">${rows.map((row) => html`<li key=${row.pattern}><i class=${cls("dot", row.on ? "good" : "bad")}></i><span><code>${row.pattern}</code></span>
        <small class="muted" title=${row.until ? moment(row.until) : ""}>${row.on ? "on" : "off"} ${row.until ? `for ${duration(secondsUntil(row.until) * 1000)}, until ${time(row.until)}` : "until it sleeps"}</small>
        ${mayMove && row.on && html`<button type="button" class="button small" onClick=${() => off([row.pattern])}>Switch off</button>`}</li>`)}</ul>`}
    </section>
    ${view.tools.length > 0 && html`<section class="card"><h2>How each tool stands for you on a channel</h2><ul class="tool-grid">
      ${view.tools.map((tool) => html`<li key=${tool.name} title=${tool.reason}><code>${tool.name}</code><${Badge} kind=${STANDING[tool.outcome]?.[0]}>${STANDING[tool.outcome]?.[1] ?? tool.outcome}<//><small class="muted">${tool.outcome === "allow" ? (tool.until ? `until ${time(tool.until)}` : "") : tool.reason}</small></li>`)}
    </ul></section>`}`;
};

export default function Control() {
  const view = useCell(house);
  const [report, setReport] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const [, redraw] = useState(0);
  useEffect(() => {
    look();
    const timer = setInterval(() => (look(), redraw((n) => n + 1)), 10_000);
    return () => clearInterval(timer);
  }, []);
  if (!view) return html`<${Styles} name="pages" /><${Styles} name="house" /><${Page} title="Control"><${Spinner} /><//>`;
  const { word, kind, about } = stateOf(view);
  const mayMove = gateway.may("admin");
  const move = async (method, after) => {
    setBusy(true);
    try {
      after?.(await gateway.act(method, { reason: "the page" }));
    } catch (error) {
      complain(error);
    }
    setBusy(false);
    look();
  };
  const kill = async () => {
    const isSure = await confirm({
      title: "Stop everything?",
      text: "Turns, queued messages, background processes, unsent messages and jobs end within a second. No restart brings them back, and nothing begins before you wake the house again.",
      yes: "Stop everything",
      danger: true,
    });
    if (isSure) await move("control.kill", setReport);
  };
  const isUp = view.state === "awake" || view.state === "action_pending";
  return html`
    <${Styles} name="pages" /><${Styles} name="house" />
    <${Page} title="Control" about="You decide when the assistant listens, what it may use, and when it stops.">
      <section class=${cls("card verdict", kind === "good" ? "good" : "warn", `house-${view.state}`)}>
        <span class="verdict-icon"><${Icon} name=${view.state === "dormant" ? "moon" : view.state === "shutdown" ? "power" : view.state === "action_pending" ? "hand" : "sun"} size=${22} /></span>
        <div class="grow"><h2>The house is ${word}</h2><p>${about}</p>
          <p class="muted small">Since ${since(view.since)}${view.by ? `, by ${view.by}` : ""}${view.reason ? `: ${view.reason}` : ""}.${view.sleepsAt > 0 && isUp ? ` Without a word it sleeps at ${time(view.sleepsAt)}.` : ""}</p></div>
        ${mayMove && html`<div class="page-actions">
          ${isUp ? html`<button type="button" class="button" disabled=${isBusy} onClick=${() => move("control.sleep", () => say("It sleeps. Every tool is off."))}><${Icon} name="moon" size=${16} /> Sleep</button>` : html`<button type="button" class="button primary" disabled=${isBusy} onClick=${() => move("control.wake", () => say("It is awake. Every tool is off."))}><${Icon} name="sun" size=${16} /> Wake</button>`}
          <button type="button" class="button danger" disabled=${isBusy} onClick=${kill}><${Icon} name="stop" size=${16} /> Kill</button></div>`}
      </section>
      ${view.unfinished.length > 0 && html`<div class="error-note" role="alert"><${Icon} name="alert" /><div><strong>The last kill is not done yet</strong>${view.unfinished.map((each) => html`<p key=${each}>${each}</p>`)}</div></div>`}
      <${Switches} view=${view} mayMove=${mayMove} onDone=${look} />
      ${report && html`<${Stopped} report=${report} onClose=${() => setReport(null)} />`}
    <//>`;
}
