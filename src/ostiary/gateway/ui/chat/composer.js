// Where one writes: text, files, commands; send or stop.
import { bytes } from "../format.js";
import { gateway } from "../gateway.js";
import { house, look } from "../house.js";
import { Icon } from "../icons.js";
import { cls, html, kept, useCell, useEffect, useLayoutEffect, useRef, useState } from "../lib.js";
import { complain, say } from "../parts/basics.js";
import { addFiles } from "../uploads.js";
import { commands, seesPictures } from "./models.js";
import { ModelPicker, ThinkingPicker } from "./picker.js";

/** The commands that fit what was typed so far, if it is the beginning of a command. */
export const completions = (text, all) => {
  const found = /^\/([\w-]*)$/.exec(text);
  if (!found) return [];
  const typed = found[1].toLowerCase();
  const names = (c) => [c.name, ...(c.aliases ?? [])].map((n) => n.replace(/^\//, ""));
  return all.filter((c) => names(c).some((n) => n.startsWith(typed))).slice(0, 9);
};

const Tray = ({ files, onDrop }) =>
  files.length > 0 &&
  html`<ul class="tray" aria-label="Files to send">
    ${files.map(
      (file) => html`<li key=${file.id} class=${file.state} title=${file.problem || file.name}>
        ${file.preview ? html`<img src=${file.preview} alt="" />` : html`<span class="tray-file"><${Icon} name="file" size=${18} /></span>`}
        <span class="tray-name">${file.name}<small>${file.state === "refused" ? file.problem : bytes(file.size)}</small></span>
        ${file.state === "sending" && html`<progress max="1" value=${file.progress} aria-label=${`Uploading ${file.name}`}></progress>`}
        <button type="button" class="icon-button small" aria-label=${`Remove ${file.name}`} onClick=${() => onDrop(file)}><${Icon} name="close" size=${13} /></button>
      </li>`,
    )}
  </ul>`;

/** Nothing is heard in a house that was stopped; here is the way back. */
const StoppedNote = () => {
  const view = useCell(house);
  if (view?.state !== "shutdown") return null;
  const wake = () => gateway.act("control.wake", { reason: "the page" }).then(look, complain);
  return html`<div class="stopped-note" role="status"><span>Everything is stopped. Nothing begins before you wake the house.</span>
    ${gateway.may("admin") && html`<button type="button" class="button small" onClick=${wake}><${Icon} name="sun" size=${15} /> Wake</button>`}</div>`;
};

export const Composer = ({ conversation, handle, onEditLast }) => {
  useCell(conversation.rev);
  const all = useCell(commands);
  const state = useCell(gateway.state);
  const [text, setText] = useState(() => kept.get(`draft.${conversation.key}`));
  const [, redraw] = useState(0);
  const [at, setAt] = useState(0);
  const [isClosed, setClosed] = useState(false);
  const area = useRef();
  const picker = useRef();
  const files = useRef([]);

  useLayoutEffect(() => {
    const node = area.current;
    node.style.height = "auto";
    node.style.height = `${Math.min(node.scrollHeight, Math.round(innerHeight * 0.4))}px`;
  }, [text]);
  useEffect(() => kept.set(`draft.${conversation.key}`, text), [text]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) area.current.focus();
  }, []);

  const take = (list) => {
    if (!list?.length) return;
    const left = addFiles(files.current, [...list], () => redraw((n) => n + 1));
    if (left) say(`${left} more files than can be sent at once were left out.`, { kind: "bad" });
  };
  const fill = (value) => {
    setText(value);
    area.current.focus();
  };
  handle.current = { take, fill, focus: () => area.current?.focus() };

  const shown = isClosed ? [] : completions(text, all);
  const isWaiting = files.current.some((f) => f.state === "sending");
  const ready = files.current.filter((f) => f.state === "sent");
  const canSend = !isWaiting && (text.trim() || ready.length) && gateway.may("chat");

  const send = async () => {
    if (!canSend) return;
    const attachments = ready.map(({ digest, name, mediaType, size }) => ({ digest, name, mediaType, size }));
    const said = text.trim();
    for (const file of files.current) file.drop();
    files.current = [];
    setText("");
    await conversation.send(said, attachments);
  };
  const stop = () => conversation.stop().catch(complain);
  const complete = (command) => {
    setText(`/${command.name.replace(/^\//, "")} `);
    area.current.focus();
  };
  const press = (event) => {
    if (event.isComposing) return;
    if (shown.length) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        setAt((n) => (n + (event.key === "ArrowDown" ? 1 : -1) + shown.length) % shown.length);
        return;
      }
      if (event.key === "Tab" || (event.key === "Enter" && `/${shown[at]?.name.replace(/^\//, "")}` !== text)) {
        event.preventDefault();
        complete(shown[at] ?? shown[0]);
        return;
      }
      if (event.key === "Escape") {
        event.stopPropagation();
        setClosed(true);
        return;
      }
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === "ArrowUp" && !text && !event.altKey) {
      onEditLast();
    }
  };
  const input = (event) => {
    setText(event.target.value);
    setAt(0);
    setClosed(false);
  };
  const paste = (event) => {
    const list = event.clipboardData?.files;
    if (!list?.length) return;
    event.preventDefault();
    take(list);
  };
  const isBusy = conversation.isBusy;
  return html`
    <div class="composer-wrap">
      <${StoppedNote} />
      ${shown.length > 0 &&
      html`<ul class="completions" role="listbox" id="completions" aria-label="Commands">
        ${shown.map((c, i) => html`<li key=${c.name} id=${`command-${i}`} role="option" aria-selected=${i === at} class=${cls(i === at && "at")} onMouseDown=${(e) => (e.preventDefault(), complete(c))} onMouseMove=${() => setAt(i)}><code>/${c.name.replace(/^\//, "")}</code><span>${c.summary}</span></li>`)}
      </ul>`}
      <form class="composer" onSubmit=${(e) => (e.preventDefault(), send())}>
        <${Tray} files=${files.current} onDrop=${(file) => (file.drop(), (files.current = files.current.filter((f) => f !== file)), redraw((n) => n + 1))} />
        ${files.current.some((f) => f.preview) && !seesPictures(conversation) && html`<p class="tray-note"><${Icon} name="info" size=${14} /> This model cannot see pictures; choose another one below.</p>`}
        <textarea ref=${area} rows="1" aria-label="Message" placeholder=${state === "open" ? "Write a message, or / for commands" : "Write; it is kept and sent later"} value=${text} enterkeyhint="send"
          aria-controls=${shown.length ? "completions" : undefined} aria-activedescendant=${shown.length ? `command-${at}` : undefined}
          onInput=${input} onKeyDown=${press} onPaste=${paste}></textarea>
        <div class="composer-row">
          <input ref=${picker} type="file" multiple hidden onChange=${(e) => (take(e.target.files), (e.target.value = ""))} />
          <button type="button" class="icon-button" aria-label="Attach files" title="Attach files (or drop or paste them)" onClick=${() => picker.current.click()}><${Icon} name="attach" /></button>
          <${ModelPicker} conversation=${conversation} />
          <${ThinkingPicker} conversation=${conversation} />
          <span class="space"></span>
          ${isBusy && html`<button type="button" class="send stop" aria-label="Stop" title="Stop (Esc)" onClick=${stop}><${Icon} name="stop" /></button>`}
          ${(!isBusy || text.trim()) && html`<button type="submit" class="send" aria-label="Send" title="Send (Enter)" disabled=${!canSend}><${Icon} name="send" /></button>`}
        </div>
      </form>
      <p class="composer-note wide-only">The assistant can be mistaken. Check what matters.</p>
    </div>`;
};
