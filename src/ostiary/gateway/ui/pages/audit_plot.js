// What happened when: one bar per stretch of time, its parts by outcome. A press on a bar shows that stretch alone.
import { moment, number, toDate } from "../format.js";
import { cls, html, useEffect, useRef, useState } from "../lib.js";
import { steps } from "./plots.js";

const MINUTE = 60;
const STRETCHES = [MINUTE, 5 * MINUTE, 15 * MINUTE, 60 * MINUTE, 6 * 60 * MINUTE, 24 * 60 * MINUTE, 7 * 24 * 60 * MINUTE];
const MOST_BARS = 36;
const FEWEST_BARS = 24;
const HEIGHT = 132;
const LEFT = 34;
const BOTTOM = 22;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

export const PARTS = [["good", "went ahead"], ["warn", "asked"], ["bad", "refused or failed"], ["", "other"]];

/** Bars of equal stretches over all entries: {from, until, counts}. The finest stretch that still fits is taken. */
export const barsOf = (entries, kindOf) => {
  const first = Math.min(...entries.map((entry) => entry.at));
  const last = Math.max(...entries.map((entry) => entry.at));
  const stretch = STRETCHES.find((each) => (last - first) / each < MOST_BARS - 1) ?? STRETCHES.at(-1);
  const newest = Math.floor(last / stretch);
  const begin = Math.min(Math.max(Math.floor(first / stretch), newest - MOST_BARS + 1), newest - FEWEST_BARS + 1) * stretch;
  const bars = Array.from({ length: Math.floor((last - begin) / stretch) + 1 }, (_, i) => ({ from: begin + i * stretch, until: begin + (i + 1) * stretch, counts: {} }));
  for (const entry of entries) {
    const { counts } = bars[Math.floor((entry.at - begin) / stretch)] ?? { counts: {} };
    counts[kindOf(entry.outcome)] = (counts[kindOf(entry.outcome)] ?? 0) + 1;
  }
  return bars;
};

const sum = (bar) => Object.values(bar.counts).reduce((all, n) => all + n, 0);
const told = (bar) => PARTS.filter(([kind]) => bar.counts[kind]).map(([kind, words]) => `${number(bar.counts[kind])} ${words}`).join(", ") || "nothing";

const Bar = ({ bar, x, width, most, isChosen, onPick }) => {
  const room = HEIGHT - BOTTOM - 8;
  let top = HEIGHT - BOTTOM;
  const label = `${moment(bar.from)}: ${told(bar)}`;
  const press = (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), onPick());
  return html`<g class=${cls("stack", isChosen && "chosen")} role="button" tabindex=${sum(bar) ? 0 : undefined} aria-label=${label} aria-pressed=${isChosen} onClick=${onPick} onKeyDown=${press}>
    <title>${label}</title><rect class="hit" x=${x} y="0" width=${width} height=${HEIGHT - BOTTOM} />
    ${PARTS.filter(([kind]) => bar.counts[kind]).map(([kind]) => {
      const height = Math.max(2, (bar.counts[kind] / most) * room);
      top -= height;
      return html`<rect key=${kind} class=${`part ${kind || "other"}`} x=${x + width * 0.12} y=${top} width=${Math.max(2, width * 0.76)} height=${height} />`;
    })}
  </g>`;
};

export const WhatWhen = ({ entries, kindOf, chosen, onPick }) => {
  const box = useRef();
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.round(entry.contentRect.width))));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  const bars = barsOf(entries, kindOf);
  const lines = steps(Math.max(...bars.map(sum))).filter(Number.isInteger);
  const most = lines.at(-1);
  const each = Math.min(46, (width - LEFT) / bars.length);
  const isDaily = bars[0].until - bars[0].from >= 6 * 60 * MINUTE;
  const every = Math.ceil(64 / each);
  const y = (n) => HEIGHT - BOTTOM - (n / most) * (HEIGHT - BOTTOM - 8);
  return html`
    <div class="plot what-when" ref=${box}>
      <svg width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} role="group" aria-label="What happened when">
        ${lines.map((n) => html`<g key=${n}><line class="rule" x1=${LEFT} x2=${width} y1=${y(n)} y2=${y(n)} /><text x=${LEFT - 7} y=${y(n) + 4} text-anchor="end">${number(n)}</text></g>`)}
        ${bars.map((bar, i) => html`<${Bar} key=${bar.from} bar=${bar} x=${LEFT + i * each} width=${each} most=${most} isChosen=${chosen?.from === bar.from} onPick=${() => sum(bar) && onPick(chosen?.from === bar.from ? null : bar)} />`)}
        ${bars.map((bar, i) => i % every === 0 && html`<text key=${bar.from} x=${LEFT + i * each + 2} y=${HEIGHT - 5}>${(isDaily ? date : clock).format(toDate(bar.from))}</text>`)}
      </svg>
      <ul class="legend">${PARTS.map(([kind, words]) => html`<li key=${words}><i class=${`part ${kind || "other"}`}></i>${words}</li>`)}</ul>
    </div>`;
};
