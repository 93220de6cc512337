// One turn: what was asked, what was done, what was answered, how it ended.
import { isOver } from "../conversation.js";
import { bytes, cost, moment, seconds, short, time, tokensOf } from "../format.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useRef, useState } from "../lib.js";
import { CopyButton } from "../parts/basics.js";
import { pending } from "../approvals.js";
import { Answered, Questions } from "../questions/in_turn.js";
import { link } from "../router.js";
import { blobAddress } from "../uploads.js";
import { Changes } from "./changes.js";
import { Markdown } from "./markdown_box.js";
import { Work } from "./work.js";

const SHOWN_IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/** History that was brought along knows a picture's bytes, but neither its name nor its size. */
const FileName = ({ file }) => {
  const name = file.name || (SHOWN_IMAGES.test(file.mediaType) ? "" : file.mediaType);
  return (name || file.size > 0) && html`<span class="file-name"><span>${name}</span><small>${file.size ? bytes(file.size) : ""}</small></span>`;
};

export const Attachments = ({ files }) =>
  files?.length > 0 &&
  html`<div class="attached">
    ${files.map((file, i) =>
      SHOWN_IMAGES.test(file.mediaType) && file.digest
        ? html`<a key=${i} class="picture" href=${blobAddress(file)} target="_blank" rel="noopener"><img src=${blobAddress(file)} alt=${file.name || "picture"} loading="lazy" /><${FileName} file=${file} /></a>`
        : html`<a key=${i} class="file" href=${file.digest ? blobAddress(file) : undefined} target="_blank" rel="noopener" title=${file.name || undefined}><${Icon} name="file" size=${16} /><${FileName} file=${file} /></a>`,
    )}
  </div>`;

const Editor = ({ text, onCancel, onSend }) => {
  const [value, setValue] = useState(text);
  const ref = useRef();
  useEffect(() => {
    const area = ref.current;
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }, []);
  const press = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      onCancel();
    }
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (value.trim()) onSend(value.trim());
    }
  };
  return html`
    <div class="editor">
      <textarea ref=${ref} aria-label="Edit your message" rows=${Math.min(12, value.split("\n").length + 1)} value=${value} onInput=${(e) => setValue(e.target.value)} onKeyDown=${press}></textarea>
      <div class="row end">
        <small class="muted">Continues in a branch; this conversation stays as it is.</small>
        <button type="button" class="button small" onClick=${onCancel}>Cancel</button>
        <button type="button" class="button small primary" disabled=${!value.trim()} onClick=${() => onSend(value.trim())}>Send</button>
      </div>
    </div>`;
};

/** Named only if the words came in by another way than this page. */
const isElsewhere = (sender) => sender && !/^(api|browser|device|web|webchat|owner|local)\b/.test(sender);

const LONG = 1400;
export const Said = ({ text, attachments, sender, at, onEdit, isEditing, onCancel, onSend, children }) => {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > LONG || text.split("\n").length > 18;
  if (isEditing) return html`<div class="said"><${Editor} text=${text} onCancel=${onCancel} onSend=${onSend} /></div>`;
  return html`
    <div class="said">
      <${Attachments} files=${attachments} />
      ${text && html`<div class=${cls("bubble", isLong && !isWhole && "cut")} title=${moment(at)}><span class="hidden">You: </span>${text}</div>`}
      ${isLong && html`<button type="button" class="link small" onClick=${() => setWhole(!isWhole)}>${isWhole ? "Show less" : "Show all"}</button>`}
      ${children}
      <div class="tools">
        <time>${time(at)}</time>
        ${isElsewhere(sender) && html`<small>${sender}</small>`}
        ${text && html`<${CopyButton} text=${text} label="Copy your message" />`}
        ${onEdit && html`<button type="button" class="icon-button small" aria-label="Edit and branch" title="Edit and branch" onClick=${onEdit}><${Icon} name="edit" size=${15} /></button>`}
      </div>
    </div>`;
};

/** Steps as they are shown: texts, and the work between them gathered into one fold. */
export const segments = (turn) => {
  const parts = [];
  const work = (item) => {
    if (parts.at(-1)?.items) parts.at(-1).items.push(item);
    else parts.push({ id: `w${parts.length}`, items: [item] });
  };
  const steered = (turn.steered ?? []).slice();
  turn.steps.forEach((step, i) => {
    for (const late of steered.filter((s) => s.after === i)) parts.push({ id: `s${i}`, inputs: late.inputs });
    if (step.thinking?.trim()) work({ thought: step.thinking });
    if (step.text?.trim()) parts.push({ id: `t${step.step}`, text: step.text });
    for (const call of step.calls) work({ call });
  });
  for (const late of steered.filter((s) => s.after >= turn.steps.length)) parts.push({ id: `s${late.after}`, inputs: late.inputs });
  const shown = parts.filter((p) => p.text);
  const reply = turn.status === "completed" ? turn.reply : turn.partial;
  if (isOver(turn) && reply?.trim() && shown.at(-1)?.text.trim() !== reply.trim()) {
    const last = shown.at(-1);
    if (!last) parts.push({ id: "reply", text: reply });
    // The house put something around the answer: a source, a notice, what it cost.
    else if (turn.status === "completed" && reply.includes(last.text.trim())) last.text = reply;
    else if (turn.status === "completed" && !shown.some((p) => p.text.includes(reply.trim()))) parts.push({ id: "reply", text: reply });
  }
  return parts;
};

const KINDS = {
  auth: ["The provider refused the key.", "Check it under Models", "models"],
  billing: ["The provider’s account has no credit left.", "Choose another model or top it up", "models"],
  rate_limit: ["The provider limits how often it may be asked.", "Wait a little, then retry", ""],
  unavailable: ["The model cannot be reached just now.", "Wait a little, then retry", ""],
  context_overflow: ["The conversation is longer than the model can read.", "Begin a new one, or choose a model with a larger window", ""],
  image_size: ["The model refused a picture’s size.", "Send it smaller", ""],
  unknown_model: ["The provider does not know this model.", "Choose another, or check its name under Models", "models"],
  misconfigured: ["The model is not configured completely.", "See what is missing under Models", "models"],
  rejected: ["The provider rejected the request.", "", ""],
  empty: ["The model gave an empty answer.", "Retry, or choose another model", ""],
};
const Ending = ({ turn, onRetry }) => {
  if (turn.status === "aborted") return html`<p class="ending"><${Icon} name="stop" size=${14} /> Stopped. <button type="button" class="link" onClick=${onRetry}>Ask again</button></p>`;
  const [what, todo, page] = KINDS[turn.errorKind] ?? [turn.status === "timeout" ? "It took longer than allowed." : "The turn failed.", "", ""];
  const said = turn.reason || turn.reply || "";
  return html`
    <div class="error-note" role="alert">
      <${Icon} name="alert" />
      <div><strong>${what}</strong>${said && said !== what && html`<p>${said}</p>`}${todo && html`<p class="muted">${page ? html`<a href=${link(page)}>${todo}</a>` : todo}.</p>`}</div>
      <button type="button" class="button small" onClick=${onRetry}><${Icon} name="retry" size=${15} /> Retry</button>
    </div>`;
};

const WAITS = { approval: "Waiting for an approval", client_tool: "Waiting for a program to answer", child: "Waiting for a helper", vault: "Waiting for the vault to be opened" };

/** For something that no question on this page is about. */
const waitsForElse = (turn) => turn.status === "waiting" && turn.waitingFor !== "approval" && !turn.steps.some((step) => step.calls.some((call) => call.asked?.some((asked) => !asked.answer)));

/** How long nothing was heard of a turn, once that is long enough to wonder. */
const Quiet = ({ turn }) => {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, []);
  const passed = now - (turn.heardAt ?? turn.at);
  if (passed < 3) return null;
  const model = turn.steps.findLast((step) => step.model)?.model.split("/").at(-1);
  return html`<small class="quiet" aria-hidden="true">${passed < 60 ? `${Math.floor(passed)} s` : seconds(passed)}${passed > 10 ? ` · ${model || "the model"} is reading` : ""}</small>`;
};

/** Nothing to see yet, or nothing new. */
const Dots = ({ turn }) => html`<div class="dots" role="status"><i></i><i></i><i></i><span class="hidden">The assistant is answering</span><${Quiet} turn=${turn} /></div>`;

const Foot = ({ turn, sessionKey, onAgain }) => {
  const tokens = tokensOf(turn.usage);
  const spent = turn.usage?.cost;
  const model = turn.model || turn.steps.findLast((s) => s.model)?.model || "";
  const took = turn.steps.flatMap((step) => [step, ...step.calls]).reduce((sum, each) => sum + (each.seconds ?? 0), 0);
  const answer = () => segments(turn).filter((p) => p.text).map((p) => p.text).join("\n\n");
  return html`
    <div class="tools">
      <${CopyButton} text=${answer} label="Copy the answer" />
      ${onAgain &&
      html`<button type="button" class="icon-button small" aria-label="Answer again in a branch" title="Answer again in a branch" onClick=${onAgain}><${Icon} name="retry" size=${15} /></button>
        <a class="icon-button small" aria-label="Open the timeline of this turn" title="Timeline of this turn" href=${link("sessions", sessionKey, turn.id)}><${Icon} name="clock" size=${15} /></a>`}
      <time title=${moment(turn.at)}>${time(turn.at)}</time>
      ${model && html`<small class="of-model">${model.split("/").at(-1)}</small>`}
      ${took > 0 && html`<small title="Answering and acting, without waiting for people">${seconds(took)}</small>`}
      ${tokens > 0 && html`<small>${short(tokens)} tokens</small>`}
      ${spent > 0 && html`<small>${cost(spent)}</small>`}
    </div>`;
};

export const Turn = ({ turn, sessionKey, onBranch, onRetry }) => {
  const [editing, setEditing] = useState(-1);
  const isLive = !isOver(turn);
  // A note, or history brought along from elsewhere: there is no point before it to branch at.
  const isBrought = /^(note|past)-/.test(turn.id);
  const isAsking = useCell(pending).some((row) => row.turn === turn.id && row.key === sessionKey);
  const parts = segments(turn);
  const last = parts.at(-1);
  const isAtWork = isLive && turn.status === "running" && !isAsking;
  const isBusy = last?.items && (last.items.at(-1).thought || last.items.some((item) => item.call?.state === "running"));
  return html`
    <article class="turn" id=${`turn-${turn.id}`} aria-label="Turn">
      ${turn.inputs.map(
        (input, i) => html`<${Said} key=${i} text=${input.text ?? ""} attachments=${input.attachments} sender=${turn.sender} at=${input.at ?? turn.at}
          onEdit=${isLive || isBrought ? null : () => setEditing(i)} isEditing=${editing === i} onCancel=${() => setEditing(-1)}
          onSend=${(text) => (setEditing(-1), onBranch(turn, text, input.attachments ?? []))} />`,
      )}
      <div class=${cls("answer", isLive && "live")}>
        <span class="hidden">Assistant:</span>
        ${parts.map((part) => {
          if (part.inputs) return part.inputs.map((input, i) => html`<${Said} key=${`${part.id}${i}`} text=${input.text ?? ""} attachments=${input.attachments} at=${input.at ?? turn.at} />`);
          if (part.items) {
            const calls = part.items.filter((item) => item.call).map((item) => item.call);
            return html`<div key=${part.id}><${Work} items=${part.items} isAsking=${isAsking} isLive=${isAtWork && isBusy && part === last} /><${Answered} sessionKey=${sessionKey} turn=${turn} calls=${calls} /></div>`;
          }
          return html`<${Markdown} key=${part.id} text=${part.text} isFinal=${!(isLive && part === last)} />`;
        })}
        ${isAtWork && (!last || (last.items && !isBusy)) && html`<${Dots} turn=${turn} />`}
        ${waitsForElse(turn) && !isAsking && html`<p class="ending"><${Icon} name="clock" size=${15} /> ${WAITS[turn.waitingFor] ?? "Waiting"}…</p>`}
        ${!isBrought && html`<${Answered} sessionKey=${sessionKey} turn=${turn} /><${Changes} turn=${turn} /><${Questions} sessionKey=${sessionKey} turn=${turn} />`}
        ${isOver(turn) && turn.status !== "completed" && html`<${Ending} turn=${turn} onRetry=${() => onRetry(turn)} />`}
        ${isOver(turn) && html`<${Foot} turn=${turn} sessionKey=${sessionKey} onAgain=${isBrought ? null : () => onBranch(turn)} />`}
      </div>
    </article>`;
};
