// How the house stands and how much waits for an answer: one small chip, on every page.
import { pending } from "../approvals.js";
import { stateOf, house } from "../house.js";
import { cls, html, useCell } from "../lib.js";
import { link } from "../router.js";

export const Chip = ({ className = "" }) => {
  const view = useCell(house);
  const count = useCell(pending).length;
  if (!view && !count) return null;
  const { word, kind } = stateOf(view);
  const label = [word && `The house is ${word}`, count && `${count} ${count === 1 ? "question waits" : "questions wait"}`].filter(Boolean).join("; ");
  return html`<a class=${cls("house-chip", className, count > 0 ? "asks" : kind)} href=${link(count ? "approvals" : "control")} title=${label} aria-label=${label}>
    <i class=${cls("dot", count ? "warn" : kind)}></i>${count > 0 ? html`<b>${count}</b>` : html`<span>${word}</span>`}</a>`;
};
