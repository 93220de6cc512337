// One document: shown, changed, moved, deleted, and its versions.
import { Markdown } from "../chat/markdown_box.js";
import { bytes, moment as dated } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { base, html, useCell, useEffect, useLoad, useRef, useState } from "../lib.js";
import { Badge, CopyButton, Empty, ErrorNote, Menu, Spinner, complain, confirm, prompt } from "../parts/basics.js";
import { Whose } from "../parts/whose.js";
import { Shown } from "../questions/shown.js";
import { go } from "../router.js";
import { Edit } from "./edit.js";
import { RestoreDialog } from "./restore.js";
import { asOf, baseName, changed, done, folderOf, mayWrite, moment, place } from "./state.js";
import { Versions } from "./versions.js";

const bytesOf = (collection, { path, version }) =>
  `${base}v1/vault/raw/${[collection, ...path.split("/")].map(encodeURIComponent).join("/")}?version=${version}`;

const Lines = ({ text, line }) => {
  const at = useRef();
  useEffect(() => at.current?.scrollIntoView({ block: "center" }), [text, line]);
  return html`<pre class="plain-text" tabindex="0" aria-label="The text">${text.split("\n").map((row, i) => html`<span key=${i} ref=${i + 1 === line ? at : undefined} class=${i + 1 === line ? "wanted" : undefined}><${Shown} text=${row} />${"\n"}</span>`)}</pre>`;
};

const Content = ({ collection, found, line, isPlain }) => {
  const { document, kind, text } = found;
  if (kind === "image") return html`<div class="picture"><img src=${bytesOf(collection, document)} alt=${baseName(document.path)} /></div>`;
  if (kind === "text" && /\.(md|markdown)$/i.test(document.path) && !isPlain) return html`<div class="pad shown-text"><${Markdown} text=${text} /></div>`;
  if (kind === "text") return text ? html`<${Lines} text=${text} line=${line} />` : html`<p class="muted pad">It is empty.</p>`;
  return html`<${Empty} icon="file" title=${kind === "big" ? "Too long to be shown here" : "This is not text"}><a class="button" href=${bytesOf(collection, document)} download=${baseName(document.path)}>Download ${bytes(document.size)}</a><//>`;
};

const move = async (collection, { path }, version) => {
  const to = await prompt({ title: "Move or rename", text: "Its new path", value: path, yes: "Move" });
  if (!to || to === path) return;
  try {
    const moved = await gateway.act("vault.move", { collection, path, to, version });
    go("vault", collection, to);
    done("Moved.", collection, moved.undoAt);
  } catch (error) {
    complain(error);
  }
};

const remove = async (collection, { path }, version) => {
  if (!(await confirm({ title: `Delete ${baseName(path)}?`, text: "Its versions stay: it can be brought back at any time.", yes: "Delete", danger: true }))) return;
  try {
    const gone = await gateway.act("vault.delete", { collection, path, version });
    go("vault", collection, folderOf(path));
    done("Deleted.", collection, gone.undoAt, path);
  } catch (error) {
    complain(error);
  }
};

const Actions = ({ collection, found, isMarkdown, isPlain, onPlain, onEdit, onRestore, isOld }) => {
  const { document, kind, newest } = found;
  const items = [
    { label: "Download", icon: "down", run: () => Object.assign(window.document.createElement("a"), { href: bytesOf(collection, document), download: baseName(document.path) }).click() },
    mayWrite() && !isOld && { label: "Move or rename …", icon: "edit", run: () => move(collection, document, newest) },
    mayWrite() && !isOld && { label: "Delete", icon: "trash", danger: true, run: () => remove(collection, document, newest) },
  ].filter(Boolean);
  return html`
    ${isMarkdown && html`<div class="tabs small" role="group" aria-label="How to show it"><button type="button" aria-pressed=${!isPlain} onClick=${() => onPlain(false)}>Page</button><button type="button" aria-pressed=${isPlain} onClick=${() => onPlain(true)}>Text</button></div>`}
    ${kind === "text" && html`<${CopyButton} text=${found.text} label="Copy the text" />`}
    ${isOld && gateway.offers("vault.restore") && html`<button type="button" class="button small" onClick=${onRestore}><${Icon} name="undo" size=${14} /> Bring back</button>`}
    ${kind === "text" && mayWrite() && !isOld && html`<button type="button" class="button small" onClick=${onEdit}><${Icon} name="edit" size=${14} /> Edit</button>`}
    <${Menu} label="More about this document" items=${items} />`;
};

const Gone = ({ collection, path, error }) => html`
  <${Empty} icon="file" title=${asOf.value ? "It was not there then" : "There is no such document"}>${error.code === "NOT_FOUND" && !asOf.value ? "If it was deleted, an earlier version can be brought back below." : error.message}<//>
  ${!asOf.value && html`<${Versions} collection=${collection} path=${path} />`}`;

export const FileView = ({ collection, path, more }) => {
  const when = useCell(asOf);
  const turn = useCell(changed);
  const [isEditing, setEditing] = useState(false);
  const [isPlain, setPlain] = useState(more.startsWith("L"));
  const [wanted, setWanted] = useState(null);
  const version = /^v\d{1,9}$/.test(more) ? Number(more.slice(1)) : 0;
  const line = /^L\d{1,9}$/.test(more) ? Number(more.slice(1)) : 0;
  const { value, error, loading } = useLoad(() => gateway.request("vault.get", { collection, path, ...(version ? { version } : moment()) }), [collection, path, version, when, turn]);
  useEffect(() => setEditing(false), [collection, path, version]);
  useEffect(() => setPlain(line > 0), [path, line]);
  if (error) return html`<${Gone} collection=${collection} path=${path} error=${error} />`;
  if (!value || value.document.path !== path) return loading && html`<${Spinner} />`;
  const isOld = value.document.version !== value.newest;
  const isMarkdown = value.kind === "text" && /\.(md|markdown)$/i.test(path);
  return html`
    <section class="card paper" aria-label=${path}>
      <header><div class="grow"><div class="row"><h2>Version ${value.document.version}</h2>${isOld && html`<${Badge} kind="warn">older<//><a href=${place(collection, path)}>newest: ${value.newest}</a>`}<small class="muted">${bytes(value.document.size)}</small></div>
        <${Whose} row=${value.document} /></div>
        ${!isEditing && html`<${Actions} collection=${collection} found=${value} isMarkdown=${isMarkdown} isPlain=${isPlain} onPlain=${setPlain} isOld=${isOld} onEdit=${() => setEditing(true)} onRestore=${() => setWanted({ path, version: value.document.version })} />`}</header>
      ${isEditing ? html`<${Edit} collection=${collection} path=${path} text=${value.text} version=${value.newest} onClose=${() => setEditing(false)} />` : html`<${Content} collection=${collection} found=${value} line=${line} isPlain=${isPlain} />`}
    </section>
    ${!when && !isEditing && html`<${Versions} collection=${collection} path=${path} />`}
    ${when > 0 && html`<p class="muted small">As it was on ${dated(when)}.</p>`}
    ${wanted && html`<${RestoreDialog} collection=${collection} wanted=${wanted} onClose=${() => setWanted(null)} />`}`;
};
