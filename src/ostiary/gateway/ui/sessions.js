// The list of conversations, kept current by events.
import { gateway } from "./gateway.js";
import { Cell, newId } from "./lib.js";

export const sessions = new Cell([]);
export const isListed = new Cell(false);
export const listError = new Cell(null);

const byTime = (a, b) => (b.updatedAt ?? 0) - (a.updatedAt ?? 0);

export const reload = async () => {
  try {
    const { sessions: rows } = await gateway.request("sessions.list", { limit: 200 });
    sessions.value = rows.sort(byTime);
    listError.value = null;
  } catch (error) {
    if (error.code !== "OFFLINE") listError.value = error;
  }
  isListed.value = true;
};

const take = (event) => {
  const { key, change, ...facts } = event;
  if (change === "deleted") {
    sessions.value = sessions.value.filter((s) => s.key !== key);
    return;
  }
  const known = sessions.value.find((s) => s.key === key);
  const next = { key, title: "", createdAt: facts.updatedAt, ...known, ...Object.fromEntries(Object.entries(facts).filter(([, v]) => v !== undefined && v !== null)) };
  sessions.value = [next, ...sessions.value.filter((s) => s.key !== key)].sort(byTime);
};

/** A conversation that has just begun is listed at once, under its first words, until the gateway names it. */
export const list = (key, inputs = [], at = Date.now() / 1000) => {
  if (sessions.value.some((s) => s.key === key)) return;
  const title = (inputs[0]?.text ?? "").replace(/\s+/g, " ").slice(0, 80);
  sessions.value = [{ key, title, createdAt: at, updatedAt: at, events: 0, queued: 0, waitingFor: "" }, ...sessions.value].sort(byTime);
};

export const begin = () => {
  gateway.on("open", reload);
  gateway.on("gap", reload);
  gateway.on("sessions", take);
  gateway.on("chat", ({ key, state, inputs, at }) => {
    if (!["started", "final", "error"].includes(state)) return;
    if (state === "started") list(key, inputs, at);
    const row = sessions.value.find((s) => s.key === key);
    if (!row) return;
    row.running = state === "started";
    sessions.touch();
  });
};

/** A conversation of its own for this person on the web; it exists once something is said in it. */
export const newKey = (agent = "main") => `agent:${agent}:webchat:direct:${newId(8)}`;

export const rename = async (key, title) => {
  await gateway.act("sessions.patch", { key, settings: {}, title });
  sessions.value = sessions.value.map((s) => (s.key === key ? { ...s, title } : s));
};

export const remove = async (key) => {
  await gateway.act("sessions.delete", { key });
  sessions.value = sessions.value.filter((s) => s.key !== key);
};

/** A new conversation that holds everything before that turn. */
export const branch = async (key, turn) => (await gateway.act("sessions.branch", { key, atTurn: turn })).key;
