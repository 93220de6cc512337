// Ctrl+K: type a few letters, go there.
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useRef, useState } from "../lib.js";
import { ago, titleOf } from "../format.js";
import { ownPages } from "../places.js";
import { go } from "../router.js";
import { newKey, sessions } from "../sessions.js";
import { Dialog } from "./basics.js";

/** All letters in order; consecutive ones and beginnings of words count more. 0: no match. */
export const score = (text, query) => {
  const hay = text.toLowerCase();
  if (!query) return 1;
  const at = hay.indexOf(query);
  if (at >= 0) return 1000 - at + (at === 0 || /\W/.test(hay[at - 1]) ? 200 : 0);
  let from = 0;
  let total = 1;
  for (const letter of query) {
    const found = hay.indexOf(letter, from);
    if (found < 0) return 0;
    total += found === from ? 3 : 1;
    from = found + 1;
  }
  return total;
};

/** Places where something like it was said, a moment after the last letter. */
const useSaid = (text) => {
  const [hits, setHits] = useState([]);
  useEffect(() => {
    let isCurrent = true;
    setHits([]);
    if (text.length < 3 || !gateway.offers("sessions.search")) return undefined;
    const ask = () => gateway.request("sessions.search", { text, limit: 6 }).then((found) => isCurrent && setHits(found.hits), () => {});
    const timer = setTimeout(ask, 250);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text]);
  return hits.map((hit, i) => ({ id: `said-${i}`, label: hit.snippet.replace(/\s+/g, " "), hint: titleOf(hit).slice(0, 24), icon: "search", run: () => go(...["sessions", hit.key, hit.turn].filter(Boolean)) }));
};

export const Switcher = ({ onClose }) => {
  const rows = useCell(sessions);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef();
  const choices = [
    ...rows.map((s) => ({ id: s.key, label: titleOf(s), hint: ago(s.updatedAt), icon: "chat", run: () => go("chat", s.key) })),
    { id: "new", label: "New conversation", hint: "", icon: "plus", run: () => go("chat", newKey()) },
    ...ownPages().slice(1).map((p) => ({ id: p.page, label: p.label, hint: "page", icon: p.icon, run: () => go(p.page) })),
  ];
  const wanted = query.trim().toLowerCase();
  const named = choices
    .map((choice) => [score(choice.label, wanted), choice])
    .filter(([points]) => points > 0)
    .sort(([a], [b]) => (wanted ? b - a : 0))
    .map(([, choice]) => choice)
    .slice(0, 40);
  const found = [...named, ...useSaid(wanted)];
  useEffect(() => setAt(0), [query]);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [at, query]);
  const pick = (choice) => {
    onClose();
    choice?.run();
  };
  const press = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt((n) => (n + (event.key === "ArrowDown" ? 1 : -1) + found.length) % Math.max(1, found.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      pick(found[at]);
    }
  };
  return html`
    <${Dialog} title="Go to" bare onClose=${onClose}>
      <div class="switcher">
        <label class="switcher-field"><${Icon} name="search" />
          <input autofocus placeholder="Find a conversation, a page, or what was said" aria-label="Find a conversation or a page" role="combobox" aria-expanded="true" aria-controls="switcher-list"
            aria-activedescendant=${found[at] ? `switch-${at}` : undefined} value=${query} onInput=${(e) => setQuery(e.target.value)} onKeyDown=${press} />
          <kbd>Esc</kbd>
        </label>
        <ul id="switcher-list" role="listbox" ref=${list}>
          ${found.map(
            (choice, i) => html`<li key=${choice.id} id=${`switch-${i}`} role="option" aria-selected=${i === at} class=${cls(i === at && "at")} onMouseMove=${() => setAt(i)} onClick=${() => pick(choice)}>
              <${Icon} name=${choice.icon} size=${16} /><span>${choice.label}</span><small>${choice.hint}</small></li>`,
          )}
          ${!found.length && html`<li class="muted none">Nothing is called that.</li>`}
        </ul>
      </div>
    <//>`;
};
