// Everything that lasts: collections, folders, documents with all their versions, now or as they were.
import { moment as dated } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useLoad, useState } from "../lib.js";
import { Empty, ErrorNote, Page, Spinner } from "../parts/basics.js";
import { Shown } from "../questions/shown.js";
import { go, link } from "../router.js";
import { FileView } from "../vault/file.js";
import { Find } from "../vault/find.js";
import { FolderActions, FolderView } from "../vault/folder.js";
import { RestoreDialog } from "../vault/restore.js";
import { SEARCH, aboutOf, asOf, changed, nameOf, place } from "../vault/state.js";
import { Cards, Tree } from "../vault/tree.js";
import { Styles } from "./styles.js";

const SearchBox = ({ query }) => {
  const [text, setText] = useState(query);
  useEffect(() => setText(query), [query]);
  const find = (event) => {
    event.preventDefault();
    if (text.trim()) go("vault", SEARCH, text.trim());
    else go("vault");
  };
  return html`<form role="search" class="grow" onSubmit=${find}><label class="filter"><${Icon} name="search" size=${15} /><input type="search" placeholder="Search everything" aria-label="Search everything in the vault" value=${text} onInput=${(e) => setText(e.target.value)} /></label></form>`;
};

const AsOf = () => {
  const at = useCell(asOf);
  const local = (seconds) => new Date(seconds * 1000 - new Date(seconds * 1000).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  const set = (event) => {
    asOf.value = event.target.value ? new Date(event.target.value).getTime() / 1000 : 0;
  };
  return html`<label class="as-of"><${Icon} name="clock" size=${15} /><span>As of</span><input type="datetime-local" class="field" aria-label="As of" value=${at ? local(at) : ""} max=${local(Date.now() / 1000)} onChange=${set} /></label>`;
};

const Crumbs = ({ collection, path }) => {
  const parts = path.split("/").filter(Boolean);
  return html`<nav class="crumbs" aria-label="Where this is"><ol>
    <li><a href=${link("vault")}>Vault</a></li>
    <li><a href=${place(collection)} aria-current=${path ? undefined : "page"}>${nameOf(collection)}</a></li>
    ${parts.map((part, i) => {
      const isLast = i === parts.length - 1;
      const to = parts.slice(0, i + 1).join("/") + (isLast && !path.endsWith("/") ? "" : "/");
      return html`<li key=${to}><a href=${place(collection, to)} aria-current=${isLast ? "page" : undefined}><${Shown} text=${part} /></a></li>`;
    })}
  </ol></nav>`;
};

const Main = ({ collection, path, more, onRestore }) => {
  const isFolder = !path || path.endsWith("/");
  return html`
    <div class="where"><${Crumbs} collection=${collection} path=${path} /><span class="space"></span>${isFolder && html`<${FolderActions} collection=${collection} folder=${path} onRestore=${onRestore} />`}</div>
    ${!path && html`<p class="muted small about">${aboutOf(collection)}</p>`}
    ${isFolder ? html`<section class="card" aria-label="Documents"><${FolderView} key=${`${collection}/${path}`} collection=${collection} folder=${path} /></section>` : html`<${FileView} key=${`${collection}/${path}`} collection=${collection} path=${path} more=${more} />`}`;
};

const Then = ({ collection, onRestore }) => {
  const at = useCell(asOf);
  if (!at) return null;
  return html`<div class="then" role="status"><${Icon} name="clock" size=${16} /><span>As it was on <strong>${dated(at)}</strong>. Nothing can be changed there.</span>
    ${collection && gateway.offers("vault.restore") && html`<button type="button" class="button small" onClick=${onRestore}>Bring it back …</button>`}
    <button type="button" class="button small" onClick=${() => (asOf.value = 0)}>Back to now</button></div>`;
};

export default function Vault({ parts }) {
  const turn = useCell(changed);
  const at = useCell(asOf);
  const [isRestoring, setRestoring] = useState(false);
  const { value, error, loading, again } = useLoad(() => gateway.request("vault.collections"), [turn]);
  const isSearch = parts[0] === SEARCH;
  const [collection, path, more] = isSearch ? ["", "", ""] : [parts[0] ?? "", parts[1] ?? "", parts[2] ?? ""];
  const rows = value?.collections ?? [];
  const actions = html`<${SearchBox} query=${isSearch ? (parts[1] ?? "") : ""} /><${AsOf} />`;
  return html`
    <${Styles} name="pages" /><${Styles} name="vault" />
    <${Page} title="Vault" about="Every document with all its versions. Nothing that is overwritten or deleted is lost." actions=${actions}>
      <${ErrorNote} error=${error} onRetry=${again} />
      ${loading && !value && html`<${Spinner} />`}
      <${Then} collection=${collection} onRestore=${() => setRestoring(true)} />
      ${value && !rows.length && !isSearch && !collection && html`<${Empty} icon="file" title="Nothing is kept here yet">What the assistant writes, and what you put in with <code>ostiary vault put</code>, appears here.<//>`}
      ${value && html`<div class=${cls("vault", (collection || isSearch) && "inside")}>
        <${Tree} key=${`${collection}/${at}`} rows=${rows} collection=${collection} path=${path} />
        <div class="vault-main">
          ${isSearch ? html`<${Find} query=${parts[1] ?? ""} />` : collection ? html`<${Main} collection=${collection} path=${path} more=${more} onRestore=${() => setRestoring(true)} />` : html`<${Cards} rows=${rows} />`}
        </div>
      </div>`}
      ${isRestoring && html`<${RestoreDialog} collection=${collection} wanted=${at ? { at } : {}} onClose=${() => setRestoring(false)} />`}
    <//>`;
}
