// What is remembered, by area; each entry with whose word it is. What nobody vouches for waits here for the owner.
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { html, useEffect, useLoad, useState } from "../lib.js";
import { AREAS, Entry, fileOf } from "../memory/entry.js";
import { Forget } from "../memory/forget.js";
import { IndexState } from "../memory/index_state.js";
import { Dialog, Empty, ErrorNote, Page, Spinner, complain, say } from "../parts/basics.js";
import { Trust } from "../parts/whose.js";
import { Shown } from "../questions/shown.js";
import { bytes, since } from "../format.js";
import { go, link } from "../router.js";
import { Hit } from "../vault/find.js";
import { Styles } from "./styles.js";

const PLACES = [
  ["unconfirmed", "Waiting", "Said by somebody, or read somewhere, that cannot vouch for it. It is not used as fact before you confirm it."],
  ["long", "Always", "Part of every private conversation with you."],
  ["daily", "Daily", "Day by day, found by search."],
  ["shared", "Shared", "May be told to everybody who talks with the assistant."],
  ["private", "Private", "Yours alone."],
  ["users", "People", "What people said about themselves: theirs and yours."],
  ["notes", "Files", "Notes that you put there, and folders that are indexed."],
];
const OUTCOMES = { kept: "Remembered.", known: "It was known already.", reworded: "Remembered; it takes the place of a shorter wording.", unconfirmed: "Kept, and waits to be confirmed." };

const Remember = ({ agent, onClose, onDone }) => {
  const [text, setText] = useState("");
  const [area, setArea] = useState("long");
  const [error, setError] = useState(null);
  const save = async (event) => {
    event.preventDefault();
    try {
      const kept = await gateway.act("memory.write", { text, area, agent });
      onClose();
      onDone();
      say(OUTCOMES[kept.outcome]);
    } catch (problem) {
      setError(problem);
    }
  };
  return html`
    <${Dialog} title="Remember something" onClose=${onClose}><form onSubmit=${save}>
      <label>What<textarea class="field" rows="4" maxlength="4000" autofocus value=${text} onInput=${(e) => setText(e.target.value)}></textarea></label>
      <label>Where<select class="select" value=${area} onChange=${(e) => setArea(e.target.value)}>${Object.entries(AREAS).map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}</select></label>
      <${ErrorNote} error=${error} />
      <footer><button type="button" class="button" onClick=${onClose}>Cancel</button><button type="submit" class="button primary" disabled=${!text.trim()}>Remember</button></footer>
    </form><//>`;
};

const Files = ({ files, agent }) => html`<ul class="docs card">
  ${files.map((row) => html`<li key=${row.path}><a class="doc-row" href=${link("vault", "_memory", fileOf(agent, row.path))}><${Icon} name="file" size=${16} /><span class="doc-name"><${Shown} text=${row.path} /></span><${Trust} trust=${row.trust} /><small>${since(row.at)}</small><small class="n">${bytes(row.size)}</small></a></li>`)}
</ul>`;

const Found = ({ query, agent }) => {
  const { value, error, loading, again } = useLoad(() => gateway.request("memory.search", { text: query, agent, limit: 20 }), [query, agent]);
  if (!value) return html`<${ErrorNote} error=${error} onRetry=${again} />${loading && html`<${Spinner} label="Searching…" />`}`;
  return html`${value.notices.map((words) => html`<p key=${words} class="muted small">${words}</p>`)}
    ${!value.hits.length && html`<${Empty} icon="search" title="Nothing remembered matches">Try other words.<//>`}
    <ul class="card hits" aria-label="What was found">${value.hits.map((hit) => html`<${Hit} key=${`${hit.path}:${hit.start}`} hit=${hit} query=${query} href=${link("vault", "_memory", fileOf(agent, hit.path), `L${hit.start}`)} />`)}</ul>`;
};

const Entries = ({ place, agent, turn, onDone, onForget, onListed }) => {
  const [more, setMore] = useState([]);
  const ask = (after) => gateway.request("memory.list", { place, agent, after });
  const { value, error, loading, again } = useLoad(() => ask(""), [place, agent, turn]);
  useEffect(() => {
    setMore([]);
    if (value) onListed(value);
  }, [value]);
  if (!value) return html`<${ErrorNote} error=${error} onRetry=${again} />${loading && html`<${Spinner} />`}`;
  if (place === "notes") {
    const files = value.files.filter((row) => row.place === "notes");
    return files.length ? html`<${Files} files=${files} agent=${agent} />` : html`<${Empty} icon="file" title="No notes of yours yet">Put a folder of them in with <code>ostiary memory add</code>.<//>`;
  }
  const pages = [value, ...more];
  const rows = pages.flatMap((page) => page.entries);
  if (!rows.length) return html`<${Empty} icon=${place === "unconfirmed" ? "check" : "thought"} title=${place === "unconfirmed" ? "Nothing waits for you" : "Nothing remembered here yet"}>${place === "unconfirmed" ? "What the assistant would like to remember on a stranger’s word appears here." : "Tell the assistant, or write it down with “Remember”."}<//>`;
  const after = pages.at(-1).after;
  return html`<ul class="card memory-list">${rows.map((entry) => html`<${Entry} key=${`${entry.path}:${entry.start}:${entry.version}`} entry=${entry} agent=${agent} onDone=${onDone} onForget=${onForget} />`)}</ul>
    ${after && html`<button type="button" class="button" onClick=${() => ask(after).then((page) => setMore([...more, page]), complain)}>Show more</button>`}`;
};

export default function Memory({ parts }) {
  const [turn, setTurn] = useState(0);
  const [agent, setAgent] = useState("main");
  const [query, setQuery] = useState("");
  const [wanted, setWanted] = useState("");
  const [listed, setListed] = useState({ files: [], waiting: 0 });
  const [isWriting, setWriting] = useState(false);
  const [forgetting, setForgetting] = useState(null);
  const { value: house } = useLoad(() => gateway.request("status"), []);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(query.trim()), 250);
    return () => clearTimeout(timer);
  }, [query]);
  const again = () => setTurn((n) => n + 1);
  const place = PLACES.some(([id]) => id === parts[0]) ? parts[0] : "long";
  const about = PLACES.find(([id]) => id === place)[2];
  const count = (id) => ({ unconfirmed: listed.waiting, notes: listed.files.filter((row) => row.place === "notes").length })[id] ?? 0;
  const agents = house?.agents ?? [];
  const actions = html`
    <label class="filter"><${Icon} name="search" size=${15} /><input type="search" placeholder="Search memory" aria-label="Search memory" value=${query} onInput=${(e) => setQuery(e.target.value)} /></label>
    ${agents.length > 1 && html`<select class="select narrow" aria-label="Whose memory" value=${agent} onChange=${(e) => setAgent(e.target.value)}>${agents.map((id) => html`<option key=${id} value=${id}>${id}</option>`)}</select>`}
    ${gateway.offers("memory.write") && html`<button type="button" class="button primary" onClick=${() => setWriting(true)}><${Icon} name="plus" size=${16} /> Remember</button>`}`;
  return html`
    <${Styles} name="pages" /><${Styles} name="timeline" /><${Styles} name="vault" /><${Styles} name="memory" />
    <${Page} title="Memory" about="What the assistant remembers, and on whose word." actions=${actions}>
      <${IndexState} turn=${turn} />
      ${wanted
        ? html`<${Found} query=${wanted} agent=${agent} />`
        : html`
          <div><div class="tabs places" role="tablist" aria-label="Areas of memory">${PLACES.map(([id, label]) => html`<button type="button" key=${id} role="tab" aria-selected=${id === place} onClick=${() => go("memory", id)}>${label}${count(id) > 0 && html` <b class=${id === "unconfirmed" ? "count" : "few"}>${count(id)}</b>`}</button>`)}</div><p class="muted small area-about">${about}</p></div>
          <${Entries} key=${`${place}/${agent}`} place=${place} agent=${agent} turn=${turn} onDone=${again} onForget=${setForgetting} onListed=${setListed} />`}
      ${isWriting && html`<${Remember} agent=${agent} onClose=${() => setWriting(false)} onDone=${again} />`}
      ${forgetting && html`<${Forget} text=${forgetting.text} onClose=${() => setForgetting(null)} onDone=${again} />`}
    <//>`;
}
