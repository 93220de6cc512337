import { html } from "../lib.js";

const IDEAS = [
  ["Write and run a small program", "You are asked once, see it happen, and can undo it", "Write a small Python program hello.py that prints the numbers from 1 to 5, and run it."],
  ["What can you do here?", "Ask for the tools and commands there are"],
  ["Summarise a document", "Drop a file anywhere on this page", "Summarise the attached document in five points."],
  ["/status", "Model, context, what is running"],
];

const greeting = () => {
  const hour = new Date().getHours();
  return hour < 5 ? "Good night" : hour < 12 ? "Good morning" : hour < 18 ? "Good afternoon" : "Good evening";
};

export const Welcome = ({ onPick }) => html`
  <div class="welcome">
    <img src="icon.svg" alt="" width="52" height="52" />
    <h2>${greeting()}</h2>
    <p class="muted">Ask anything. Your words go only to the model that you chose.</p>
    <div class="ideas">
      ${IDEAS.map(([title, hint, text]) => html`<button type="button" key=${title} onClick=${() => onPick(text ?? title)}><strong>${title}</strong><span>${hint}</span></button>`)}
    </div>
  </div>`;
