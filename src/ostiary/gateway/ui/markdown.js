// Markdown from a model becomes elements, never markup: tokens are turned into nodes one by one, so HTML in the text
// stays text, links lead only to http, https and mailto, and images are shown as links because loading them tells
// their server that they were read.
import { Lexer } from "./vendor/marked.js";
import { highlight } from "./highlight.js";

const LONGEST = 400_000;
const LINK = /^(https?:\/\/|mailto:)/i;

const NAMED = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", hellip: "…", mdash: "—", ndash: "–", copy: "©",
  reg: "®", trade: "™", times: "×", middot: "·", bull: "•", larr: "←", rarr: "→", uarr: "↑", darr: "↓", deg: "°",
  plusmn: "±", le: "≤", ge: "≥", ne: "≠", laquo: "«", raquo: "»", euro: "€", pound: "£", sect: "§", para: "¶",
};
const decoded = (text) =>
  text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, (whole, name) => {
    if (name[0] !== "#") return NAMED[name] ?? whole;
    const point = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    return point > 0 && point < 0x110000 && !(point >= 0xd800 && point < 0xe000) ? String.fromCodePoint(point) : whole;
  });

const element = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

const words = (text) => document.createTextNode(text);

const anchor = (href, ...children) => {
  if (!LINK.test(href)) return element("span", { class: "dead-link", title: href }, ...children);
  return element("a", { href, target: "_blank", rel: "noopener noreferrer nofollow", title: href }, ...children);
};

const inline = (tokens = []) => tokens.map(inlineOne).filter(Boolean);
const inlineOne = (token) => {
  switch (token.type) {
    case "strong":
      return element("strong", {}, ...inline(token.tokens));
    case "em":
      return element("em", {}, ...inline(token.tokens));
    case "del":
      return element("del", {}, ...inline(token.tokens));
    case "codespan":
      return element("code", {}, words(token.text));
    case "br":
      return element("br");
    case "link":
      return anchor(token.href, ...inline(token.tokens));
    case "image":
      return anchor(token.href, words(`🖼 ${decoded(token.text) || token.href}`));
    case "html":
      return /^<br\s*\/?>$/i.test(token.raw.trim()) ? element("br") : words(token.raw);
    case "checkbox":
      return checkbox(token.checked);
    case "text":
      return token.tokens ? element("span", {}, ...inline(token.tokens)) : words(decoded(token.text));
    case "escape":
      return words(token.text);
    default:
      return words(token.raw ?? "");
  }
};

const checkbox = (isChecked) => {
  const box = element("input", { type: "checkbox", disabled: "disabled", "aria-label": isChecked ? "done" : "to do" });
  if (isChecked) box.setAttribute("checked", "checked");
  return box;
};

const codeBlock = (token) => {
  const language = (token.lang ?? "").trim().split(/[\s{,]/)[0].slice(0, 30).toLowerCase();
  const isClosed = token.codeBlockStyle === "indented" || /\n *(```|~~~)[`~]*\s*$/.test(token.raw);
  const code = element("code", { "data-language": language, "data-closed": isClosed ? "1" : "" }, words(token.text));
  return element(
    "div",
    { class: "code" },
    element(
      "div",
      { class: "code-head" },
      element("span", {}, words(language || "text")),
      element("button", { type: "button", class: "code-copy", "data-copy": "code" }, words("Copy")),
    ),
    element("pre", { tabindex: "0" }, code),
  );
};

const table = (token) => {
  const cell = (name, { tokens, align }) => element(name, { class: align ? `to-${align}` : "" }, ...inline(tokens));
  const row = (name, cells) => element("tr", {}, ...cells.map((c) => cell(name, c)));
  const head = element("thead", {}, row("th", token.header));
  const body = element("tbody", {}, ...token.rows.map((cells) => row("td", cells)));
  return element("div", { class: "table-wrap", tabindex: "0" }, element("table", {}, head, body));
};

const list = (token) => {
  const items = token.items.map((item) => {
    const node = element("li", { class: item.task ? "task" : "" });
    if (item.task && !hasCheckbox(item.tokens)) node.append(checkbox(item.checked));
    for (const child of item.tokens) node.append(...(isTight(child, item) ? inline(child.tokens ?? [child]) : block(child)));
    return node;
  });
  const start = token.ordered && token.start !== 1 ? String(token.start) : "";
  return element(token.ordered ? "ol" : "ul", { start }, ...items);
};
const hasCheckbox = (tokens) => tokens.some((t) => t.type === "checkbox" || t.tokens?.some((u) => u.type === "checkbox"));
const isTight = (child, item) => child.type === "checkbox" || (child.type === "text" && !item.loose);

const block = (token) => {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      // The page has its own first headings; a message's begin below them.
      return [element(`h${Math.min(token.depth + 2, 6)}`, {}, ...inline(token.tokens))];
    case "paragraph":
      return [element("p", {}, ...inline(token.tokens))];
    case "text":
      return [element("p", {}, ...inline(token.tokens ?? [token]))];
    case "code":
      return [codeBlock(token)];
    case "blockquote":
      return [element("blockquote", {}, ...token.tokens.flatMap(block))];
    case "list":
      return [list(token)];
    case "table":
      return [table(token)];
    case "hr":
      return [element("hr")];
    default:
      return [element("p", { class: "raw" }, words((token.raw ?? "").trimEnd()))];
  }
};

const lex = (text) => new Lexer({ gfm: true, breaks: true }).lex(text);

/** Make `old` like `next` and keep as much of it as possible: what is selected stays selected, nothing flickers. */
const morph = (old, next) => {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) {
    old.replaceWith(next);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data === next.data) return;
    if (next.data.startsWith(old.data)) old.appendData(next.data.slice(old.data.length));
    else old.data = next.data;
    return;
  }
  if (old.nodeName === "CODE" && old.dataset.lit && old.textContent === next.textContent) return;
  for (const { name, value } of [...next.attributes]) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
  morphChildren(old, [...next.childNodes]);
};
const morphChildren = (parent, next, from = 0) => {
  const old = [...parent.childNodes].slice(from);
  next.forEach((node, i) => (old[i] ? morph(old[i], node) : parent.append(node)));
  for (const extra of old.slice(next.length)) extra.remove();
};

const light = (root) => {
  for (const code of root.querySelectorAll("pre > code[data-language][data-closed]:not([data-lit])")) highlight(code);
};

/** Shows a text that grows. Only its unfinished end is read again; at the end the whole is read once more. */
export class MarkdownView {
  #root;
  #text = null;
  #isFinal = false;
  #settled = "";
  #settledNodes = 0;

  constructor(root) {
    this.#root = root;
  }

  update(text, isFinal) {
    if (text === this.#text && isFinal === this.#isFinal) return;
    if (text.length > LONGEST) {
      this.#root.replaceChildren(element("pre", { class: "plain" }, words(text)));
      return;
    }
    if (isFinal || !text.startsWith(this.#settled)) this.#restart();
    const tokens = lex(text.slice(this.#settled.length));
    const nodes = tokens.map(block);
    morphChildren(this.#root, nodes.flat(), this.#settledNodes);
    if (!isFinal) this.#settle(tokens, nodes);
    this.#text = text;
    this.#isFinal = isFinal;
    if (isFinal) for (const code of this.#root.querySelectorAll("pre > code[data-language]")) code.dataset.closed = "1";
    light(this.#root);
  }

  #restart() {
    this.#settled = "";
    this.#settledNodes = 0;
  }

  /** Blocks before the last one cannot change any more. */
  #settle(tokens, nodes) {
    const last = tokens.findLastIndex((token) => token.type !== "space");
    for (let i = 0; i < last; i += 1) {
      this.#settled += tokens[i].raw;
      this.#settledNodes += nodes[i].length;
    }
  }
}
