import { html } from "../lib.js";
import { Dialog } from "./basics.js";

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const mod = isMac ? "⌘" : "Ctrl";
const KEYS = [
  ["Enter", "Send the message"],
  ["Shift Enter", "New line"],
  ["Esc", "Stop the answer"],
  [`${mod} K`, "Find a conversation or a page"],
  ["Alt ↑ / ↓", "Previous or next conversation"],
  ["Alt N", "New conversation"],
  ["/", "Write to the assistant; at the beginning of a message, a command"],
  ["↑", "In an empty message: edit your last one"],
  ["Alt Q", "Go to what the assistant asks; there y allows once, n refuses"],
  ["?", "This list"],
];

export const Help = ({ onClose }) => html`
  <${Dialog} title="Keyboard shortcuts" onClose=${onClose}>
    <dl class="keys">
      ${KEYS.map(([keys, what]) => html`<div key=${keys}><dt>${keys.split(" ").map((k) => (k === "/" && keys !== "/" ? " / " : html`<kbd>${k}</kbd> `))}</dt><dd>${what}</dd></div>`)}
    </dl>
  <//>`;
