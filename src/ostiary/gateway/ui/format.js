// How numbers, times and sizes are written for people.
const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

const plain = new Intl.NumberFormat(undefined);
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dated = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Times come as seconds since 1970, some as milliseconds. */
export const toDate = (at) => new Date(at > 1e11 ? at : at * 1000);

export const ago = (at, now = Date.now()) => {
  if (!at) return "";
  const then = toDate(at);
  const seconds = (now - then) / 1000;
  if (seconds < minute) return "now";
  if (seconds < hour) return `${Math.floor(seconds / minute)} min`;
  if (seconds < day && new Date(now).getDate() === then.getDate()) return clock.format(then);
  if (seconds < 6 * day) return weekday.format(then);
  return new Date(now).getFullYear() === then.getFullYear() ? date.format(then) : dated.format(then);
};

export const since = (at) => {
  const text = ago(at);
  return /min$/.test(text) ? `${text} ago` : text === "now" ? "just now" : text;
};

export const moment = (at) => (at ? full.format(toDate(at)) : "");
export const time = (at) => (at ? clock.format(toDate(at)) : "");
export const number = (n) => plain.format(n ?? 0);

export const short = (n) => {
  n = n ?? 0;
  if (n < 1000) return String(Math.round(n));
  if (n < 1e6) return `${(n / 1000).toFixed(n < 1e4 ? 1 : 0).replace(/\.0$/, "")}k`;
  return `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0).replace(/\.0$/, "")}M`;
};

export const bytes = (n) => {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${Math.round(n / 1024)} KB`;
  return `${(n / 1024 / 1024).toFixed(1)} MB`;
};

export const cost = (dollars) => {
  if (!dollars) return "$0";
  if (dollars < 0.01) return "<$0.01";
  return `$${dollars < 10 ? dollars.toFixed(2) : plain.format(Math.round(dollars))}`;
};

export const seconds = (s) => {
  if (s === undefined || s === null) return "";
  if (s < 0.95) return `${Math.max(1, Math.round(s * 1000))} ms`;
  if (s < minute) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  return `${Math.floor(s / minute)} min ${Math.round(s % minute)} s`;
};

export const duration = (ms) => {
  const s = ms / 1000;
  if (s < minute) return `${Math.round(s)} seconds`;
  const minutes = Math.round(s / minute);
  if (minutes < 60) return `${minutes} minutes`;
  if (s < day) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(s / hour);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
};

export const tokensOf = (usage) =>
  usage ? (usage.input ?? 0) + (usage.output ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0) : 0;

export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** Whose word it was. The gateway's own token is the owner's. */
export const who = (id) => (id === "api:token" ? "you" : (id ?? ""));

/** What to call a conversation that nobody has named. */
export const titleOf = (session) => {
  if (session?.title) return session.title;
  const key = typeof session === "string" ? session : (session?.key ?? "");
  const scope = key.split(":").slice(2).join(":");
  if (scope === "main") return "Main";
  if (scope.startsWith("webchat:direct:")) return "New conversation";
  try {
    return decodeURIComponent(scope) || key;
  } catch {
    return scope || key;
  }
};
