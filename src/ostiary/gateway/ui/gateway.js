// The socket to the gateway: one connection that comes back by itself, requests with answers, events with sequence numbers.
import { Cell, base, kept, newId } from "./lib.js";

const PROTOCOL = 3;
const ANSWER_MS = 30_000;
const CONNECT_MS = 10_000;
const WAITS_MS = [300, 700, 1500, 3000, 5000, 8000];

export class GatewayError extends Error {
  constructor({ code, message, hint, details, retryAfterMs }) {
    super(message || "The gateway gave no reason.");
    Object.assign(this, { code: code ?? "INTERNAL", hint: hint ?? "", details, retryAfterMs });
  }
}

const lost = () =>
  new GatewayError({ code: "OFFLINE", message: "The connection to the gateway was lost.", hint: "It is retried by itself." });

const browserName = () => {
  const agent = navigator.userAgent;
  const name = [["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]];
  const found = name.find(([mark]) => agent.includes(mark))?.[1] ?? "Browser";
  const system = [["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Mac OS", "macOS"], ["Windows", "Windows"], ["Linux", "Linux"]];
  const place = system.find(([mark]) => agent.includes(mark))?.[1];
  return place ? `${found} on ${place}` : found;
};

const instanceId = kept.get("instance") || newId(10);
kept.set("instance", instanceId);

export class Gateway {
  /** "connecting", "open", "offline" (trying again), "signedOut", "mismatch" (another protocol version). */
  state = new Cell("connecting");
  hello = null;
  /** How one signs in here: "token" (by a link) or "password". */
  mode = "token";
  nextTry = 0;
  #socket = null;
  #waiting = new Map();
  #listeners = new Map();
  #seq = 0;
  #tries = 0;
  #timer = 0;
  #watchdog = 0;

  constructor() {
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.retryNow());
  }

  get scopes() {
    return this.hello?.auth?.scopes ?? [];
  }

  may(scope) {
    return this.scopes.includes(scope) || this.scopes.includes("admin");
  }

  offers(method) {
    return this.hello?.features?.methods?.includes(method) ?? false;
  }

  /** Call `handler(payload)` on each event of that name; "open", "gap" and "closed" are the connection's own. */
  on(event, handler) {
    if (!this.#listeners.has(event)) this.#listeners.set(event, new Set());
    this.#listeners.get(event).add(handler);
    return () => this.#listeners.get(event).delete(handler);
  }

  open() {
    clearTimeout(this.#timer);
    this.#socket?.close();
    if (this.state.value !== "offline") this.state.value = "connecting";
    const address = new URL(base, location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    const patience = setTimeout(() => socket.close(), CONNECT_MS);
    socket.onopen = () => this.#introduce(socket, patience);
    socket.onmessage = (message) => socket === this.#socket && this.#take(message.data);
    socket.onclose = (event) => {
      clearTimeout(patience);
      if (socket === this.#socket) this.#closed(event);
    };
  }

  retryNow() {
    if (this.state.value === "offline") this.open();
  }

  close(state) {
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#failAll();
    this.state.value = state;
  }

  /** Ask; gives the payload or throws GatewayError. */
  request(method, params = {}, { timeoutMs = ANSWER_MS } = {}) {
    if (this.state.value !== "open") return Promise.reject(lost());
    return this.#ask(method, params, timeoutMs);
  }

  /** Cause something exactly once: a lost connection is waited for, and the same request is sent again under the same key. */
  async act(method, params = {}, { key = newId(16), patienceMs = 60_000 } = {}) {
    const until = Date.now() + patienceMs;
    for (;;) {
      try {
        return await this.request(method, { ...params, idempotencyKey: key });
      } catch (error) {
        if (error.code !== "OFFLINE" || Date.now() > until || this.state.value === "signedOut") throw error;
        await this.#untilOpen(until - Date.now());
      }
    }
  }

  #untilOpen(ms) {
    if (this.state.value === "open") return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        unwatch();
        resolve();
      };
      const timer = setTimeout(done, ms);
      const unwatch = this.state.watch((state) => (state === "open" || state === "signedOut") && done());
    });
  }

  async #introduce(socket, patience) {
    const params = {
      minProtocol: PROTOCOL,
      maxProtocol: PROTOCOL,
      client: {
        id: "ostiary-web",
        displayName: browserName(),
        version: "1",
        platform: "web",
        mode: "webchat",
        instanceId,
      },
      role: "operator",
      scopes: ["read", "chat", "approve", "admin"],
      locale: navigator.language,
      userAgent: navigator.userAgent.slice(0, 200),
    };
    try {
      this.hello = await this.#ask("connect", params, CONNECT_MS);
    } catch (error) {
      if (socket !== this.#socket) return;
      if (["UNAUTHORIZED", "NOT_PAIRED", "FORBIDDEN"].includes(error.code)) {
        await this.#isSignedOut();
        this.close("signedOut");
      } else if (error.code === "PROTOCOL_MISMATCH") this.close("mismatch");
      else socket.close();
      return;
    } finally {
      clearTimeout(patience);
    }
    this.#seq = 0;
    this.#tries = 0;
    this.#watch();
    this.state.value = "open";
    this.#tell("open", this.hello);
  }

  #ask(method, params, timeoutMs) {
    const id = newId(8);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new GatewayError({ code: "TIMEOUT", message: "The gateway did not answer in time.", hint: "Try again." }));
      }, timeoutMs);
      this.#waiting.set(id, { resolve, reject, timer });
      try {
        this.#socket.send(JSON.stringify({ type: "req", id, method, params }));
      } catch {
        clearTimeout(timer);
        this.#waiting.delete(id);
        reject(lost());
      }
    });
  }

  #take(text) {
    this.#watch();
    const frame = JSON.parse(text);
    if (frame.type === "res") {
      const asked = this.#waiting.get(frame.id);
      if (!asked) return;
      this.#waiting.delete(frame.id);
      clearTimeout(asked.timer);
      if (frame.ok) asked.resolve(frame.payload ?? {});
      else asked.reject(new GatewayError(frame.error ?? {}));
      return;
    }
    if (frame.type !== "event") return;
    if (frame.seq !== undefined) {
      const isGap = this.#seq > 0 && frame.seq > this.#seq + 1;
      this.#seq = frame.seq;
      if (isGap) this.#tell("gap");
    }
    this.#tell(frame.event, frame.payload ?? {});
  }

  /** A connection that has been silent for longer than two ticks and a half is dead, whatever the browser believes. */
  #watch() {
    clearTimeout(this.#watchdog);
    const tick = this.hello?.policy?.tickIntervalMs ?? 30_000;
    this.#watchdog = setTimeout(() => this.#socket?.close(), tick * 2.5);
  }

  #tell(event, payload) {
    for (const handler of [...(this.#listeners.get(event) ?? [])]) handler(payload);
  }

  #failAll() {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject, timer } of waiting) {
      clearTimeout(timer);
      reject(lost());
    }
  }

  async #closed() {
    clearTimeout(this.#watchdog);
    const wasOpen = this.state.value === "open";
    this.#socket = null;
    this.#failAll();
    if (!wasOpen && (await this.#isSignedOut())) {
      this.state.value = "signedOut";
      return;
    }
    const wait = WAITS_MS[Math.min(this.#tries, WAITS_MS.length - 1)] * (0.8 + Math.random() * 0.4);
    this.#tries += 1;
    this.nextTry = Date.now() + wait;
    this.state.value = "offline";
    this.#tell("closed");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.open(), wait);
  }

  /** A browser cannot see why a socket was refused, so an ordinary request asks. */
  async #isSignedOut() {
    try {
      const answer = await fetch(`${base}auth/session`, { signal: AbortSignal.timeout(5000) });
      const said = await answer.json();
      this.mode = said.mode ?? "token";
      return said.signedIn === false;
    } catch {
      return false;
    }
  }
}

export const gateway = new Gateway();
