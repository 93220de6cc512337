// A yes that outlives its question: for what, and until when. The narrowest comes first and is chosen.
import { gatewayNow } from "../approvals.js";
import { time } from "../format.js";
import { html, useState } from "../lib.js";
import { Shown } from "./shown.js";

const HOUR = 3600;

/** Until midnight, if that is not in a moment. */
const untilTonight = () => {
  const midnight = new Date();
  midnight.setHours(24, 0, 0, 0);
  return Math.floor((midnight - Date.now()) / 1000);
};

const spans = () => {
  const tonight = untilTonight();
  return [["1 hour", HOUR], ...(tonight > HOUR ? [["tonight", tonight]] : []), ["8 hours", 8 * HOUR]];
};

export const Wider = ({ tool, offers, isOff, onGive }) => {
  const [pattern, setPattern] = useState(offers[0].pattern);
  const [choices] = useState(spans);
  const [seconds, setSeconds] = useState(HOUR);
  const chosen = offers.some((offer) => offer.pattern === pattern) ? pattern : offers[0].pattern;
  return html`
    <div class="wider">
      <fieldset><legend>Let it use <code>${tool}</code> without asking for</legend>
        ${offers.map((offer) => html`<label key=${offer.pattern} class="choice"><input type="radio" name=${`pattern-${tool}`} checked=${offer.pattern === chosen} onChange=${() => setPattern(offer.pattern)} /><code><${Shown} text=${offer.text} /></code></label>`)}
      </fieldset>
      <div class="tabs small" role="group" aria-label="For how long">${choices.map(([label, span]) => html`<button type="button" key=${label} aria-pressed=${span === seconds} onClick=${() => setSeconds(span)}>${label}</button>`)}</div>
      <button type="button" class="button small primary" disabled=${isOff} onClick=${() => onGive({ pattern: chosen, seconds })}>Allow until ${time(gatewayNow() + seconds)}</button>
      <small class="muted">You can take it back under Approvals.</small>
    </div>`;
};
