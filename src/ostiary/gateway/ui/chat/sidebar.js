// The conversations: find one, begin one, name one, remove one.
import { ago, titleOf } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useEffect, useState } from "../lib.js";
import { Menu, complain, confirm, prompt, say } from "../parts/basics.js";
import { askKill, useKill } from "../parts/kill.js";
import { drawer, ownPages } from "../places.js";
import { go, link, replace } from "../router.js";
import { isListed, listError, newKey, reload, remove, rename, sessions } from "../sessions.js";

export const askRename = async (session) => {
  const title = await prompt({ title: "Name this conversation", value: session.title ?? "", yes: "Save" });
  if (title === null) return;
  try {
    await rename(session.key, title);
  } catch (error) {
    complain(error);
  }
};

export const askDelete = async (session, isCurrent) => {
  const isSure = await confirm({
    title: "Delete this conversation?",
    text: `“${titleOf(session)}” and everything said in it is removed for good.`,
    yes: "Delete",
    danger: true,
  });
  if (!isSure) return;
  try {
    await remove(session.key);
    if (isCurrent) replace("chat", sessions.value[0]?.key ?? newKey());
    say("The conversation is gone.");
  } catch (error) {
    complain(error);
  }
};

const DAY = 86_400;
const groupOf = (at) => {
  const midnight = new Date().setHours(0, 0, 0, 0) / 1000;
  if (at >= midnight) return "Today";
  if (at >= midnight - DAY) return "Yesterday";
  if (at >= midnight - 7 * DAY) return "This week";
  if (at >= midnight - 30 * DAY) return "This month";
  return "Earlier";
};

const Row = ({ session, isCurrent }) => {
  const items = [
    { label: "Rename", icon: "edit", run: () => askRename(session) },
    { label: "Timeline", icon: "clock", run: () => go("sessions", session.key) },
    gateway.may("admin") && { label: "Delete", icon: "trash", danger: true, run: () => askDelete(session, isCurrent) },
  ].filter(Boolean);
  return html`
    <li class=${cls("session", isCurrent && "current")}>
      <a href=${link("chat", session.key)} aria-current=${isCurrent ? "true" : undefined} onClick=${() => (drawer.value = false)} onDblClick=${() => askRename(session)}>
        ${session.running && html`<i class="dot live" aria-label="running"></i>`}
        ${session.waitingFor && html`<i class="dot warn" aria-label=${`waiting for ${session.waitingFor}`}></i>`}
        <span class="session-title">${titleOf(session)}</span>
        <time>${ago(session.updatedAt)}</time>
      </a>
      <${Menu} label=${`More about ${titleOf(session)}`} items=${items} />
    </li>`;
};

export const Sidebar = ({ current }) => {
  const rows = useCell(sessions);
  const isReady = useCell(isListed);
  const error = useCell(listError);
  const [query, setQuery] = useState("");
  const [, tick] = useState(0);
  const canKill = useKill();
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 60_000);
    return () => clearInterval(timer);
  }, []);
  const wanted = query.trim().toLowerCase();
  const found = rows.filter((s) => !wanted || titleOf(s).toLowerCase().includes(wanted) || s.key.toLowerCase().includes(wanted));
  const groups = Map.groupBy ? Map.groupBy(found, (s) => groupOf(s.updatedAt)) : new Map([["", found]]);
  const start = () => {
    drawer.value = false;
    go("chat", newKey());
  };
  return html`
    <aside class="sidebar" aria-label="Conversations">
      <div class="sidebar-head">
        <button type="button" class="button new" onClick=${start}><${Icon} name="plus" size=${16} /> New conversation</button>
        <label class="filter"><${Icon} name="search" size=${15} /><input type="search" placeholder="Find" aria-label="Find a conversation" value=${query} onInput=${(e) => setQuery(e.target.value)} /></label>
      </div>
      <nav class="session-list" aria-label="Conversations">
        ${error && html`<p class="muted pad">${error.message} <button class="link" onClick=${reload}>Try again</button></p>`}
        ${[...groups].map(([name, list]) => html`<section key=${name}><h3>${name}</h3><ul>${list.map((s) => html`<${Row} key=${s.key} session=${s} isCurrent=${s.key === current} />`)}</ul></section>`)}
        ${isReady && !found.length && html`<p class="muted pad">${wanted ? "Nothing is called that." : "What you talk about appears here."}</p>`}
      </nav>
      <nav class="drawer-pages" aria-label="Pages">
        ${ownPages().slice(1).map((p) => html`<a key=${p.page} href=${link(p.page)} onClick=${() => (drawer.value = false)}><${Icon} name=${p.icon} size=${18} /><span>${p.label}</span></a>`)}
        ${canKill && html`<button type="button" class="kill" onClick=${() => ((drawer.value = false), askKill())}><${Icon} name="stop" size=${18} /><span>Stop everything</span></button>`}
      </nav>
    </aside>`;
};
