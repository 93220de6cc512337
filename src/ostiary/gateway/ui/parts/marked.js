// A passage with the words that matched marked in it.
import { html } from "../lib.js";
import { Shown } from "../questions/shown.js";

const COMMON = new Set("a an and are as at be but by can did do does for from had has have how i in is it its me my not of on or our so that the their them they this to was we were what when where which who why will with you your".split(" "));
const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
/** The beginning of a word: other forms of it match as well. */
const stem = (word) => (word.length > 5 ? word.slice(0, Math.max(4, word.length - 2)) : word);

export const wordsOf = (query, why = []) => {
  const told = why.filter((each) => each.startsWith("words: ")).flatMap((each) => each.slice(7).split(", "));
  const asked = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set([...told, ...asked.filter((word) => !COMMON.has(word))])].filter((word) => word.length > 1);
};

export const Marked = ({ text, words }) => {
  if (!words.length) return html`<${Shown} text=${text} />`;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])((?:${words.map(stem).map(escaped).join("|")})[\\p{L}\\p{N}]*)`, "giu");
  return text.split(pattern).map((part, i) => (i % 2 ? html`<mark class="hit" key=${i}>${part}</mark>` : html`<${Shown} key=${i} text=${part} />`));
};
