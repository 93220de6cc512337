// Line icons on a 24 by 24 grid, drawn for this page.
import { html } from "./lib.js";

const PATHS = {
  none: "",
  chat: "M5 5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-7l-5 4v-4H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2z",
  sessions: "M4 6h16M4 12h16M4 18h10",
  models: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  config: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  devices: "M4 5h11a1 1 0 0 1 1 1v3M3 17h9M5 5a1 1 0 0 0-1 1v8h8M15 9h5a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-5a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1zM17 17h1",
  logs: "M5 4h14a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1zM8 9l3 3-3 3M13 15h3",
  usage: "M4 20h16M7 16v-5M12 16V6M17 16v-8",
  health: "M3 12h4l2.5-6 5 12L17 12h4",
  plus: "M12 5v14M5 12h14",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16 16l4.5 4.5",
  send: "M12 20V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  attach: "M19 11.5l-7.6 7.6a4.6 4.6 0 0 1-6.5-6.5l8-8a3.1 3.1 0 0 1 4.4 4.4l-7.9 7.9a1.5 1.5 0 0 1-2.2-2.2l7.2-7.2",
  close: "M6 6l12 12M18 6L6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  copy: "M9 9h10a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1zM16 9V4a1 1 0 0 0-1-1H5a1 1 0 0 0-1 1v10a1 1 0 0 0 1 1h3",
  check: "M5 13l4.5 4.5L19 7",
  edit: "M4 20l1-4L16.5 4.5a2.1 2.1 0 0 1 3 3L8 19zM14.5 6.5l3 3",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
  retry: "M20 12a8 8 0 1 1-2.5-5.8M20 3v4.5h-4.5",
  down: "M12 5v14M6 13l6 6 6-6",
  chevron: "M9 6l6 6-6 6",
  caret: "M7 10l5 5 5-5",
  tool: "M14.5 6.5a4.5 4.5 0 0 0-6 5.6L3.5 17a2.1 2.1 0 0 0 3 3l5-5a4.5 4.5 0 0 0 5.6-6L14 12l-2.5-2.5z",
  thought: "M9 18h6M10 21h4M12 3a6 6 0 0 0-3.6 10.8c.6.5.9 1.2.9 2V16h5.4v-.2c0-.8.3-1.5.9-2A6 6 0 0 0 12 3z",
  alert: "M12 4l9 16H3zM12 10v4M12 17h.01",
  info: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zM12 11v5M12 8h.01",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M6 11h12a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1z",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19",
  moon: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.500 10.500z",
  auto: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zM12 3v18M12 7l4.500 2M12 12l7 2M12 17l4.500 1",
  branch: "M7 4v10M7 20a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM17 4a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM17 10c0 4-4 4-7 6",
  file: "M7 3h7l5 5v12a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM14 3v5h5",
  link: "M10 14a4 4 0 0 0 5.700 0l3-3a4 4 0 0 0-5.700-5.700l-1 1M14 10a4 4 0 0 0-5.700 0l-3 3a4 4 0 0 0 5.700 5.700l1-1",
  external: "M14 4h6v6M20 4l-9 9M18 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h5",
  key: "M8 10a5 5 0 1 1 0 8 5 5 0 0 1 0-8zM11.500 11.500L20 3M16 7l3 3M8 14h.01",
  help: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zM9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.7.3-1 .8-1 1.700M12 17h.01",
  clock: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zM12 7v5l3.500 2",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l12 7-12 7z",
  out: "M14 4h5a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1h-5M4 12h11M8 8l-4 4 4 4",
};

export const Icon = ({ name, size = 18 }) => html`
  <svg class="icon" width=${size} height=${size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d=${PATHS[name] ?? PATHS.info} />
  </svg>`;
