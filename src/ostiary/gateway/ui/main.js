// Where the page begins: spend the one-time code if the address brought one, connect, and show what the address names.
import { begin as beginApprovals } from "./approvals.js";
import { gateway } from "./gateway.js";
import { begin as beginHouse } from "./house.js";
import { base, html, render } from "./lib.js";
import { begin as beginSessions } from "./sessions.js";
import { Shell } from "./shell.js";
import { signInWithCode } from "./signin.js";

/** The code is taken out of the address before anything else, so that it is neither kept in the history nor shown. */
const takeCode = () => {
  const found = /^#k=([A-Za-z0-9_.~-]{8,512})$/.exec(location.hash);
  if (location.hash.startsWith("#k=")) history.replaceState(null, "", location.pathname + location.search);
  return found?.[1] ?? "";
};

/** The only script address that this page may ever build; see the Content-Security-Policy. */
const workerAddress = () => {
  const address = `${base}sw.js`;
  return globalThis.trustedTypes?.createPolicy("ostiary", { createScriptURL: () => address }).createScriptURL("") ?? address;
};

const enterCode = async (code) => {
  const problem = await signInWithCode(code);
  if (problem) gateway.signInProblem = problem;
};

const begin = async () => {
  const code = takeCode();
  if (code) await enterCode(code);
  beginSessions();
  beginApprovals();
  beginHouse();
  render(html`<${Shell} />`, document.getElementById("app"));
  gateway.open();
  addEventListener("hashchange", async () => {
    const again = takeCode();
    if (!again) return;
    await enterCode(again);
    gateway.open();
  });
  if ("serviceWorker" in navigator && isSecureContext) navigator.serviceWorker.register(workerAddress()).catch(() => {});
};

begin();
