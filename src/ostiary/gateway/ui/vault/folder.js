// One folder: what lies in it, and what can be done there.
import { bytes, moment as dated, since } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { html, useCell, useEffect, useLoad, useState } from "../lib.js";
import { Empty, ErrorNote, Menu, Spinner, complain, prompt } from "../parts/basics.js";
import { Trust, whoOf } from "../parts/whose.js";
import { Shown } from "../questions/shown.js";
import { go } from "../router.js";
import { asOf, baseName, changed, folderOf, mayWrite, moment, place, touch } from "./state.js";

const newFile = async (collection, folder) => {
  const path = await prompt({ title: "New document", text: "Its path, such as notes/plan.md", value: folder, yes: "Make it" });
  if (!path) return;
  try {
    await gateway.act("vault.put", { collection, path, text: "", version: 0 });
    touch();
    go("vault", collection, path);
  } catch (error) {
    complain(error);
  }
};

export const FolderActions = ({ collection, folder, onRestore }) => {
  useCell(asOf);
  return html`
    ${mayWrite() && html`<button type="button" class="button small" onClick=${() => newFile(collection, folder)}><${Icon} name="plus" size=${15} /> New</button>`}
    ${gateway.offers("vault.restore") && !asOf.value && html`<${Menu} label="More about this collection" items=${[{ label: "Bring the collection back …", icon: "undo", run: onRestore }]} />`}`;
};

export const FolderView = ({ collection, folder }) => {
  const when = useCell(asOf);
  const turn = useCell(changed);
  const [pages, setPages] = useState([]);
  const bare = folder.replace(/\/$/, "");
  const ask = (after) => gateway.request("vault.list", { collection, folder: bare, after, ...moment() });
  const { value, error, loading, again } = useLoad(() => ask(""), [collection, folder, when, turn]);
  useEffect(() => setPages([]), [value]);
  if (!value) return html`<${ErrorNote} error=${error} onRetry=${again} />${loading && html`<${Spinner} />`}`;
  const all = [value, ...pages];
  const folders = all.flatMap((page) => page.folders);
  const rows = all.flatMap((page) => page.documents);
  const more = all.at(-1).after;
  if (!folders.length && !rows.length) return html`<${Empty} icon="folder" title="Nothing here">${when ? "There was nothing here then." : "What is written here appears here."}<//>`;
  return html`
    <ul class="docs">
      ${folder && html`<li><a class="doc-row" href=${place(collection, folderOf(bare))}><${Icon} name="undo" size=${16} /><span class="doc-name">Up</span></a></li>`}
      ${folders.map((name) => html`<li key=${name}><a class="doc-row" href=${place(collection, `${folder}${name}/`)}><${Icon} name="folder" size=${16} /><span class="doc-name"><${Shown} text=${name} /></span></a></li>`)}
      ${rows.map((row) => html`<li key=${row.path}><a class="doc-row" href=${place(collection, row.path)}><${Icon} name="file" size=${16} />
        <span class="doc-name"><${Shown} text=${baseName(row.path)} /></span><${Trust} trust=${row.trust} sources=${row.sources} />
        <small class="wide-only">${whoOf(row.author)}</small><small title=${dated(row.at)}>${since(row.at)}</small><small class="n">${bytes(row.size)}</small></a></li>`)}
    </ul>
    ${more && html`<button type="button" class="button" onClick=${() => ask(more).then((page) => setPages([...pages, page]), complain)}>Show more</button>`}`;
};
