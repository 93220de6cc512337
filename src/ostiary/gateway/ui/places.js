// The pages there are, and what lies over them. Every page but the chat is loaded when it is first opened.
import { gateway } from "./gateway.js";
import { Cell } from "./lib.js";

export const PAGES = [
  { page: "chat", label: "Chat", icon: "chat" },
  { page: "approvals", label: "Approvals", icon: "hand", uses: "approvals.list", load: () => import("./pages/approvals.js") },
  { page: "sessions", label: "Sessions", icon: "sessions", load: () => import("./pages/sessions.js") },
  { page: "vault", label: "Vault", icon: "vault", uses: "vault.list", load: () => import("./pages/vault.js") },
  { page: "memory", label: "Memory", icon: "thought", uses: "memory.list", load: () => import("./pages/memory.js") },
  { page: "rules", begins: true, label: "Rules", icon: "scales", uses: "tools.list", load: () => import("./pages/rules.js") },
  { page: "control", label: "Control", icon: "power", uses: "control.status", load: () => import("./pages/control.js") },
  { page: "audit", label: "Audit", icon: "seal", uses: "audit.list", load: () => import("./pages/audit.js") },
  { page: "usage", begins: true, label: "Usage", icon: "usage", load: () => import("./pages/usage.js") },
  { page: "models", label: "Models", icon: "models", load: () => import("./pages/models.js") },
  { page: "config", label: "Configuration", icon: "config", needs: "admin", load: () => import("./pages/config.js") },
  { page: "devices", label: "Devices", icon: "devices", needs: "approve", load: () => import("./pages/devices.js") },
  { page: "logs", label: "Logs", icon: "logs", needs: "admin", load: () => import("./pages/logs.js") },
  { page: "health", label: "Health", icon: "health", load: () => import("./pages/health.js") },
];

/** Those that this browser may use and this gateway offers. */
export const ownPages = () => PAGES.filter((p) => (!p.needs || gateway.may(p.needs)) && (!p.uses || gateway.offers(p.uses)));

/** Whether the drawer is open (phone), and which overlay: "", "help" or "switcher". */
export const drawer = new Cell(false);
export const overlay = new Cell("");
