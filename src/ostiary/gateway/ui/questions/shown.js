// Text in which nothing can hide: characters that cannot be seen, or that reorder what is read, are written out and marked.
import { html } from "../lib.js";

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb]/g;

export const visible = (text) => text.replace(HIDDEN, (sign) => `\\u{${sign.codePointAt(0).toString(16).toUpperCase()}}`);

/** What the gateway or this page has written out (\u{202E}) is marked. */
export const Shown = ({ text }) =>
  visible(text)
    .split(/(\\u\{[0-9A-F]{1,6}\})/)
    .map((part, i) => (i % 2 ? html`<mark key=${i} title="An invisible or misleading character">${part}</mark>` : part));
