// Two versions beside each other, or one under the other.
import { linesOf } from "../chat/diff.js";
import { gateway } from "../gateway.js";
import { cls, html, kept, useLoad, useState } from "../lib.js";
import { ErrorNote, Spinner } from "../parts/basics.js";
import { Shown } from "../questions/shown.js";

/** Removed and added lines that stand together are pairs. */
export const pairs = (lines) => {
  const rows = [];
  let minus = [];
  let plus = [];
  const settle = () => {
    for (let i = 0; i < Math.max(minus.length, plus.length); i += 1) rows.push({ old: minus[i], next: plus[i] });
    minus = [];
    plus = [];
  };
  for (const [kind, line] of lines) {
    if (kind === "minus") {
      if (plus.length) settle();
      minus.push(line.slice(1));
    } else if (kind === "plus") plus.push(line.slice(1));
    else {
      settle();
      rows.push(kind === "hunk" ? { hunk: line } : { same: line.slice(1) });
    }
  }
  settle();
  return rows;
};

const Cell = ({ text, kind }) => html`<td class=${text === undefined ? "void" : kind}>${text !== undefined && html`<${Shown} text=${text || " "} />`}</td>`;

const Beside = ({ lines }) => html`<table class="beside"><tbody>
  ${pairs(lines).map((row, i) =>
    row.hunk
      ? html`<tr key=${i} class="hunk"><td colspan="2">${row.hunk}</td></tr>`
      : row.same !== undefined
        ? html`<tr key=${i}><${Cell} text=${row.same} kind="" /><${Cell} text=${row.same} kind="" /></tr>`
        : html`<tr key=${i}><${Cell} text=${row.old} kind="minus" /><${Cell} text=${row.next} kind="plus" /></tr>`,
  )}
</tbody></table>`;

const Under = ({ lines }) => html`<pre>${lines.map(([kind, line], i) => html`<span key=${i} class=${kind}><${Shown} text=${line} />${"\n"}</span>`)}</pre>`;

export const Compare = ({ collection, path, before, after }) => {
  const [isBeside, setBeside] = useState(kept.get("diff", innerWidth > 900 ? "beside" : "under") === "beside");
  const { value, error, loading } = useLoad(() => gateway.request("vault.diff", { collection, path, before, after }), [collection, path, before, after]);
  const choose = (is) => {
    kept.set("diff", is ? "beside" : "under");
    setBeside(is);
  };
  if (!value) return html`<${ErrorNote} error=${error} />${loading && html`<${Spinner} />`}`;
  const lines = value.diff ? linesOf(value.diff) : [];
  return html`
    <section class="card compare" aria-label=${`What changed from version ${before} to ${after}`}>
      <header><strong>${before ? `Version ${before}` : "Nothing"} → ${after}</strong><small class="plus">+${value.added}</small><small class="minus">−${value.removed}</small><span class="space"></span>
        <div class="tabs small" role="group" aria-label="How to show it"><button type="button" aria-pressed=${!isBeside} onClick=${() => choose(false)}>One column</button><button type="button" aria-pressed=${isBeside} onClick=${() => choose(true)}>Side by side</button></div></header>
      ${lines.length ? html`<div class=${cls("diff", "lines")} tabindex="0" role="region" aria-label="The lines that changed">${isBeside ? html`<${Beside} lines=${lines} />` : html`<${Under} lines=${lines} />`}</div>` : html`<p class="muted pad">${value.note}</p>`}
    </section>`;
};
