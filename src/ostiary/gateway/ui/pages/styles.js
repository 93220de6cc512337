// A page's own style sheet, fetched with it.
import { useLayoutEffect } from "../lib.js";

export const Styles = ({ name }) => {
  useLayoutEffect(() => {
    if (document.getElementById(`css-${name}`)) return;
    const sheet = document.createElement("link");
    sheet.rel = "stylesheet";
    sheet.id = `css-${name}`;
    sheet.href = new URL(`../css/${name}.css`, import.meta.url).href;
    document.head.append(sheet);
  }, []);
  return null;
};
