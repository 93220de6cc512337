// Collections and their folders, opened level by level.
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useLoad, useState } from "../lib.js";
import { Shown } from "../questions/shown.js";
import { asOf, baseName, changed, iconOf, moment, nameOf, place, sizeOf } from "./state.js";

const Level = ({ collection, folder, at }) => {
  const when = useCell(asOf);
  const turn = useCell(changed);
  const { value, error } = useLoad(() => gateway.request("vault.list", { collection, folder, ...moment() }), [collection, folder, when, turn]);
  if (!value) return html`<p class="muted small pad">${error ? error.message : "…"}</p>`;
  const path = folder ? `${folder}/` : "";
  return html`<ul>
    ${value.folders.map((name) => html`<${Folder} key=${name} collection=${collection} path=${path + name} at=${at} />`)}
    ${value.documents.map((row) => html`<li key=${row.path}><a class="leaf" href=${place(collection, row.path)} aria-current=${at === row.path ? "page" : undefined}><${Icon} name="file" size=${14} /><span><${Shown} text=${baseName(row.path)} /></span></a></li>`)}
    ${value.after && html`<li><a class="leaf muted" href=${place(collection, path)}>more …</a></li>`}
    ${!value.folders.length && !value.documents.length && html`<li class="muted small pad">nothing here</li>`}
  </ul>`;
};

const Branch = ({ label, href, icon, isAt, isOpenFirst, note, children }) => {
  const [isOpen, setOpen] = useState(isOpenFirst);
  useEffect(() => {
    if (isOpenFirst) setOpen(true);
  }, [isOpenFirst]);
  return html`<li>
    <div class=${cls("branch", isAt && "at")}>
      <button type="button" class="icon-button small" aria-expanded=${isOpen} aria-label=${`${isOpen ? "Fold" : "Unfold"} ${label}`} onClick=${() => setOpen(!isOpen)}><${Icon} name="chevron" size=${13} /></button>
      <a href=${href} aria-current=${isAt ? "page" : undefined} onClick=${() => setOpen(true)}><${Icon} name=${icon} size=${15} /><span><${Shown} text=${label} /></span>${note && html`<small>${note}</small>`}</a>
    </div>
    ${isOpen && children}
  </li>`;
};

const Folder = ({ collection, path, at }) => html`
  <${Branch} label=${baseName(path)} href=${place(collection, `${path}/`)} icon="folder" isAt=${at === `${path}/`} isOpenFirst=${at.startsWith(`${path}/`)}>
    <${Level} collection=${collection} folder=${path} at=${at} />
  <//>`;

export const Tree = ({ rows, collection, path }) => html`
  <nav class="tree" aria-label="Collections and folders"><ul>
    ${rows.map((row) => html`
      <${Branch} key=${row.name} label=${nameOf(row.name)} href=${place(row.name)} icon=${iconOf(row.name)} note=${row.documents || ""}
        isAt=${collection === row.name && !path} isOpenFirst=${collection === row.name}>
        <${Level} collection=${row.name} folder="" at=${collection === row.name ? path : ""} />
      <//>`)}
  </ul></nav>`;

export const Cards = ({ rows }) => html`<div class="figures collections">
  ${rows.map((row) => html`<a class="figure" key=${row.name} href=${place(row.name)}><${Icon} name=${iconOf(row.name)} size=${20} /><strong>${nameOf(row.name)}</strong><span>${sizeOf(row)}</span></a>`)}
</div>`;
