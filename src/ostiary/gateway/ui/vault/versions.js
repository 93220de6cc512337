// Every version of a document: who wrote it, when, why; any two compared; any one brought back.
import { bytes } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useLoad, useState } from "../lib.js";
import { Badge, ErrorNote, Spinner, complain } from "../parts/basics.js";
import { Whose } from "../parts/whose.js";
import { Compare } from "./compare.js";
import { RestoreDialog } from "./restore.js";
import { changed, place } from "./state.js";

export const Versions = ({ collection, path }) => {
  const turn = useCell(changed);
  const [older, setOlder] = useState([]);
  const [pair, setPair] = useState(null);
  const [wanted, setWanted] = useState(null);
  const ask = (before) => gateway.request("vault.history", { collection, path, before });
  const { value, error, loading, again } = useLoad(() => ask(0), [collection, path, turn]);
  useEffect(() => {
    setOlder([]);
    setPair(null);
  }, [value]);
  if (!value) return html`<${ErrorNote} error=${error} onRetry=${again} />${loading && html`<${Spinner} />`}`;
  const rows = [...value.versions, ...older.flatMap((page) => page.versions)];
  const isMore = (older.at(-1) ?? value).more;
  const newest = rows[0].version;
  const [before, after] = pair ?? [Math.max(0, newest - 1), newest];
  const choose = (from, to) => setPair([Math.min(from, to), Math.max(from, to)]);
  return html`
    <section class="card versions"><h2>Versions</h2>
      <p class="muted small pad">Mark two of them to see what changed in between.</p>
      <ol>${rows.map((row) => html`
        <li key=${row.version} class=${cls(row.version >= before && row.version <= after && "between")}>
          <span class="marks">
            <input type="radio" name="before" aria-label=${`Compare from version ${row.version}`} checked=${before === row.version} onChange=${() => choose(row.version, after)} />
            <input type="radio" name="after" aria-label=${`Compare to version ${row.version}`} checked=${after === row.version} onChange=${() => choose(before, row.version)} /></span>
          <strong>${row.version}</strong>
          <div class="grow"><${Whose} row=${row} /></div>
          ${row.erased ? html`<${Badge}>erased<//>` : !row.digest ? html`<${Badge} kind="bad">deleted<//>` : html`<small class="muted wide-only">${bytes(row.size)}</small><a class="button small" href=${place(collection, path, `v${row.version}`)}>Show</a>`}
          ${row.digest && !row.erased && row.version !== newest && gateway.offers("vault.restore") && html`<button type="button" class="button small" onClick=${() => setWanted({ path, version: row.version })}><${Icon} name="undo" size=${14} /> Bring back</button>`}
        </li>`)}</ol>
      ${isMore && html`<button type="button" class="button pad" onClick=${() => ask(rows.at(-1).version).then((page) => setOlder([...older, page]), complain)}>Older versions</button>`}
    </section>
    <${Compare} collection=${collection} path=${path} before=${before} after=${after} />
    ${wanted && html`<${RestoreDialog} collection=${collection} wanted=${wanted} onClose=${() => setWanted(null)} />`}`;
};
