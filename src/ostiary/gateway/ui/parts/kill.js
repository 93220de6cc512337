// Stopping everything: one press and one yes, from every page; then what was stopped.
import { plural, seconds } from "../format.js";
import { gateway } from "../gateway.js";
import { house, look } from "../house.js";
import { Icon } from "../icons.js";
import { Cell, html, useCell } from "../lib.js";
import { Dialog, complain, confirm } from "./basics.js";

const COUNTS = [["turns", "turn"], ["queued", "queued message"], ["processes", "process", "processes"], ["sends", "unsent message"], ["jobs", "job"], ["grants", "grant"]];
const stopped = new Cell(null);

export const askKill = async () => {
  const isSure = await confirm({
    title: "Stop everything?",
    text: "Turns, queued messages, background processes, unsent messages and jobs end within a second. No restart brings them back, and nothing begins before you wake the house again.",
    yes: "Stop everything",
    danger: true,
  });
  if (!isSure) return;
  try {
    stopped.value = await gateway.act("control.kill", { reason: "the page" });
  } catch (error) {
    complain(error);
  }
  look();
};

/** There is something to stop, and this browser may stop it. */
export const useKill = () => {
  const state = useCell(house)?.state;
  return Boolean(state) && state !== "shutdown" && gateway.may("admin") && gateway.offers("control.kill");
};

export const Stopped = () => {
  const report = useCell(stopped);
  if (!report) return null;
  const close = () => (stopped.value = null);
  const found = COUNTS.filter(([name]) => report[name] > 0);
  return html`
    <${Dialog} title=${report.unfinished.length ? "Stopped, but not all of it" : "Everything is stopped"} onClose=${close}>
      <div class="stack">
        ${found.length ? html`<ul class="stopped">${found.map(([name, one, many]) => html`<li key=${name}><strong>${report[name]}</strong> ${plural(report[name], one, many).replace(/^\S+ /, "")} stopped</li>`)}</ul>` : html`<p>Nothing was running.</p>`}
        <p class="muted">It took ${seconds(report.seconds)}. Wake the house under Control when you want it back.</p>
        ${report.unfinished.length > 0 && html`<div class="error-note" role="alert"><${Icon} name="alert" /><div><strong>Still being stopped</strong>${report.unfinished.map((each) => html`<p key=${each}>${each}</p>`)}</div></div>`}
        <footer><button type="button" class="button primary" autofocus onClick=${close}>Close</button></footer>
      </div>
    <//>`;
};
