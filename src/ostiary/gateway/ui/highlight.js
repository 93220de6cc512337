// Colours for code, loaded when the first block needs them. The highlighter's own tree becomes elements; no markup.
const ALIASES = {
  sh: "bash", zsh: "bash", shell: "bash", console: "shell", shellsession: "shell", "c++": "cpp", h: "c", hpp: "cpp", cs: "csharp",
  "c#": "csharp", js: "javascript", jsx: "javascript", mjs: "javascript", node: "javascript", ts: "typescript", tsx: "typescript",
  py: "python", python3: "python", rb: "ruby", rs: "rust", html: "xml", svg: "xml", yml: "yaml", toml: "ini", conf: "ini", md: "markdown",
  golang: "go", kt: "kotlin", patch: "diff", docker: "dockerfile", json5: "javascript", jsonc: "json", jsonl: "json", postgres: "sql",
};
const LANGUAGES = new Set([
  "bash", "c", "cpp", "csharp", "css", "diff", "dockerfile", "go", "ini", "java", "javascript", "json", "kotlin", "lua", "markdown", "php",
  "python", "ruby", "rust", "shell", "sql", "typescript", "xml", "yaml",
]);
const LONGEST = 60_000;

let core = null;
const loaded = new Map();

const load = async (name) => {
  core ??= import("./vendor/highlight/core.js").then((module) => module.default);
  const hljs = await core;
  if (!loaded.has(name)) {
    loaded.set(name, import(`./vendor/highlight/${name}.js`).then((module) => hljs.registerLanguage(name, module.default)));
  }
  await loaded.get(name);
  return hljs;
};

const build = (node) => {
  if (typeof node === "string") return document.createTextNode(node);
  const span = document.createElement("span");
  if (node.scope) span.className = node.scope.split(".").map((part) => `hl-${part.replace(/[^a-z0-9_-]/gi, "")}`).join(" ");
  span.append(...node.children.map(build));
  return span;
};

/** Colour a finished code element in place. Unknown languages and very long blocks stay plain. */
export const highlight = async (code) => {
  const given = code.dataset.language;
  const name = ALIASES[given] ?? given;
  const text = code.textContent;
  if (!LANGUAGES.has(name) || text.length > LONGEST) return;
  code.dataset.lit = "1";
  try {
    const hljs = await load(name);
    const { _emitter: emitter } = hljs.highlight(text, { language: name, ignoreIllegals: true });
    if (code.textContent !== text) {
      delete code.dataset.lit;
      return;
    }
    code.replaceChildren(...emitter.rootNode.children.map(build));
  } catch {
    // Plain code is still code.
  }
};
