// What the assistant waits for a yes to, in every conversation: kept current by events, answered from wherever it is shown.
import { gateway } from "./gateway.js";
import { Cell } from "./lib.js";

/** Oldest first, as the gateway describes them. */
export const pending = new Cell([]);
/** Newest last, of this page's lifetime: {approval, answer, by, note}. */
export const answered = new Cell([]);
/** When a question last came: whatever is on the screen may have moved under somebody's finger. */
export const moved = new Cell(0);

const REMEMBERED = 200;
/** Those being answered from here: they go when the answer to all of them is given. */
const answering = new Set();
let skew = 0;

/** Seconds until `at` by the gateway's clock, which need not be this browser's. */
export const secondsUntil = (at) => Math.max(0, at - (Date.now() + skew) / 1000);
/** Where the gateway's clock stands, in seconds. */
export const gatewayNow = () => (Date.now() + skew) / 1000;

const settle = (id, facts) => {
  const approval = pending.value.find((each) => each.id === id);
  if (!approval) return;
  pending.value = pending.value.filter((each) => each.id !== id);
  answered.value = [...answered.value.filter((each) => each.approval.id !== id), { approval, ...facts }].slice(-REMEMBERED);
};

const take = (rows) => {
  const known = new Set(pending.value.map((each) => each.id));
  const still = new Set(rows.map((each) => each.id));
  for (const gone of pending.value.filter((each) => !still.has(each.id))) settle(gone.id, { answer: "answered", by: "", note: "" });
  pending.value = rows;
  if (rows.some((each) => !known.has(each.id))) moved.value = performance.now();
};

const hear = (event) => {
  if (event.state === "asked") take([...pending.value.filter((each) => each.id !== event.approval.id && each.callId !== event.approval.callId), event.approval]);
  else if (!answering.has(event.id)) settle(event.id, { answer: event.answer, by: event.by, note: event.note ?? "" });
};

export const reload = async () => {
  if (!gateway.offers("approvals.list")) return;
  try {
    take((await gateway.request("approvals.list")).approvals);
  } catch (error) {
    if (error.code !== "OFFLINE") console.info(error.message);
  }
};

export const begin = () => {
  const clock = ({ ts }) => {
    if (ts > 1e12) skew = ts - Date.now();
  };
  gateway.on("connect.challenge", clock);
  gateway.on("tick", clock);
  gateway.on("open", (hello) => (hello.snapshot?.approvals ? take(hello.snapshot.approvals) : reload()));
  gateway.on("gap", reload);
  gateway.on("approval", hear);
};

/** Calls that are alike and wait in the same turn stand together. */
export const inGroups = (rows) => {
  const groups = new Map();
  for (const row of rows) {
    const name = `${row.key}\n${row.turn}\n${row.group || row.id}`;
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups.values()];
};

/** The patterns that every one of them offers, the narrowest first. */
export const sharedOffers = (rows) =>
  (rows[0]?.offers ?? []).filter((offer) => rows.every((row) => row.offers.some((other) => other.pattern === offer.pattern)));

/** Give one answer to all of them. With `pattern` and `seconds`, a yes also covers what is like them until then. */
export const answer = async (rows, { allow, pattern = "", seconds = 0, note = "" }) => {
  const ids = rows.map((row) => row.id);
  const given = new Map();
  for (const id of ids) answering.add(id);
  try {
    for (const id of ids) {
      if (given.has(id)) continue;
      const wider = pattern && id === ids[0] ? { pattern, seconds } : {};
      const done = await gateway.act("approvals.answer", { id, allow, ...wider, ...(note && { note }) });
      for (const each of [id, ...(done.also ?? [])]) given.set(each, { answer: done.answer, by: done.by, note });
    }
  } finally {
    for (const id of ids) answering.delete(id);
    for (const [id, facts] of given) settle(id, facts);
    if (given.size < ids.length) reload();
  }
};
