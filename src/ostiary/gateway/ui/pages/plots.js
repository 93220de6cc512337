// Two plots: bars over time, and shares of a whole.
import { html, useEffect, useRef, useState } from "../lib.js";

/** Round numbers for the lines behind the bars. */
export const steps = (most) => {
  if (most <= 0) return [0, 1];
  const rough = most / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => i * step);
};

export const Bars = ({ rows, format, title }) => {
  const box = useRef();
  const [width, setWidth] = useState(800);
  const [at, setAt] = useState(-1);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.round(entry.contentRect.width))));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  const height = 220;
  const left = 52;
  const bottom = 26;
  const top = 12;
  const lines = steps(Math.max(...rows.map((r) => r.value), 0));
  const most = lines.at(-1);
  const room = (width - left - 8) / rows.length;
  const y = (value) => top + (height - top - bottom) * (1 - value / most);
  const every = Math.ceil(rows.length / Math.max(2, Math.floor(width / 90)));
  const move = (event) => {
    const place = event.clientX - box.current.getBoundingClientRect().left - left;
    setAt(Math.max(-1, Math.min(rows.length - 1, Math.floor(place / room))));
  };
  return html`
    <div class="plot" ref=${box} onMouseMove=${move} onMouseLeave=${() => setAt(-1)}>
      <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${title}>
        ${lines.map((n) => html`<g key=${n}><line class="rule" x1=${left} x2=${width} y1=${y(n)} y2=${y(n)} /><text x=${left - 8} y=${y(n) + 4} text-anchor="end">${format(n)}</text></g>`)}
        ${rows.map((r, i) => html`<rect key=${r.label} class=${i === at ? "bar-at" : "bar-in"} x=${left + i * room + room * 0.14} y=${Math.min(y(r.value), r.value > 0 ? height - bottom - 2 : height)} width=${Math.max(1, room * 0.72)} height=${r.value > 0 ? Math.max(2, height - bottom - y(r.value)) : 0} rx=${Math.min(4, room * 0.2)} />`)}
        ${rows.map((r, i) => (i % every === 0 ? html`<text key=${`l${r.label}`} x=${left + i * room + room / 2} y=${height - 7} text-anchor="middle">${r.label}</text>` : null))}
      </svg>
      ${at >= 0 && html`<output class="plot-tip" ref=${(n) => n && (n.style.left = `${Math.min(width - 90, Math.max(90, left + at * room + room / 2))}px`)}>${rows[at].detail}</output>`}
    </div>`;
};

export const Shares = ({ rows, format }) => {
  const all = rows.reduce((sum, r) => sum + r.value, 0) || 1;
  return html`<ul class="shares">
    ${rows.slice(0, 12).map((r) => html`<li key=${r.label}><span>${r.label}</span><small>${format(r.value)} · ${Math.round((100 * r.value) / all)} %</small><i ref=${(n) => n && (n.style.width = `${(100 * r.value) / all}%`)}></i></li>`)}
  </ul>`;
};
