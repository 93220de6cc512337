// The page's address is its hash: #/chat/<key>, #/sessions/<key>/<turn>, #/models, ...
import { Cell } from "./lib.js";

const read = () => {
  const [path] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { page: parts[0] ?? "chat", parts: parts.slice(1), path };
};

export const route = new Cell(read());
addEventListener("hashchange", () => {
  route.value = read();
});

export const link = (page, ...parts) => `#/${[page, ...parts].map((part) => encodeURIComponent(part)).join("/")}`;

export const go = (page, ...parts) => {
  location.hash = link(page, ...parts);
};

/** Go without leaving a step behind in the browser's history. */
export const replace = (page, ...parts) => {
  history.replaceState(null, "", link(page, ...parts));
  route.value = read();
};
