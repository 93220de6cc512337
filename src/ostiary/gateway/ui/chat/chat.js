// The chat page: which conversation is open, and what can be done with it as a whole.
import { Conversation } from "../conversation.js";
import { titleOf } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, kept, useCell, useEffect, useEvent, useMemo, useRef, useState } from "../lib.js";
import { Chip } from "../parts/chip.js";
import { Menu, complain, confirm, copyText, say } from "../parts/basics.js";
import { drawer } from "../places.js";
import { go, replace } from "../router.js";
import { branch, isListed, list, newKey, sessions } from "../sessions.js";
import { Composer } from "./composer.js";
import { Meter } from "./meter.js";
import { Provenance } from "./provenance.js";
import { Sidebar, askDelete, askRename } from "./sidebar.js";
import { Transcript } from "./transcript.js";
import { segments } from "./turn.js";

const KEPT_OPEN = 6;
const opened = new Map();

/** The conversation of that key; the last few stay open, so going back shows them at once and current. */
const conversationOf = (key) => {
  const found = opened.get(key) ?? new Conversation(key);
  opened.delete(key);
  opened.set(key, found);
  for (const [old, conversation] of opened) {
    if (opened.size <= KEPT_OPEN) break;
    if (conversation.isBusy) continue;
    conversation.close();
    opened.delete(old);
  }
  return found;
};

const asMarkdown = (conversation) =>
  conversation.turns
    .map((turn) => {
      const asked = turn.inputs.map((input) => `**You:** ${input.text}`).join("\n\n");
      const answer = segments(turn).filter((p) => p.text).map((p) => p.text).join("\n\n");
      return `${asked}\n\n**Assistant:** ${answer}`;
    })
    .join("\n\n---\n\n");

const Head = ({ conversation, session }) => {
  useCell(conversation.rev);
  const reset = async () => {
    const isSure = await confirm({ title: "Begin afresh here?", text: "The assistant forgets what was said in this conversation. Its timeline stays readable under Sessions.", yes: "Begin afresh" });
    if (!isSure) return;
    try {
      await gateway.act("sessions.reset", { key: conversation.key });
      await conversation.refresh(true);
    } catch (error) {
      complain(error);
    }
  };
  const copy = async () => say((await copyText(asMarkdown(conversation))) ? "Copied as Markdown." : "This browser does not allow copying here.");
  const items = [
    { label: "Rename", icon: "edit", run: () => askRename(session) },
    { label: "Timeline", icon: "clock", run: () => go("sessions", conversation.key) },
    { label: "Copy as Markdown", icon: "copy", run: copy },
    { label: "Begin afresh", icon: "retry", run: reset },
    gateway.may("admin") && null,
    gateway.may("admin") && { label: "Delete", icon: "trash", danger: true, run: () => askDelete(session, true) },
  ].filter((item) => item !== false);
  return html`
    <header class="chat-head">
      <button type="button" class="icon-button phone-only" aria-label="Open menu" onClick=${() => (drawer.value = true)}><${Icon} name="menu" size=${20} /></button>
      <h1 title=${conversation.key}>${titleOf(session)}</h1>
      <${Provenance} conversation=${conversation} />
      <${Chip} className="phone-only" />
      <${Meter} conversation=${conversation} />
      <button type="button" class="icon-button phone-only" aria-label="New conversation" onClick=${() => go("chat", newKey())}><${Icon} name="plus" size=${20} /></button>
      <${Menu} label="More about this conversation" items=${items} />
    </header>`;
};

const Conversing = ({ sessionKey }) => {
  const conversation = useMemo(() => conversationOf(sessionKey), [sessionKey]);
  const rows = useCell(sessions);
  const session = rows.find((s) => s.key === sessionKey) ?? { key: sessionKey, title: "" };
  const handle = useRef({});
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    kept.set("last", sessionKey);
  }, [sessionKey]);
  useEffect(
    () =>
      conversation.rev.watch(() => {
        const first = conversation.turns[0];
        if (first && isListed.value) list(sessionKey, first.inputs, conversation.turns.at(-1).at);
      }),
    [conversation],
  );
  useEffect(() => {
    document.title = `${titleOf(session)} · Ostiary`;
  }, [session.title, sessionKey]);

  const onBranch = async (turn, text = null, attachments = null) => {
    try {
      const key = await branch(conversation.key, turn.id);
      const source = turn.inputs.length ? turn.inputs : [{ text: "" }];
      const next = conversationOf(key);
      const isWhole = text === null;
      next.send(isWhole ? source.map((i) => i.text).join("\n\n") : text, isWhole ? source.flatMap((i) => i.attachments ?? []) : attachments);
      go("chat", key);
      say("This is a branch; the conversation it came from stays as it was.", { action: { label: "Go back", run: () => go("chat", sessionKey) } });
    } catch (error) {
      complain(error);
    }
  };
  const onRetry = (turn) => conversation.send(turn.inputs.map((i) => i.text).join("\n\n"), turn.inputs.flatMap((i) => i.attachments ?? []));
  const onEditAgain = (message) => {
    conversation.forget(message);
    handle.current.fill(message.text);
  };
  const onEditLast = () => document.querySelector(".turn:last-of-type .said [aria-label='Edit and branch']")?.click();

  useEvent(document, "keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && conversation.isBusy) conversation.stop().catch(complain);
    else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      const at = sessions.value.findIndex((s) => s.key === sessionKey);
      const next = sessions.value[at + (event.key === "ArrowDown" ? 1 : -1)];
      if (next) go("chat", next.key);
    } else if (event.altKey && event.code === "KeyN") {
      event.preventDefault();
      go("chat", newKey());
    } else if (event.key === "/" && !event.target.closest?.("input, textarea, select")) {
      event.preventDefault();
      handle.current.focus();
    }
  });
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    handle.current.take(event.dataTransfer?.files);
  };
  return html`
    <main class=${cls("chat", isOver && "dropping")} id="main"
      onDragOver=${(e) => [...(e.dataTransfer?.types ?? [])].includes("Files") && (e.preventDefault(), setOver(true))}
      onDragLeave=${(e) => !e.currentTarget.contains(e.relatedTarget) && setOver(false)} onDrop=${drop}>
      <${Head} conversation=${conversation} session=${session} />
      <${Transcript} key=${sessionKey} conversation=${conversation} onBranch=${onBranch} onRetry=${onRetry} onEditAgain=${onEditAgain} onSuggest=${(text) => handle.current.fill(text)} />
      <${Composer} key=${`c${sessionKey}`} conversation=${conversation} handle=${handle} onEditLast=${onEditLast} />
      ${isOver && html`<div class="drop-here" aria-hidden="true"><${Icon} name="attach" size=${28} /><strong>Drop files to send them</strong></div>`}
    </main>`;
};

export const Chat = ({ parts }) => {
  const key = parts[0] ?? "";
  const isKey = /^agent:[a-z0-9][a-z0-9_-]{0,63}:./.test(key);
  useEffect(() => {
    if (!isKey) replace("chat", kept.get("last") || "agent:main:main");
  }, [isKey]);
  return html`<div class="chat-page"><${Sidebar} current=${key} />${isKey && html`<${Conversing} sessionKey=${key} />`}</div>`;
};
