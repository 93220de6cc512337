// The conversation from top to bottom. It follows what is written only while the reader is at the bottom.
import { isOver } from "../conversation.js";
import { since } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib.js";
import { ErrorNote, Spinner, copyText } from "../parts/basics.js";
import { Markdown } from "./markdown_box.js";
import { Said, Turn } from "./turn.js";
import { Welcome } from "./welcome.js";

const NEAR = 48;

const Item = ({ turn, rev, sessionKey, onBranch, onRetry }) =>
  useMemo(() => html`<${Turn} turn=${turn} sessionKey=${sessionKey} onBranch=${onBranch} onRetry=${onRetry} />`, [turn, rev, sessionKey]);

const Pending = ({ message, conversation, onEditAgain }) => {
  const isGone = useCell(gateway.state) !== "open";
  return html`
  <article class=${cls("turn pending", message.state)}>
    <${Said} text=${message.text} attachments=${message.attachments} at=${message.at}>
      ${message.state === "queued" && conversation.running && html`<small class="muted"><${Icon} name="clock" size=${13} /> Waits for its turn</small>`}
      ${message.state === "refused" &&
      html`<div class="error-note" role="alert"><${Icon} name="alert" />
        <div><strong>Not sent: ${message.error.message}</strong><p>${message.error.hint}</p></div>
        <button type="button" class="button small" onClick=${() => onEditAgain(message)}>Edit</button>
        <button type="button" class="button small" onClick=${() => (conversation.forget(message), conversation.send(message.text, message.attachments))}>Retry</button></div>`}
    <//>
    ${message.state === "sending" && isGone && html`<p class="ending kept" role="status"><${Icon} name="clock" size=${14} /> Kept. It is sent when the gateway is back.</p>`}
    ${message.state !== "refused" && !isGone && !conversation.running && html`<div class="answer live"><div class="dots" role="status"><i></i><i></i><i></i><span class="hidden">Sent</span></div></div>`}
  </article>`;
};

const Note = ({ note, conversation }) => html`
  <article class="turn command">
    <div class="command-card">
      <header><code>${note.ask}</code><small class="muted">not part of the conversation</small>
        <button type="button" class="icon-button small" aria-label="Dismiss" onClick=${() => conversation.forgetNote(note)}><${Icon} name="close" size=${14} /></button></header>
      <${Markdown} text=${note.text} />
    </div>
  </article>`;

/** From here on everything is sent as it was said; what is above is sent as a summary. */
const Summarised = ({ told }) => html`
  <details class="summarised">
    <summary><span><${Icon} name="fold" size=${14} /> Summarised above this line<small>${since(told.at)}</small></span></summary>
    <p class="muted small">The model is sent this in place of what stands above. You can still read all of it.</p>
    <${Markdown} text=${told.summary} />
  </details>`;

/** Says aloud, once, that an answer is there; a growing text is not read letter by letter. */
const Announcer = ({ conversation }) => {
  const last = conversation.turns.at(-1);
  const [said, setSaid] = useState("");
  const was = useRef("");
  useEffect(() => {
    if (!last) return;
    const now = `${last.id}:${last.status}`;
    if (was.current === `${last.id}:running` && isOver(last)) {
      setSaid(last.status === "completed" ? `Answer: ${(last.reply ?? "").slice(0, 600)}` : `The turn ended: ${last.status}. ${last.reason ?? ""}`);
    }
    was.current = now;
  });
  return html`<div class="hidden" role="log" aria-live="polite" aria-atomic="true">${said}</div>`;
};

export const Transcript = ({ conversation, onBranch, onRetry, onEditAgain, onSuggest }) => {
  useCell(conversation.rev);
  const box = useRef();
  const inner = useRef();
  const isPinned = useRef(true);
  const lastTop = useRef(0);
  const held = useRef(null);
  const [isAway, setAway] = useState(false);
  const [isNews, setNews] = useState(false);
  const [isFetching, setFetching] = useState(false);

  const toBottom = (smooth = false) => {
    isPinned.current = true;
    setAway(false);
    setNews(false);
    box.current.scrollTo({ top: box.current.scrollHeight, behavior: smooth && !matchMedia("(prefers-reduced-motion: reduce)").matches ? "smooth" : "instant" });
  };
  const onScroll = () => {
    // As with sizes below: reported after the page has gone on.
    if (!box.current) return;
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR;
    // The report of our own scrolling comes late: a picture may have grown meanwhile. Only who goes up has left the bottom.
    isPinned.current = isNear || (isPinned.current && scrollTop >= lastTop.current);
    lastTop.current = scrollTop;
    setAway(!isPinned.current);
    if (isPinned.current) setNews(false);
  };

  useLayoutEffect(() => {
    isPinned.current = true;
    setNews(false);
    toBottom();
  }, [conversation, conversation.isLoaded]);
  useEffect(() => {
    const watcher = new ResizeObserver(() => {
      // The last report may come after the page has gone on.
      if (!box.current) return;
      if (held.current) {
        box.current.scrollTop = box.current.scrollHeight - held.current;
        held.current = null;
      } else if (isPinned.current) box.current.scrollTop = box.current.scrollHeight;
      else setNews(Boolean(conversation.isBusy) || isNews);
    });
    watcher.observe(inner.current);
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [conversation]);
  useEffect(() => {
    if (conversation.pending.some((p) => p.state === "sending")) toBottom();
  }, [conversation.pending.length]);

  const older = async () => {
    setFetching(true);
    held.current = box.current.scrollHeight - box.current.scrollTop;
    try {
      await conversation.older();
    } finally {
      setFetching(false);
    }
  };
  const click = async (event) => {
    const button = event.target.closest?.('[data-copy="code"]');
    if (!button) return;
    const isDone = await copyText(button.closest(".code").querySelector("code").textContent);
    button.textContent = isDone ? "Copied" : "Not possible here";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };

  const isEmpty = conversation.isLoaded && !conversation.turns.length && !conversation.pending.length && !conversation.notes.length;
  const ids = new Set(conversation.turns.map((turn) => turn.id));
  // A note whose turn is gone, as after /new, comes first.
  const notesAfter = (id) => conversation.notes.filter((n) => n.after === id || (!id && !ids.has(n.after))).map((n) => html`<${Note} key=${n.id} note=${n} conversation=${conversation} />`);
  return html`
    <div class="transcript" ref=${box} onScroll=${onScroll} onClick=${click} tabindex="0" aria-label="Conversation" role="region">
      <div class="transcript-inner" ref=${inner}>
        ${conversation.more && html`<button type="button" class="button small older" disabled=${isFetching} onClick=${older}>${isFetching ? "Loading…" : "Show earlier messages"}</button>`}
        ${!conversation.isLoaded && html`<${Spinner} label="Loading the conversation" />`}
        ${isEmpty && !conversation.error && html`<${Welcome} onPick=${onSuggest} />`}
        ${notesAfter("")}
        ${conversation.turns.map((turn) => [
          conversation.summarised?.keptFrom === turn.id && html`<${Summarised} key="summarised" told=${conversation.summarised} />`,
          html`<${Item} key=${turn.id} turn=${turn} rev=${turn.rev ?? 0} sessionKey=${conversation.key} onBranch=${onBranch} onRetry=${onRetry} />`,
          ...notesAfter(turn.id),
        ])}
        ${conversation.pending.map((message) => html`<${Pending} key=${message.id} message=${message} conversation=${conversation} onEditAgain=${onEditAgain} />`)}
        <${ErrorNote} error=${conversation.error} onRetry=${() => conversation.refresh(true)} />
      </div>
      <${Announcer} conversation=${conversation} />
      ${isAway && html`<button type="button" class=${cls("pill", isNews && "news")} onClick=${() => toBottom(true)} aria-label="To the newest message"><${Icon} name="down" size=${16} />${isNews && html`<span>New messages</span>`}</button>`}
    </div>`;
};
