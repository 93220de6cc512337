// Passages that answer a question, with the words that matched marked and the reason said.
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { html, useLoad } from "../lib.js";
import { Empty, ErrorNote, Spinner } from "../parts/basics.js";
import { Marked, wordsOf } from "../parts/marked.js";
import { Trust } from "../parts/whose.js";
import { Shown } from "../questions/shown.js";
import { since } from "../format.js";
import { nameOf, place } from "./state.js";

export const Hit = ({ hit, query, href }) => html`
  <li class="found"><a href=${href}><span class="found-head"><${Icon} name="file" size=${14} /><code><${Shown} text=${hit.path} /></code><small>line ${hit.start}</small><span class="space"></span><small>${nameOf(hit.collection)} · ${since(hit.at)}</small></span>
    <span class="found-text"><${Marked} text=${hit.snippet} words=${wordsOf(query, hit.why)} /></span></a>
    <div class="row"><small class="muted">${hit.why.join(" · ")}</small><span class="space"></span><${Trust} trust=${hit.trust} sources=${hit.sources} /></div></li>`;

export const Find = ({ query }) => {
  const { value, error, loading, again } = useLoad(() => gateway.request("vault.search", { text: query, limit: 20 }), [query]);
  if (!value) return html`<${ErrorNote} error=${error} onRetry=${again} />${loading && html`<${Spinner} label="Searching…" />`}`;
  return html`
    <${ErrorNote} error=${error} />
    ${value.notices.map((words) => html`<p key=${words} class="muted small">${words}</p>`)}
    ${!value.hits.length && html`<${Empty} icon="search" title="Nothing found">Try other words, or fewer.<//>`}
    <ul class="card hits" aria-label="What was found">${value.hits.map((hit) => html`<${Hit} key=${`${hit.collection}/${hit.path}:${hit.start}`} hit=${hit} query=${query} href=${place(hit.collection, hit.path, `L${hit.start}`)} />`)}</ul>`;
};
