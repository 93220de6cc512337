// How full the model's window is and what the conversation has cost.
import { cost, number, short, tokensOf } from "../format.js";
import { html, useEffect, useRef, useState } from "../lib.js";
import { link } from "../router.js";

export const Ring = ({ part }) => {
  const around = 2 * Math.PI * 8;
  const level = part > 0.9 ? "bad" : part > 0.7 ? "warn" : "";
  return html`<svg class=${`meter-ring ${level}`} width="22" height="22" viewBox="0 0 22 22" aria-hidden="true">
    <circle cx="11" cy="11" r="8" /><circle class="full" cx="11" cy="11" r="8" stroke-dasharray=${`${around * Math.min(1, part)} ${around}`} transform="rotate(-90 11 11)" /></svg>`;
};

export const Meter = ({ conversation }) => {
  const [isOpen, setOpen] = useState(false);
  const ref = useRef();
  useEffect(() => {
    if (!isOpen) return undefined;
    const away = (event) => !ref.current?.contains(event.target) && setOpen(false);
    const press = (event) => event.key === "Escape" && (event.stopPropagation(), setOpen(false));
    document.addEventListener("pointerdown", away);
    document.addEventListener("keydown", press, true);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("keydown", press, true);
    };
  }, [isOpen]);
  const { contextTokens: used, contextWindow: room, usage } = conversation;
  const part = room ? used / room : 0;
  const tokens = tokensOf(usage);
  const spent = usage.cost ? cost(usage.cost) : tokens ? `${short(tokens)} tokens` : "";
  const label = [room && `${Math.round(part * 100)} % of the context used`, spent && `${spent} spent`].filter(Boolean).join(", ") || "Context and cost";
  return html`
    <div class="meter" ref=${ref}>
      <button type="button" class="chip" aria-expanded=${isOpen} aria-label=${label} title=${label} onClick=${() => setOpen(!isOpen)}><${Ring} part=${part} /><span class="wide-only">${spent}</span></button>
      ${isOpen &&
      html`<div class="card-pop" role="dialog" aria-label="Context and cost">
        <h3>Context</h3>
        <div class="bar" role="img" aria-label=${label}><i ref=${(n) => n && (n.style.width = `${Math.max(1, Math.min(100, part * 100))}%`)}></i></div>
        <p>${number(used)} of ${room ? number(room) : "unknown"} tokens${room ? ` · ${Math.round(part * 100)} %` : ""}</p>
        <h3>This conversation</h3>
        <dl class="facts">
          <div><dt>Read</dt><dd>${number(usage.input)}</dd></div>
          <div><dt>Read from cache</dt><dd>${number(usage.cacheRead)}</dd></div>
          <div><dt>Written to cache</dt><dd>${number(usage.cacheWrite)}</dd></div>
          <div><dt>Answered</dt><dd>${number(usage.output)}</dd></div>
          <div><dt>Cost</dt><dd>${usage.cost === null || usage.cost === undefined ? "no price known" : cost(usage.cost)}</dd></div>
        </dl>
        <a href=${link("usage")}>All usage</a>
      </div>`}
    </div>`;
};
