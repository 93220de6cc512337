// The owner's hand on the house: awake or asleep, which tools are switched on, and stopping everything at once.
import { gatewayNow, secondsUntil } from "../approvals.js";
import { duration, moment, time, who } from "../format.js";
import { gateway } from "../gateway.js";
import { house, look, stateOf } from "../house.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useState } from "../lib.js";
import { Badge, Page, Spinner, complain, say } from "../parts/basics.js";
import { askKill } from "../parts/kill.js";
import { Styles } from "./styles.js";

const SPANS = [["30 minutes", 1800], ["1 hour", 3600], ["8 hours", 28_800], ["until it sleeps", null]];
const GROUPS = ["group:fs", "group:runtime", "group:web"];
const STANDING = { allow: ["good", "runs"], ask: ["warn", "asks"], deny: ["bad", "off"] };

const switchOn = async (names, seconds) => {
  try {
    await gateway.act("control.enable", { patterns: names, seconds });
    say(`${names.join(", ")} ${names.length > 1 ? "are" : "is"} on.`);
    look();
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
};

const switchOff = async (patterns) => {
  try {
    await gateway.act("control.disable", { patterns });
    say(patterns.length ? `${patterns[0]} is off.` : "Every tool is off.");
    look();
  } catch (error) {
    complain(error);
  }
};

const Enable = ({ tools, span, setSpan }) => {
  const [patterns, setPatterns] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    const names = patterns.split(/[\s,]+/).filter(Boolean);
    if (names.length && (await switchOn(names, SPANS[span][1]))) setPatterns("");
  };
  return html`
    <form class="enable" onSubmit=${submit}>
      <label>Switch on<input class="field" list="switchable" value=${patterns} onInput=${(e) => setPatterns(e.target.value)} placeholder="exec, group:web, mcp:github" /></label>
      <datalist id="switchable">${[...GROUPS, ...tools].map((name) => html`<option key=${name} value=${name} />`)}</datalist>
      <label>For<select class="select" aria-label="For how long" value=${span} onChange=${(e) => setSpan(Number(e.target.value))}>${SPANS.map(([label], i) => html`<option key=${label} value=${i}>${label}</option>`)}</select></label>
      <button type="submit" class="button primary" disabled=${!patterns.trim()}>Switch on</button>
      <div class="groups" role="group" aria-label="Groups of tools">${GROUPS.map((name) => html`<button type="button" key=${name} class="chip" onClick=${() => switchOn([name], SPANS[span][1])}><${Icon} name="plus" size=${13} /> ${name}</button>`)}</div>
    </form>`;
};

const Tool = ({ tool, mayMove, seconds }) => {
  const [kind, word] = STANDING[tool.outcome] ?? ["", tool.outcome];
  const isOff = tool.outcome === "deny" && /switched off/.test(tool.reason);
  const left = tool.outcome === "allow" ? (tool.until ? `until ${time(tool.until)}` : "") : isOff ? "" : tool.reason;
  return html`<li title=${tool.reason}><code>${tool.name}</code><${Badge} kind=${kind}>${word}<//><small class="muted">${left}</small>
    ${mayMove && isOff && html`<button type="button" class="button small" aria-label=${`Switch on ${tool.name}`} onClick=${() => switchOn([tool.name], seconds)}>Switch on</button>`}
    ${mayMove && tool.on && html`<button type="button" class="button small" aria-label=${`Switch off ${tool.name}`} onClick=${() => switchOff([tool.name])}>Switch off</button>`}</li>`;
};

const Switches = ({ view, mayMove, isUp }) => {
  const [span, setSpan] = useState(1);
  const rows = view.switches.filter((row) => !row.until || row.until > gatewayNow());
  return html`
    <section class="card"><h2>Switches<span class="space"></span>${mayMove && rows.some((row) => row.on) && html`<button type="button" class="button small" onClick=${() => switchOff([])}>All off</button>`}</h2>
      <p class="muted pad">On channels, tools that act are off until you switch them on. Here, at the terminal and through the API you are asked instead.</p>
      ${mayMove && (isUp ? html`<${Enable} tools=${view.tools.map((tool) => tool.name)} span=${span} setSpan=${setSpan} />` : html`<p class="pad">Nothing can be switched on while the house is not awake. Wake it first.</p>`)}
      ${rows.length > 0 && html`<ul class="plain-list">${rows.map((row) => html`<li key=${row.pattern}><i class=${cls("dot", row.on ? "good" : "bad")}></i><span><code>${row.pattern}</code></span>
        <small class="muted" title=${row.until ? moment(row.until) : ""}>${row.on ? "on" : "off"} ${row.until ? `for ${duration(secondsUntil(row.until) * 1000)}, until ${time(row.until)}` : "until it sleeps"}</small>
        ${mayMove && row.on && html`<button type="button" class="button small" aria-label=${`Switch off ${row.pattern}`} onClick=${() => switchOff([row.pattern])}>Switch off</button>`}</li>`)}</ul>`}
    </section>
    ${view.tools.length > 0 && html`<section class="card"><h2>How each tool stands for you on a channel</h2><ul class="tool-grid">
      ${view.tools.map((tool) => html`<${Tool} key=${tool.name} tool=${tool} mayMove=${mayMove && isUp} seconds=${SPANS[span][1]} />`)}
    </ul></section>`}`;
};

export default function Control() {
  const view = useCell(house);
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
  const isUp = view.state === "awake" || view.state === "action_pending";
  return html`
    <${Styles} name="pages" /><${Styles} name="house" />
    <${Page} title="Control" about="You decide when the assistant listens, what it may use, and when it stops.">
      <section class=${cls("card verdict", kind === "good" ? "good" : "warn", `house-${view.state}`)}>
        <span class="verdict-icon"><${Icon} name=${view.state === "dormant" ? "moon" : view.state === "shutdown" ? "power" : view.state === "action_pending" ? "hand" : "sun"} size=${22} /></span>
        <div class="grow"><h2>The house is ${word}</h2><p>${about}</p>
          <p class="muted small">Since ${time(view.since)}${view.by ? `, by ${who(view.by)}` : ""}${view.reason ? `: ${view.reason}` : ""}.${view.sleepsAt > 0 && isUp ? ` Without a word it sleeps at ${time(view.sleepsAt)}.` : ""}</p></div>
        ${mayMove && html`<div class="page-actions">
          ${isUp ? html`<button type="button" class="button" disabled=${isBusy} onClick=${() => move("control.sleep", () => say("It sleeps. Every tool is off."))}><${Icon} name="moon" size=${16} /> Sleep</button>` : html`<button type="button" class="button primary" disabled=${isBusy} onClick=${() => move("control.wake", () => say("It is awake. Every tool is off."))}><${Icon} name="sun" size=${16} /> Wake</button>`}
          <button type="button" class="button danger" disabled=${isBusy} onClick=${askKill}><${Icon} name="stop" size=${16} /> Stop everything</button></div>`}
      </section>
      ${view.unfinished.length > 0 && html`<div class="error-note" role="alert"><${Icon} name="alert" /><div><strong>The last kill is not done yet</strong>${view.unfinished.map((each) => html`<p key=${each}>${each}</p>`)}</div></div>`}
      <${Switches} view=${view} mayMove=${mayMove} isUp=${isUp} />
    <//>`;
}
