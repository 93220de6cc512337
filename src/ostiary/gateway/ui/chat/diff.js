// What changed in a file, line by line. A long one is folded.
import { plural } from "../format.js";
import { Icon } from "../icons.js";
import { html } from "../lib.js";
import { Shown } from "../questions/shown.js";

const SHORT = 14;
const VERBS = { added: "new", changed: "", deleted: "deleted", restored: "restored" };
/** "@@ -4,7 +4,8 @@" as people say it; nothing for what begins at the beginning. */
const placeOf = (line) => {
  const at = /^@@ -(\d+)\S* \+(\d+)/.exec(line);
  return Math.max(Number(at?.[1] ?? 0), Number(at?.[2] ?? 0)) > 1 ? `⋯ line ${at[2]}` : "";
};
const KINDS = { "+": "plus", "-": "minus", "@": "hunk", "\\": "hunk", "[": "hunk" };

/** The lines of a unified diff without its head: [kind, text]. */
export const linesOf = (diff) =>
  diff
    .replace(/^--- .*\n\+\+\+ .*\n/, "")
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => [KINDS[line[0]] ?? "same", line.startsWith("@@") ? placeOf(line) : line])
    .filter(([kind, line]) => kind !== "hunk" || line);

const countOf = (lines, kind) => lines.filter(([each]) => each === kind).length;

export const Diff = ({ path, change = "changed", diff = "", note = "", added, removed }) => {
  const lines = diff ? linesOf(diff) : [];
  const plus = added ?? countOf(lines, "plus");
  const minus = removed ?? countOf(lines, "minus");
  return html`
    <details class="diff" open=${lines.length > 0 && lines.length <= SHORT}>
      <summary><${Icon} name="file" size=${14} /><code><${Shown} text=${path} /></code>${VERBS[change] && html`<small>${VERBS[change]}</small>`}<span class="space"></span>
        <small class="plus" aria-label=${`${plural(plus, "line")} added`}>+${plus}</small><small class="minus" aria-label=${`${plural(minus, "line")} removed`}>−${minus}</small><${Icon} name="chevron" size=${13} /></summary>
      ${lines.length > 0
        ? html`<pre tabindex="0" aria-label=${`What changed in ${path}`}>${lines.map(([kind, line], i) => html`<span key=${i} class=${kind}><${Shown} text=${line} />${"\n"}</span>`)}</pre>`
        : html`<p class="muted small pad">${note || "There is nothing to compare line by line."}</p>`}
    </details>`;
};
