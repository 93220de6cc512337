// The frame around every page: the rail, the banner when the connection is lost, keyboard shortcuts, lazily loaded pages.
import { pending } from "./approvals.js";
import { gateway } from "./gateway.js";
import { Icon } from "./icons.js";
import { Cell, cls, html, kept, useCell, useEffect, useEvent, useRef, useState } from "./lib.js";
import { Notes, Question, Spinner } from "./parts/basics.js";
import { Chip } from "./parts/chip.js";
import { Help } from "./parts/help.js";
import { Stopped, askKill, useKill } from "./parts/kill.js";
import { Switcher } from "./parts/switcher.js";
import { drawer, overlay, ownPages, PAGES } from "./places.js";
import { Crier } from "./questions/in_turn.js";
import { link, route } from "./router.js";
import { SignIn } from "./signin.js";
import { Chat } from "./chat/chat.js";

const THEMES = { "": ["auto", "Theme: as the system"], light: ["sun", "Theme: light"], dark: ["moon", "Theme: dark"] };
const ThemeButton = () => {
  const [theme, setTheme] = useState(kept.get("theme"));
  const next = { "": "light", light: "dark", dark: "" }[theme] ?? "";
  const change = () => {
    kept.set("theme", next);
    if (next) document.documentElement.dataset.theme = next;
    else delete document.documentElement.dataset.theme;
    setTheme(next);
  };
  const [icon, label] = THEMES[theme] ?? THEMES[""];
  return html`<button type="button" class="rail-item" title=${label} aria-label=${label} onClick=${change}><${Icon} name=${icon} size=${20} /><span>${label}</span></button>`;
};

const problems = new Cell(0);
gateway.on("health", (health) => {
  problems.value = health.problems?.length ?? 0;
});
gateway.on("open", (hello) => {
  problems.value = hello.snapshot?.health?.problems?.length ?? 0;
});

export const Rail = () => {
  const { page } = useCell(route);
  const count = useCell(problems);
  const asked = useCell(pending).length;
  const canKill = useKill();
  return html`
    <nav class="rail" aria-label="Pages">
      <a class="rail-logo" href=${link("chat")} aria-label="Ostiary"><img src="icon.svg" alt="" width="30" height="30" /></a>
      <${Chip} className="in-rail" />
      ${ownPages().map(
        (p) => html`
          <a key=${p.page} class=${cls("rail-item", p.begins && "begins")} href=${link(p.page)} title=${p.label} aria-current=${p.page === page ? "page" : undefined} onClick=${() => (drawer.value = false)}>
            <${Icon} name=${p.icon} size=${20} /><span>${p.label}</span>
            ${p.page === "approvals" && asked > 0 && html`<b class="count" aria-label=${`${asked} wait`}>${asked}</b>`}
            ${p.page === "health" && count > 0 && html`<b class="dot warn" aria-label=${`${count} problems`}></b>`}
          </a>`,
      )}
      <div class="rail-space"></div>
      ${canKill && html`<button type="button" class="rail-item kill" title="Stop everything" aria-label="Stop everything" onClick=${() => ((drawer.value = false), askKill())}><${Icon} name="stop" size=${20} /><span>Stop everything</span></button>`}
      <button type="button" class="rail-item" title="Keyboard shortcuts (?)" aria-label="Keyboard shortcuts" onClick=${() => (overlay.value = "help")}><${Icon} name="help" size=${20} /><span>Shortcuts</span></button>
      <${ThemeButton} />
    </nav>`;
};

const Banner = () => {
  const state = useCell(gateway.state);
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (state !== "offline" && state !== "connecting") return undefined;
    const timer = setTimeout(() => setLate(true), 600);
    return () => clearTimeout(timer);
  }, [state]);
  if (state === "mismatch") {
    return html`<div class="banner bad" role="alert">This page and the gateway speak different versions. <button class="link" onClick=${() => location.reload()}>Reload the page</button></div>`;
  }
  if (!isLate) return null;
  return html`<div class="banner" role="alert">
    <i class="pulse"></i>
    <span>${navigator.onLine === false ? "You are offline." : "Reconnecting to the gateway…"} <span class="wide-only">What you write is kept and sent when it is back.</span></span>
    <button class="link" onClick=${() => gateway.retryNow()}>Try now</button>
  </div>`;
};

const Lazy = ({ page, parts }) => {
  const [made, setMade] = useState(null);
  const [isGone, setGone] = useState(false);
  const isOpen = useCell(gateway.state) === "open";
  const wasAway = useRef(false);
  useEffect(() => {
    let isCurrent = true;
    setGone(false);
    page.load().then(
      (module) => isCurrent && setMade({ page: page.page, View: module.default }),
      () => isCurrent && setGone(true),
    );
    return () => {
      isCurrent = false;
    };
  }, [page.page]);
  // A browser does not fetch again what it once failed to fetch; the page as a whole does, when the gateway is back.
  useEffect(() => {
    if (isGone && isOpen && wasAway.current) location.reload();
    wasAway.current = isGone && !isOpen;
  }, [isGone, isOpen]);
  if (isGone) {
    return html`<main class="page" id="main" tabindex="-1"><div class="empty"><h2>This page could not be loaded</h2><p class="muted">${isOpen ? "Ostiary may have been updated." : "It comes by itself when the gateway is back."}</p>
      <button class="button primary" onClick=${() => location.reload()}>Reload</button></div></main>`;
  }
  if (!made || made.page !== page.page) return html`<main class="page"><${Spinner} /></main>`;
  return html`<${made.View} parts=${parts} />`;
};

const TopBar = ({ label }) => html`
  <header class="topbar">
    <button type="button" class="icon-button" aria-label="Open menu" onClick=${() => (drawer.value = true)}><${Icon} name="menu" size=${20} /></button>
    <strong>${label}</strong>
    <${Chip} />
  </header>`;

const isTyping = (target) => target.closest?.("input, textarea, select, [contenteditable]");

export const Shell = () => {
  const state = useCell(gateway.state);
  const { page, parts } = useCell(route);
  const isDrawn = useCell(drawer);
  const over = useCell(overlay);
  const [wasOpen, setWasOpen] = useState(false);
  useEffect(() => {
    if (state === "open") setWasOpen(true);
    if (state === "signedOut") setWasOpen(false);
  }, [state]);
  useEvent(document, "keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      overlay.value = overlay.value === "switcher" ? "" : "switcher";
    } else if (event.key === "?" && !isTyping(event.target) && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      overlay.value = "help";
    } else if (event.key === "Escape" && drawer.value) {
      drawer.value = false;
    }
  });
  const current = PAGES.find((p) => p.page === page) ?? PAGES[0];
  useEffect(() => {
    if (current.page !== "chat") document.title = `${current.label} · Ostiary`;
  }, [current.page]);
  if (state === "signedOut") return html`<${SignIn} /><${Notes} />`;
  if (!wasOpen && state !== "open" && state !== "offline" && state !== "mismatch") {
    return html`<div class="boot" role="status"><img src="icon.svg" width="44" height="44" alt="" /><span>Opening Ostiary…</span></div>`;
  }
  return html`
    <a class="skip" href="#main" onClick=${(e) => (e.preventDefault(), document.querySelector("main textarea, main")?.focus())}>Skip to content</a>
    <div class=${cls("shell", isDrawn && "drawn", current.page === "chat" && "at-chat")}>
      <${Rail} />
      ${isDrawn && html`<div class="scrim" onClick=${() => (drawer.value = false)}></div>`}
      <div class="stage">
        <${Banner} />
        ${current.load && html`<${TopBar} label=${current.label} />`}
        ${current.load ? html`<${Lazy} page=${current} parts=${parts} />` : html`<${Chat} parts=${parts} />`}
      </div>
    </div>
    ${over === "help" && html`<${Help} onClose=${() => (overlay.value = "")} />`}
    ${over === "switcher" && html`<${Switcher} onClose=${() => (overlay.value = "")} />`}
    <${Question} />
    <${Stopped} />
    <${Crier} />
    <${Notes} />`;
};
