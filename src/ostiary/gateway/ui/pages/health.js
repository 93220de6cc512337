// Whether all is well, and if not, what is wrong in words.
import { duration, number } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useEffect, useLoad } from "../lib.js";
import { Badge, ErrorNote, Page, Spinner } from "../parts/basics.js";
import { since } from "../format.js";
import { link } from "../router.js";
import { Styles } from "./styles.js";

const STATES = { running: "good", connected: "good", ready: "good", stopped: "", failed: "bad", error: "bad" };

const ask = async () => {
  const [health, status, presence] = await Promise.all([
    gateway.request("health"),
    gateway.request("status"),
    gateway.request("system-presence").catch(() => ({ presence: [] })),
  ]);
  return { health, status, presence: presence.presence };
};

const Figure = ({ label, value, href }) => html`<${href ? "a" : "div"} class="figure" href=${href}><strong>${value}</strong><span>${label}</span><//>`;

export default function Health() {
  const { value, error, again } = useLoad(ask, []);
  useEffect(() => {
    const timer = setInterval(again, 5000);
    const off = gateway.on("health", again);
    return () => (clearInterval(timer), off());
  }, []);
  if (!value) return html`<${Styles} name="pages" /><${Page} title="Health"><${ErrorNote} error=${error} onRetry=${again} />${!error && html`<${Spinner} />`}<//>`;
  const { health, status, presence } = value;
  const problems = [...(health.problems ?? []), ...(status.configProblem && !health.problems?.length ? [status.configProblem] : [])];
  return html`
    <${Styles} name="pages" />
    <${Page} title="Health">
      <${ErrorNote} error=${error} />
      <section class=${cls("card verdict", problems.length ? "warn" : "good")}>
        <span class="verdict-icon"><${Icon} name=${problems.length ? "alert" : "check"} size=${22} /></span>
        <div><h2>${problems.length ? `${problems.length === 1 ? "One thing needs" : `${problems.length} things need`} attention` : "All is well"}</h2>
          <p class="muted">Ostiary ${health.version || status.version} · up for ${duration(health.uptimeMs)}</p></div>
      </section>
      ${problems.length > 0 && html`<ul class="card problems">${problems.map((p) => html`<li key=${p}><${Icon} name="alert" size=${16} /><span>${p}</span></li>`)}</ul>`}
      <div class="figures">
        <${Figure} label="answering now" value=${number(status.running)} />
        <${Figure} label="queued" value=${number(status.queued)} />
        <${Figure} label="waiting" value=${number(status.waiting)} />
        <${Figure} label="sessions in memory" value=${number(status.sessions)} href=${link("sessions")} />
        <${Figure} label="replies to deliver" value=${number(status.outbox)} />
      </div>
      <div class="columns">
        <section class="card"><h2>Gateway</h2><dl class="facts pad">
          <div><dt>Version</dt><dd>${status.version}</dd></div>
          <div><dt>Configuration</dt><dd><a href=${link("config")}>generation ${status.generation}</a></dd></div>
          <div><dt>Agents</dt><dd>${status.agents?.join(", ")}</dd></div>
          ${status.home && html`<div><dt>Home</dt><dd><code>${status.home}</code></dd></div>`}
          <div><dt>Your rights</dt><dd>${gateway.scopes.join(", ")}</dd></div>
        </dl></section>
        <section class="card"><h2>Channels</h2>
          ${status.channels?.length ? html`<ul class="plain-list">${status.channels.map((c) => html`<li key=${c.id}><strong>${c.id}</strong><span class="muted">${c.detail}</span><${Badge} kind=${STATES[c.state] ?? ""}>${c.state}<//></li>`)}</ul>` : html`<p class="muted pad">Only this page and the interfaces for programs, so far.</p>`}
        </section>
        <section class="card"><h2>Connected</h2>
          <ul class="plain-list">${presence.map((p) => html`<li key=${p.instanceId}><strong>${p.displayName || p.mode}</strong><span class="muted">${p.platform}</span><small class="muted">${since(p.ts)}</small></li>`)}</ul>
        </section>
      </div>
    <//>`;
}
