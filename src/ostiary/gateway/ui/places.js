// The pages there are, and what lies over them. Every page but the chat is loaded when it is first opened.
import { gateway } from "./gateway.js";
import { Cell } from "./lib.js";

export const PAGES = [
  { page: "chat", label: "Chat", icon: "chat" },
  { page: "sessions", label: "Sessions", icon: "sessions", load: () => import("./pages/sessions.js") },
  { page: "usage", label: "Usage", icon: "usage", load: () => import("./pages/usage.js") },
  { page: "models", label: "Models", icon: "models", load: () => import("./pages/models.js") },
  { page: "config", label: "Configuration", icon: "config", needs: "admin", load: () => import("./pages/config.js") },
  { page: "devices", label: "Devices", icon: "devices", needs: "approve", load: () => import("./pages/devices.js") },
  { page: "logs", label: "Logs", icon: "logs", needs: "admin", load: () => import("./pages/logs.js") },
  { page: "health", label: "Health", icon: "health", load: () => import("./pages/health.js") },
];

/** Those that this browser may use. */
export const ownPages = () => PAGES.filter((p) => !p.needs || gateway.may(p.needs));

/** Whether the drawer is open (phone), and which overlay: "", "help" or "switcher". */
export const drawer = new Cell(false);
export const overlay = new Cell("");
