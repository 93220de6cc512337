// What a turn did to files, and taking it back.
import { isOver } from "../conversation.js";
import { plural } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useEffect, useEvent, useRef, useState } from "../lib.js";
import { complain } from "../parts/basics.js";
import { Diff } from "./diff.js";

const CHANGING = new Set(["write", "edit", "apply_patch", "exec", "process"]);
const MOST = 30;

/** How many calls that may have changed a file have ended. */
const madeBy = (turn) => turn.steps.flatMap((step) => step.calls).filter((call) => CHANGING.has(call.name) && !["running", "refused", "skipped"].includes(call.state)).length;

const Result = ({ undone }) => {
  const lines = [...undone.restored.map((path) => `${path} is as it was before.`), ...undone.deleted.map((path) => `${path} is removed.`)];
  const place = useRef();
  // The button that was pressed is gone; whoever pressed it by the keyboard goes on from here.
  useEffect(() => place.current.focus({ preventScroll: true }), []);
  return html`<div class="undone" role="status" tabindex="-1" ref=${place}>
    ${lines.length > 0 && html`<p><${Icon} name="check" size=${14} /> <span>${lines.join(" ")}</span></p>`}
    ${undone.conflicts.map((words) => html`<p key=${words} class="bad"><${Icon} name="alert" size=${14} /> <span>Left alone: ${words}.</span></p>`)}
    ${!lines.length && !undone.conflicts.length && html`<p>There was nothing to take back.</p>`}
  </div>`;
};

/** Why there is no button: taken back already, or somebody went on from there. */
const standing = (files) => (files.every((file) => file.undone) ? "taken back" : "changed again since");

const Card = ({ turn, files, onDone }) => {
  const [isBusy, setBusy] = useState(false);
  const [undone, setUndone] = useState(null);
  const sum = (name) => files.reduce((total, file) => total + (file[name] ?? 0), 0);
  const undo = async () => {
    setBusy(true);
    try {
      setUndone(await gateway.act("changes.undo", { turn: turn.id }));
      onDone();
    } catch (error) {
      complain(error);
    }
    setBusy(false);
  };
  const isBack = Boolean(undone && !undone.conflicts.length) || files.every((file) => file.undone);
  const canUndo = isOver(turn) && !undone && files.some((file) => file.current) && gateway.offers("changes.undo");
  return html`
    <section class=${cls("changes", isBack && "taken-back")} aria-label="Files this turn changed">
      <header><strong>Changed ${plural(files.length, "file")}</strong><small class="plus">+${sum("added")}</small><small class="minus">−${sum("removed")}</small><span class="space"></span>
        ${canUndo && html`<button type="button" class="button small" disabled=${isBusy} onClick=${undo}><${Icon} name="undo" size=${14} /> Undo</button>`}
        ${!canUndo && !undone && isOver(turn) && html`<small class="muted">${standing(files)}</small>`}</header>
      ${undone && html`<${Result} undone=${undone} />`}
      ${files.slice(0, MOST).map((file) => html`<${Diff} key=${file.path} ...${file} />`)}
      ${files.length > MOST && html`<p class="muted small pad">and ${files.length - MOST} more</p>`}
    </section>`;
};

/** Asked for when it comes into sight, and again whenever another call has ended. */
export const Changes = ({ turn }) => {
  const made = madeBy(turn);
  const [files, setFiles] = useState([]);
  const [isSeen, setSeen] = useState(false);
  const [again, setAgain] = useState(0);
  const place = useRef();
  // It may have been taken back on another screen.
  useEvent(window, "focus", () => made && setAgain((n) => n + 1));
  useEffect(() => {
    if (!made || isSeen || !place.current) return undefined;
    const watcher = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && setSeen(true), { rootMargin: "400px" });
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, [made > 0, isSeen]);
  useEffect(() => {
    if (!made || !isSeen || !gateway.offers("changes.list")) return undefined;
    let isCurrent = true;
    gateway.request("changes.list", { turn: turn.id }).then(
      ({ turns }) => isCurrent && setFiles(turns[0]?.files ?? []),
      () => {},
    );
    return () => {
      isCurrent = false;
    };
  }, [turn.id, made, isSeen, isOver(turn), again]);
  if (!made) return null;
  return html`<div ref=${place}>${files.length > 0 && html`<${Card} turn=${turn} files=${files} onDone=${() => setAgain((n) => n + 1)} />`}</div>`;
};
