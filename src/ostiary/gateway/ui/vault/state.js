// What every part of the vault page shares: the moment that is looked at, names of collections, addresses, acts with their undo.
import { bytes, plural } from "../format.js";
import { gateway } from "../gateway.js";
import { Cell } from "../lib.js";
import { complain, say } from "../parts/basics.js";
import { link } from "../router.js";

/** UTC seconds; 0 is now. */
export const asOf = new Cell(0);
/** Counts up when something was changed: whoever shows documents asks again. */
export const changed = new Cell(0);
export const SEARCH = "?";

const NAMES = {
  _workspace: ["Workspace", "The files the assistant works on.", "file"],
  _memory: ["Memory", "What is remembered, and your notes.", "thought"],
  _bootstrap: ["Instructions", "Who the assistant is and how it works. Only you can write here.", "scales"],
};
export const nameOf = (collection) => NAMES[collection]?.[0] ?? collection;
export const aboutOf = (collection) => NAMES[collection]?.[1] ?? "A collection of documents.";
export const iconOf = (collection) => NAMES[collection]?.[2] ?? "folder";
export const sizeOf = ({ documents, bytes: size }) => `${plural(documents, "document")} · ${bytes(size)}`;

/** Folders end in a slash; a third part is a version (v3) or a line (L12). */
export const place = (collection, path = "", more = "") => link(...["vault", collection, path, more].filter(Boolean));
export const folderOf = (path) => (path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : "");
export const baseName = (path) => path.replace(/\/$/, "").split("/").at(-1);

export const mayWrite = () => gateway.offers("vault.put") && !asOf.value;
export const moment = () => (asOf.value ? { at: asOf.value } : {});
export const touch = () => {
  changed.value += 1;
};

/** Bring back what a restore, deletion or move has just changed. */
const undo = async (collection, undoAt, path) => {
  try {
    const asked = { collection, at: undoAt, ...(path && { path }) };
    const preview = await gateway.request("vault.restore.preview", asked);
    await gateway.act("vault.restore", { ...asked, digest: preview.digest });
    touch();
    say("It is as it was before.");
  } catch (error) {
    complain(error);
  }
};

export const done = (text, collection, undoAt, path = "") => {
  touch();
  say(text, { ms: 12_000, action: { label: "Undo", run: () => undo(collection, undoAt, path) } });
};
