// One remembered thing: what it says, whose word it is, where it came from, and what the owner can do about it.
import { Markdown } from "../chat/markdown_box.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { html, useState } from "../lib.js";
import { Badge, ErrorNote, Menu, complain, say } from "../parts/basics.js";
import { Whose } from "../parts/whose.js";
import { Shown } from "../questions/shown.js";
import { link } from "../router.js";

export const AREAS = { long: "Always", daily: "Daily", shared: "Shared", private: "Private", me: "About me" };
export const fileOf = (agent, path) => (agent === "main" ? path : `agents/${agent}/${path}`);

const settle = async (entry, agent, more, onDone) => {
  try {
    await gateway.act("memory.confirm", { ids: [entry.id], agent, ...more });
    onDone();
    say(more.reject ? "Rejected: it is not remembered." : "It is remembered, on your word.");
  } catch (error) {
    complain(error);
  }
};

const Why = ({ entry, agent }) => {
  const [state, setState] = useState(null);
  const ask = async () => {
    if (state) return setState(null);
    try {
      const { origins } = await gateway.request("memory.why", { target: `${entry.path}#L${entry.start}`, agent });
      return setState({ origin: origins[0] });
    } catch (error) {
      return setState({ error });
    }
  };
  const words = state?.origin?.words;
  return html`
    <button type="button" class="link small" aria-expanded=${Boolean(state)} onClick=${ask}>Why?</button>
    ${state && html`<div class="why"><${ErrorNote} error=${state.error} />
      ${state.origin && html`<p class="muted small">${words ? "What was said in the turn that wrote it" : entry.turn ? "The turn that wrote it holds no words any more" : "It was written by hand, in no conversation"} (version ${state.origin.entry.version} of ${entry.path})${words ? ":" : "."}</p>`}
      ${words && html`<blockquote><${Shown} text=${words} /></blockquote>`}</div>`}`;
};

export const Entry = ({ entry, agent, onDone, onForget }) => {
  const isWaiting = Boolean(entry.id);
  const others = Object.entries(AREAS).filter(([area]) => area !== entry.area && area !== "me");
  return html`
    <li class=${isWaiting ? "memory-entry waits" : "memory-entry"}>
      <div class="memory-text"><${Markdown} text=${entry.text} /></div>
      <div class="memory-facts"><${Whose} row=${entry} />
        <a class="link small" href=${link("vault", "_memory", fileOf(agent, entry.path), `L${entry.start}`)}>${entry.path}:${entry.start}</a>
        ${!isWaiting && html`<${Why} entry=${entry} agent=${agent} />`}
        <span class="space"></span>
        ${isWaiting && html`<${Badge}>wants to be: ${AREAS[entry.area] ?? entry.area}<//>`}
        ${isWaiting && gateway.offers("memory.confirm") && html`
          <button type="button" class="button small primary" onClick=${() => settle(entry, agent, {}, onDone)}><${Icon} name="check" size=${14} /> Confirm</button>
          <button type="button" class="button small" onClick=${() => settle(entry, agent, { reject: true }, onDone)}>Forget</button>
          <${Menu} label="Confirm it elsewhere" items=${others.map(([area, label]) => ({ label: `Confirm as ${label.toLowerCase()}`, run: () => settle(entry, agent, { area }, onDone) }))} />`}
        ${!isWaiting && gateway.offers("memory.forget") && html`<button type="button" class="icon-button small" title="Forget …" aria-label=${`Forget: ${entry.text.slice(0, 60)}`} onClick=${() => onForget(entry)}><${Icon} name="trash" size=${15} /></button>`}
      </div>
    </li>`;
};
