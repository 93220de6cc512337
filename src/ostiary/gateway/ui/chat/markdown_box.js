import { html, useLayoutEffect, useRef } from "../lib.js";
import { MarkdownView } from "../markdown.js";

/** Markdown that may still be growing. Its nodes are the view's own; the component only hands it the text. */
export const Markdown = ({ text, isFinal = true }) => {
  const ref = useRef();
  const view = useRef();
  useLayoutEffect(() => {
    view.current ??= new MarkdownView(ref.current);
    view.current.update(text, isFinal);
  }, [text, isFinal]);
  return html`<div class=${isFinal ? "prose" : "prose growing"} ref=${ref}></div>`;
};
