// Every conversation in a table; one of them as the timeline of all its events.
import { since, moment, number, titleOf } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { html, useEffect, useLoad, useState } from "../lib.js";
import { Badge, Empty, ErrorNote, Menu, Page, Spinner } from "../parts/basics.js";
import { Marked, wordsOf } from "../parts/marked.js";
import { go, link } from "../router.js";
import { askDelete, askRename } from "../chat/sidebar.js";
import { Styles } from "./styles.js";
import { Timeline } from "./timeline.js";

const originOf = (session) => {
  const parts = session.key.split(":").slice(2);
  if (session.origin) return session.origin;
  return { main: "main", webchat: "web", api: "API", cron: "schedule", hook: "webhook", call: "API call", subagent: "helper" }[parts[0]] ?? parts[0];
};

/** What was said, found in every conversation. */
const Said = ({ query }) => {
  const { value, error, loading } = useLoad(() => gateway.request("sessions.search", { text: query }), [query]);
  if (!value) return html`<${ErrorNote} error=${error} />${loading && html`<${Spinner} label="Searching…" />`}`;
  return html`<section class="card" aria-label="Said in conversations"><h2>Said in conversations</h2>
    ${value.notices.map((words) => html`<p key=${words} class="muted small pad">${words}</p>`)}
    ${!value.hits.length && html`<p class="muted pad">Nothing that was said matches.</p>`}
    <ul class="hits">${value.hits.map((hit) => html`<li class="found" key=${`${hit.key}/${hit.turn}/${hit.snippet.slice(0, 40)}`}><a href=${hit.turn ? link("sessions", hit.key, hit.turn) : link("sessions", hit.key)}>
      <span class="found-head"><${Icon} name="chat" size=${14} /><strong>${titleOf(hit)}</strong><span class="space"></span><small title=${moment(hit.at)}>${since(hit.at)}</small></span>
      <span class="found-text"><${Marked} text=${hit.snippet} words=${wordsOf(query, hit.why)} /></span></a><small class="muted">${hit.why.join(" · ")}</small></li>`)}</ul></section>`;
};

const List = () => {
  const [query, setQuery] = useState("");
  const [wanted, setWanted] = useState("");
  const [isAll, setAll] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(query.trim()), 200);
    return () => clearTimeout(timer);
  }, [query]);
  const params = { limit: 500, includeEphemeral: isAll, ...(wanted && { search: wanted }) };
  const { value, error, loading, again } = useLoad(() => gateway.request("sessions.list", params), [wanted, isAll]);
  useEffect(() => gateway.on("sessions", () => again()), []);
  const rows = value?.sessions ?? [];
  const actions = html`
    <label class="filter"><${Icon} name="search" size=${15} /><input type="search" placeholder="Find what was said" aria-label="Find a session" value=${query} onInput=${(e) => setQuery(e.target.value)} /></label>
    <label class="check"><input type="checkbox" checked=${isAll} onChange=${(e) => setAll(e.target.checked)} /> with single calls</label>`;
  return html`
    <${Styles} name="pages" /><${Styles} name="timeline" /><${Styles} name="vault" />
    <${Page} title="Sessions" about="Every conversation with the assistant, wherever it is held. Open one to see each of its events." actions=${actions}>
      <${ErrorNote} error=${error} onRetry=${again} />
      ${loading && !value && html`<${Spinner} />`}
      ${value && !rows.length && !wanted && html`<${Empty} icon="sessions" title="No conversations yet">${html`Say something in the <a href=${link("chat")}>chat</a>.`}<//>`}
      ${rows.length > 0 &&
      html`<div class="card table-scroll" tabindex="0" role="region" aria-label="Sessions"><table class="grid-table">
        <thead><tr><th>Conversation</th><th class="wide-only">From</th><th class="wide-only">State</th><th class="n wide-only">Events</th><th>Used</th><th><span class="hidden">Actions</span></th></tr></thead>
        <tbody>
          ${rows.map(
            (s) => html`<tr key=${s.key}>
              <td class="wide"><a class="cover" href=${link("sessions", s.key)}>${titleOf(s)}</a><small class="key muted" title=${s.key}>${s.key}</small></td>
              <td class="wide-only">${originOf(s)}</td>
              <td class="wide-only">${s.running ? html`<${Badge} kind="accent">running<//>` : s.waitingFor ? html`<${Badge} kind="warn">waits: ${s.waitingFor}<//>` : s.queued ? html`<${Badge}>${s.queued} queued<//>` : html`<span class="muted">idle</span>`}</td>
              <td class="n wide-only">${number(s.events)}</td>
              <td title=${moment(s.updatedAt)} class="nowrap">${since(s.updatedAt)}</td>
              <td><${Menu} label=${`More about ${titleOf(s)}`} items=${[
                { label: "Open the chat", icon: "chat", run: () => go("chat", s.key) },
                { label: "Rename", icon: "edit", run: () => askRename(s).then(again) },
                gateway.may("admin") && { label: "Delete", icon: "trash", danger: true, run: () => askDelete(s, false).then(again) },
              ].filter(Boolean)} /></td>
            </tr>`,
          )}
        </tbody>
      </table></div>`}
      ${wanted.length > 2 && gateway.offers("sessions.search") ? html`<${Said} query=${wanted} />` : value && !rows.length && wanted && html`<${Empty} icon="sessions" title="Nothing found">Try other words.<//>`}
    <//>`;
};

export default function Sessions({ parts }) {
  const [key, turn] = parts;
  return key ? html`<${Timeline} sessionKey=${key} turn=${turn ?? ""} />` : html`<${List} />`;
}
