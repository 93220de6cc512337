// Tokens and cost over the days and by model, drawn by hand; the same figures as a table below.
import { cost, number, short, titleOf, tokensOf } from "../format.js";
import { gateway } from "../gateway.js";
import { html, useCell, useLoad, useState } from "../lib.js";
import { Empty, ErrorNote, Page, Spinner } from "../parts/basics.js";
import { sessions } from "../sessions.js";
import { Bars, Shares } from "./plots.js";
import { Styles } from "./styles.js";

const SPANS = [7, 30, 90];

/** Every day of the span, those without use included. */
const everyDay = (rows, days) => {
  const by = new Map(rows.map((row) => [row.key, row]));
  const today = Date.now();
  return Array.from({ length: days }, (_, i) => {
    const key = new Date(today - (days - 1 - i) * 86_400_000).toISOString().slice(0, 10);
    return by.get(key) ?? { key, turns: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 };
  });
};

const dayName = (key) => new Date(`${key}T00:00:00Z`).toLocaleDateString(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

const Total = ({ label, value }) => html`<div class="figure"><strong>${value}</strong><span>${label}</span></div>`;

export default function Usage() {
  const list = useCell(sessions);
  const [days, setDays] = useState(30);
  const [by, setBy] = useState("model");
  const [what, setWhat] = useState("tokens");
  const { value, error, loading, again } = useLoad(async () => {
    const [byDay, other] = await Promise.all([gateway.request("usage.summary", { days, by: "day" }), gateway.request("usage.summary", { days, by })]);
    return { byDay, other, by };
  }, [days, by]);
  const nameOf = (key) => (value?.by === "session" ? titleOf(list.find((s) => s.key === key) ?? { key }) : key);
  const amount = (row) => (what === "cost" ? (row.cost ?? 0) : tokensOf(row));
  const shown = (n) => (what === "cost" ? cost(n) : short(n));
  const actions = html`
    <div class="tabs" role="group" aria-label="Show">${["tokens", "cost"].map((w) => html`<button type="button" key=${w} aria-pressed=${w === what} onClick=${() => setWhat(w)}>${w}</button>`)}</div>
    <div class="tabs" role="group" aria-label="Days">${SPANS.map((d) => html`<button type="button" key=${d} aria-pressed=${d === days} onClick=${() => setDays(d)}>${d} days</button>`)}</div>`;
  const total = value?.byDay.total;
  const rows = value ? everyDay(value.byDay.rows, days) : [];
  return html`
    <${Styles} name="pages" />
    <${Page} title="Usage" about="What was read and written by models, and what it cost where a price is known." actions=${actions}>
      <${ErrorNote} error=${error} onRetry=${again} />
      ${loading && !value && html`<${Spinner} />`}
      ${value && !total.turns && html`<${Empty} icon="usage" title="Nothing was used yet">Figures appear with the first answer.<//>`}
      ${value && total.turns > 0 && html`
        <div class="figures">
          <${Total} label="cost" value=${cost(total.cost)} />
          <${Total} label="answers" value=${number(total.turns)} />
          <${Total} label="tokens read" value=${short(total.input + total.cacheRead + total.cacheWrite)} />
          <${Total} label="of them from cache" value=${`${Math.round((100 * total.cacheRead) / Math.max(1, total.input + total.cacheRead + total.cacheWrite))} %`} />
          <${Total} label="tokens written" value=${short(total.output)} />
        </div>
        <section class="card"><h2>${what === "cost" ? "Cost" : "Tokens"} per day</h2>
          <${Bars} rows=${rows.map((r) => ({ label: dayName(r.key), value: amount(r), detail: `${dayName(r.key)}: ${shown(amount(r))}, ${r.turns} answers` }))} format=${shown} title=${`${what} per day`} />
        </section>
        <section class="card"><h2>By <div class="tabs small" role="group" aria-label="By">${["model", "session", "agent"].map((b) => html`<button type="button" key=${b} aria-pressed=${b === by} onClick=${() => setBy(b)}>${b}</button>`)}</div></h2>
          <${Shares} rows=${value.other.rows.map((r) => ({ label: nameOf(r.key), value: amount(r) })).sort((a, b) => b.value - a.value)} format=${shown} />
        </section>
        <section class="card table-scroll" tabindex="0" aria-label="The figures"><table class="grid-table">
          <caption class="hidden">The figures by ${value.by}</caption>
          <thead><tr><th class="capital">${value.by}</th><th class="n">Answers</th><th class="n">Read</th><th class="n">From cache</th><th class="n">Written</th><th class="n">Cost</th></tr></thead>
          <tbody>${value.other.rows.map((r) => html`<tr key=${r.key}><td class="wide">${nameOf(r.key)}</td><td class="n">${number(r.turns)}</td><td class="n">${number(r.input)}</td><td class="n">${number(r.cacheRead)}</td><td class="n">${number(r.output)}</td><td class="n">${r.cost === null ? "–" : cost(r.cost)}</td></tr>`)}</tbody>
        </table></section>
        <details class="card"><summary class="pad">The days as a table</summary><div class="table-scroll"><table class="grid-table">
          <thead><tr><th>Day</th><th class="n">Answers</th><th class="n">Tokens</th><th class="n">Cost</th></tr></thead>
          <tbody>${[...rows].reverse().map((r) => html`<tr key=${r.key}><td>${dayName(r.key)}</td><td class="n">${number(r.turns)}</td><td class="n">${number(tokensOf(r))}</td><td class="n">${cost(r.cost)}</td></tr>`)}</tbody>
        </table></div></details>`}
    <//>`;
}
