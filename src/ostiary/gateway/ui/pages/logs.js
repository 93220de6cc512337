// The log as it is written. It follows while one reads at the end, and waits while one reads further up.
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useEffect, useLayoutEffect, useRef, useState } from "../lib.js";
import { Empty, ErrorNote, Page, Spinner } from "../parts/basics.js";
import { Styles } from "./styles.js";

const LEVELS = ["debug", "info", "warning", "error"];
const MOST = 2000;
const EVERY_MS = 1500;

const clock = (at) => {
  const then = new Date(at);
  return Number.isNaN(then.getTime()) ? at : then.toLocaleTimeString(undefined, { hour12: false });
};

export default function Logs() {
  const [level, setLevel] = useState("info");
  const [query, setQuery] = useState("");
  const [isPaused, setPaused] = useState(false);
  const [lines, setLines] = useState(null);
  const [error, setError] = useState(null);
  const box = useRef();
  const isPinned = useRef(true);

  useEffect(() => {
    if (isPaused) return undefined;
    let cursor = "";
    let timer = 0;
    let isGone = false;
    const look = async () => {
      try {
        const part = await gateway.request("logs.tail", { level, limit: 500, ...(cursor && { cursor }) });
        if (isGone) return;
        const isFirst = !cursor;
        cursor = part.cursor;
        setError(null);
        setLines((old) => (isFirst || !old ? part.lines : [...old, ...part.lines]).slice(-MOST));
      } catch (problem) {
        if (!isGone && problem.code !== "OFFLINE") setError(problem);
      }
      if (!isGone) timer = setTimeout(look, EVERY_MS);
    };
    look();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [level, isPaused]);
  useLayoutEffect(() => {
    if (isPinned.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, query]);

  const wanted = query.trim().toLowerCase();
  const shown = (lines ?? []).filter((l) => !wanted || `${l.name} ${l.message} ${l.trace ?? ""}`.toLowerCase().includes(wanted));
  const actions = html`
    <label class="filter"><${Icon} name="search" size=${15} /><input type="search" placeholder="Search" aria-label="Search the log" value=${query} onInput=${(e) => setQuery(e.target.value)} /></label>
    <div class="tabs" role="group" aria-label="Least level">${LEVELS.map((l) => html`<button type="button" key=${l} aria-pressed=${l === level} onClick=${() => (setLines(null), setLevel(l))}>${l}</button>`)}</div>
    <button type="button" class="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}><${Icon} name=${isPaused ? "play" : "pause"} size=${15} /> ${isPaused ? "Follow" : "Pause"}</button>`;
  return html`
    <${Styles} name="pages" />
    <${Page} title="Logs" about="What the gateway writes down. Never what people said." actions=${actions}>
      <${ErrorNote} error=${error} />
      ${!lines && !error && html`<${Spinner} />`}
      ${lines && !shown.length && html`<${Empty} icon="logs" title=${wanted ? "Nothing found" : "Nothing yet"}>${wanted ? "Try other words or a lower level." : "Lines appear here as they are written."}<//>`}
      ${shown.length > 0 &&
      html`<div class="log card" ref=${box} tabindex="0" role="log" aria-label="Log lines" onScroll=${() => (isPinned.current = box.current.scrollHeight - box.current.scrollTop - box.current.clientHeight < 40)}>
        ${shown.map((l, i) => html`<div key=${i} class=${cls("log-line", l.level)}><time title=${l.at}>${clock(l.at)}</time><b>${l.level || "·"}</b><code>${l.name}</code><span>${l.message}${l.trace && html`<details><summary>Trace</summary><pre>${l.trace}</pre></details>`}</span></div>`)}
      </div>`}
    <//>`;
}
