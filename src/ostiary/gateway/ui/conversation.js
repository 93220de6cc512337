// One conversation as the page knows it: turns folded from history and from events. No elements here, only facts.
// Applying the same event twice, or after a refresh that already held it, changes nothing.
import { gateway } from "./gateway.js";
import { Cell, keptHere, newId } from "./lib.js";

const PAGE = 40;

/** Messages that the gateway has not taken yet: they outlive a reload of the page, each under its own key. */
const unsent = {
  all() {
    try {
      return JSON.parse(keptHere.get("unsent", "[]"));
    } catch {
      return [];
    }
  },
  add(row) {
    keptHere.set("unsent", JSON.stringify([...this.all().filter((each) => each.act !== row.act), row]));
  },
  drop(act) {
    const left = this.all().filter((each) => each.act !== act);
    keptHere.set("unsent", left.length ? JSON.stringify(left) : "");
  },
};

/** The length as the gateway counts it: in code points. */
const lengthOf = (text) => {
  let n = 0;
  for (const _ of text) n += 1;
  return n;
};

const skip = (text, points) => [...text].slice(points).join("");

export const isOver = (turn) => !["running", "waiting"].includes(turn.status);

const touch = (turn) => {
  turn.rev = (turn.rev ?? 0) + 1;
  turn.heardAt = Date.now() / 1000;
};

const stepOf = (turn, number) => {
  let step = turn.steps.find((s) => s.step === number);
  if (!step) {
    step = { step: number, text: "", thinking: "", calls: [] };
    turn.steps.push(step);
    turn.steps.sort((a, b) => a.step - b.step);
  }
  return step;
};

/** Put a streamed piece where it belongs. A later attempt voids the earlier; a missing piece shows as an ellipsis. */
export const addDelta = (step, { attempt = 0, offset = 0, text = "", stream = "assistant" }) => {
  if (step.isAnswered || attempt < (step.attempt ?? 0)) return;
  if (attempt > (step.attempt ?? attempt)) {
    step.text = "";
    step.thinking = "";
    step.counts = {};
  }
  step.attempt = attempt;
  const field = stream === "thinking" ? "thinking" : "text";
  step.counts ??= {};
  const have = step.counts[field] ?? lengthOf(step[field]);
  const length = lengthOf(text);
  if (offset + length <= have) return;
  if (offset > have) step[field] += have ? " … " : "… ";
  step[field] += offset < have ? skip(text, have - offset) : text;
  step.counts[field] = offset + length;
};

const MOST_PROGRESS = 4000;

/** A word from a running call: shown while it runs, never kept. A command's output comes in pieces, others speak in lines. */
const addProgress = (turn, { id, text = "" }) => {
  const call = turn.steps.flatMap((step) => step.calls).findLast((each) => each.id === id);
  if (call?.state !== "running" || text === call.name) return;
  const before = call.progress ?? "";
  const isPiece = !before || before.endsWith("\n") || ["exec", "process"].includes(call.name);
  call.progress = `${before}${isPiece ? "" : "\n"}${text}`.slice(-MOST_PROGRESS);
};

/** Change `turn` by one event of the gateway. */
export const applyToTurn = (turn, event) => {
  switch (event.state) {
    case "started":
      turn.inputs = event.inputs ?? turn.inputs;
      turn.sender = event.sender ?? turn.sender;
      turn.at = event.at ?? turn.at;
      if (!isOver(turn)) turn.status = "running";
      break;
    case "delta":
      if (isOver(turn)) return;
      turn.status = "running";
      addDelta(stepOf(turn, event.step ?? 1), event);
      break;
    case "progress":
      addProgress(turn, event);
      break;
    case "tool":
      applyTool(stepOf(turn, event.step ?? 1), event);
      break;
    case "answered": {
      const step = stepOf(turn, event.step ?? 1);
      step.text = event.text ?? step.text;
      step.thinking = event.thinking ?? step.thinking;
      step.model = event.model ?? step.model;
      step.usage = event.usage ?? step.usage;
      step.isAnswered = true;
      break;
    }
    case "steered":
      turn.steered = [...(turn.steered ?? []), { after: turn.steps.length, inputs: event.inputs ?? [] }];
      break;
    case "waiting":
      turn.status = "waiting";
      turn.waitingFor = event.waitingFor;
      break;
    case "resumed":
      turn.status = "running";
      break;
    case "noted":
      Object.assign(turn, { status: "completed", reply: event.text, at: event.at });
      break;
    case "final":
    case "error":
      Object.assign(turn, {
        status: event.status ?? (event.state === "final" ? "completed" : "failed"),
        reply: event.reply ?? turn.reply,
        usage: event.usage ?? turn.usage,
        model: event.model ?? turn.model,
        reason: event.reason ?? "",
        errorKind: event.errorKind ?? "",
        partial: event.partial ?? "",
      });
      break;
    default:
      return;
  }
  touch(turn);
};

const applyTool = (step, event) => {
  let call = step.calls.find((c) => c.id === event.id);
  if (!call) {
    call = { id: event.id, name: event.name, arguments: event.arguments, state: "running" };
    step.calls.push(call);
  }
  if (event.arguments !== undefined) call.arguments = event.arguments;
  for (const name of ["layer", "reason", "details"]) if (event[name] !== undefined) call[name] = event[name];
  if (event.phase === "ended") {
    call.state = event.fate ?? "done";
    delete call.progress;
    if (event.result !== undefined) call.result = event.result;
    if (event.isError !== undefined) call.isError = event.isError;
    if (event.seconds !== undefined) call.seconds = event.seconds;
  }
};

const cleanTurn = (turn) => ({ ...turn, inputs: turn.inputs ?? [], steps: (turn.steps ?? []).map(cleanStep) });
const cleanStep = (step) => ({ ...step, text: step.text ?? "", thinking: step.thinking ?? "", calls: step.calls ?? [], isAnswered: Boolean(step.usage) });

export class Conversation {
  rev = new Cell(0);
  turns = [];
  /** Messages of this page on their way: sending, queued, refused; and slash commands with their answers. */
  pending = [];
  notes = [];
  more = false;
  isLoaded = false;
  isNew = false;
  error = null;
  settings = {};
  model = "";
  contextTokens = 0;
  contextWindow = 0;
  usage = {};
  /** Where what the model is sent came from: {trust, private, sources}. */
  label = null;
  /** What was said before the turn `keptFrom` is sent to the model as `summary`: {keptFrom, summary, at}. */
  summarised = null;
  #refreshing = null;
  /** Messages whose turn has begun, perhaps before the answer to their sending came. */
  #begun = new Set();
  #frame = 0;
  #off = [];

  constructor(key) {
    this.key = key;
    this.#off = [
      gateway.on("chat", (event) => event.key === this.key && this.apply(event)),
      gateway.on("open", () => this.refresh(true)),
      gateway.on("gap", () => this.refresh()),
      gateway.on("sessions", (event) => event.key === this.key && event.change === "reset" && this.refresh(true)),
    ];
    this.refresh(true);
    for (const { key: of, ...row } of unsent.all()) if (of === key) this.#deliver(row);
  }

  close() {
    for (const off of this.#off) off();
    cancelAnimationFrame(this.#frame);
    if (gateway.state.value === "open") gateway.request("sessions.unsubscribe", { keys: [this.key] }).catch(() => {});
  }

  get running() {
    return this.turns.findLast((turn) => !isOver(turn));
  }

  get isBusy() {
    return Boolean(this.running) || this.pending.some((p) => p.state === "sending" || p.state === "queued");
  }

  /** Redraw at most once per frame, however fast the pieces come. */
  changed() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.rev.value += 1;
    });
    // A hidden page draws no frames; what it shows when it returns must still be right.
    if (document.visibilityState === "hidden") this.rev.value += 1;
  }

  apply(event) {
    if (event.state === "summarised") {
      this.#takeSummary(event);
      this.changed();
      return;
    }
    let turn = this.turns.find((t) => t.id === event.turn);
    if (!turn) {
      if (event.state !== "started" && event.state !== "noted") {
        this.refresh();
        return;
      }
      turn = { id: event.turn, at: event.at ?? Date.now() / 1000, status: "running", inputs: [], steps: [], reply: "" };
      this.turns.push(turn);
    }
    applyToTurn(turn, event);
    if (event.state === "started" || event.state === "steered") this.#settlePending(event.items ?? [], event.inputs ?? []);
    if (event.state === "final" || event.state === "error") this.#afterTurn();
    this.changed();
  }

  /** Ask for the truth. `isFresh`: what was streamed before is void, for example after a restart of the gateway. */
  async refresh(isFresh = false) {
    if (gateway.state.value !== "open") return;
    if (this.#refreshing) {
      await this.#refreshing;
      if (!isFresh) return;
    }
    this.#refreshing = this.#load(isFresh).finally(() => {
      this.#refreshing = null;
    });
    await this.#refreshing;
  }

  async #load(isFresh) {
    try {
      const limit = Math.max(PAGE, Math.min(this.turns.length, 200));
      const history = await gateway.request("chat.history", { key: this.key, limit, verbose: "full" });
      this.#take(history, isFresh);
      this.error = null;
    } catch (error) {
      if (error.code === "NOT_FOUND") this.isNew = true;
      else if (error.code !== "OFFLINE") this.error = error;
    }
    this.isLoaded = true;
    this.changed();
  }

  #take(history, isFresh) {
    const streaming = new Map(isFresh ? [] : this.turns.filter((t) => !isOver(t)).map((t) => [t.id, t]));
    const known = new Set(this.turns.map((t) => t.id));
    const fresh = history.turns.map(cleanTurn);
    for (const turn of fresh) {
      turn.rev = (this.turns.find((t) => t.id === turn.id)?.rev ?? 0) + 1;
      const old = streaming.get(turn.id);
      if (old && !isOver(turn)) turn.steps = mergeSteps(turn.steps, old.steps);
      if (history.partial?.turn === turn.id && !isOver(turn)) addDelta(stepOf(turn, history.partial.step), { ...history.partial, offset: 0 });
    }
    const first = fresh[0]?.id;
    const at = this.turns.findIndex((t) => t.id === first);
    const older = at > 0 ? this.turns.slice(0, at) : [];
    this.turns = [...older, ...fresh];
    if (!older.length) this.more = Boolean(history.more);
    this.#takeFacts(history);
    if (!older.length) this.summarised = null;
    this.#takeSummary(history.summarised);
    for (const turn of fresh) if (!known.has(turn.id)) this.#settlePending([], turn.inputs);
    for (const p of this.pending) if (p.state === "queued" && !this.running) p.isLate = true;
    this.pending = this.pending.filter((p) => !(p.isLate && isFresh && p.state === "queued"));
  }

  #takeFacts(history) {
    this.settings = history.settings ?? this.settings;
    this.model = history.model ?? this.model;
    this.contextTokens = history.contextTokens ?? this.contextTokens;
    this.contextWindow = history.contextWindow ?? this.contextWindow;
    this.usage = history.usage ?? this.usage;
    this.label = history.label ?? null;
  }

  /** The last one made counts. */
  #takeSummary(told) {
    if (told && told.at >= (this.summarised?.at ?? 0)) this.summarised = { keptFrom: told.keptFrom, summary: told.summary, at: told.at };
  }

  async older() {
    if (!this.more || !this.turns.length) return;
    const history = await gateway.request("chat.history", { key: this.key, limit: PAGE, before: this.turns[0].id, verbose: "full" });
    const known = new Set(this.turns.map((t) => t.id));
    this.turns = [...history.turns.map(cleanTurn).filter((t) => !known.has(t.id)), ...this.turns];
    this.more = Boolean(history.more);
    this.#takeSummary(history.summarised);
    this.changed();
  }

  async #afterTurn() {
    try {
      const history = await gateway.request("chat.history", { key: this.key, limit: 1, verbose: "full" });
      this.#takeFacts(history);
      for (const whole of history.turns.map(cleanTurn)) this.#complete(whole);
      this.changed();
    } catch {
      // The meter is refreshed with the next turn.
    }
  }

  /** The finished turn as it was committed, with whatever was lost on the way. */
  #complete(whole) {
    const turn = this.turns.find((t) => t.id === whole.id);
    if (!turn || !isOver(turn) || !isOver(whole)) return;
    const { steered } = turn;
    Object.assign(turn, whole, { rev: (turn.rev ?? 0) + 1, steered: undefined });
    if (steered && whole.inputs.length <= 1) turn.steered = steered;
  }

  #settlePending(items, inputs) {
    const texts = inputs.map((input) => input.text ?? "");
    const ids = new Set(items);
    for (const item of items) this.#begun.add(item);
    this.pending = this.pending.filter((p) => {
      if (p.item && ids.size) return !ids.has(p.item);
      const at = texts.indexOf(p.text);
      if (at < 0) return true;
      texts.splice(at, 1);
      return false;
    });
  }

  /** Send; shown at once, and sent again under the same key if the connection breaks. */
  async send(text, attachments = [], directives = {}) {
    const files = attachments.filter((file) => file.digest).map(({ digest, name, mediaType, size }) => ({ digest, name, mediaType, size }));
    const row = { act: newId(16), text, attachments: files, directives, at: Date.now() / 1000 };
    unsent.add({ key: this.key, ...row });
    await this.#deliver(row);
  }

  async #deliver({ act, text, attachments, directives, at }) {
    const known = new Set(this.turns.map((t) => t.id));
    const message = { id: newId(8), act, text, attachments, at, state: "sending", known };
    this.pending.push(message);
    this.isNew = false;
    this.changed();
    const params = { key: this.key, text, ...directives, ...(attachments.length && { attachments }) };
    try {
      const answer = await gateway.act("chat.send", params, { key: act, patienceMs: 10 * 60_000 });
      unsent.drop(act);
      this.#accepted(message, answer);
    } catch (error) {
      if (error.code !== "OFFLINE") unsent.drop(act);
      message.state = "refused";
      message.error = error;
    }
    this.changed();
  }

  #accepted(message, answer) {
    const drop = () => {
      this.pending = this.pending.filter((p) => p !== message);
    };
    if (answer.status === "answered") {
      drop();
      this.notes.push({ id: message.id, at: message.at, after: this.turns.at(-1)?.id ?? "", ask: message.text, text: answer.text ?? "" });
      if (/^\/(new|reset)\b/i.test(message.text)) this.refresh(true);
      else this.#afterTurn();
      return;
    }
    message.item = answer.item;
    // Its turn may have begun before the answer to the sending came, for example when the first answer was lost.
    const started = this.#begun.has(answer.item) || this.turns.some((t) => !message.known.has(t.id) && t.inputs.some((i) => i.text === message.text));
    if (started) drop();
    else message.state = "queued";
    if (answer.status === "duplicate") this.refresh();
  }

  forget(message) {
    unsent.drop(message.act);
    this.pending = this.pending.filter((p) => p !== message);
    this.changed();
  }

  forgetNote(note) {
    this.notes = this.notes.filter((n) => n !== note);
    this.changed();
  }

  async stop() {
    const stopped = await gateway.request("chat.abort", { key: this.key });
    this.pending = this.pending.filter((p) => p.state !== "queued");
    this.changed();
    return stopped;
  }

  async set(settings) {
    await gateway.act("sessions.patch", { key: this.key, settings });
    this.settings = { ...this.settings, ...settings };
    this.changed();
    await this.#afterTurn();
  }
}

/** Calls of which the page has heard more than the history held when it was asked. */
const mergeCalls = (step, heard) => {
  for (const call of heard) {
    const same = step.calls.find((each) => each.id === call.id);
    if (!same) step.calls.push(call);
    else if (same.state === "running") Object.assign(same, call, { arguments: call.arguments ?? same.arguments });
  }
};

/** History knows what is committed; the page may already have seen more of the step that is being written. */
const mergeSteps = (committed, streamed) => {
  const have = new Map(committed.map((s) => [s.step, s]));
  const merged = [...committed];
  for (const step of streamed) {
    const same = have.get(step.step);
    if (!same) {
      merged.push(step);
      continue;
    }
    mergeCalls(same, step.calls);
    if (!same.isAnswered && step.text.length > same.text.length) {
      Object.assign(same, { text: step.text, thinking: step.thinking || same.thinking, attempt: step.attempt, counts: step.counts });
    }
  }
  return merged.sort((a, b) => a.step - b.step);
};
