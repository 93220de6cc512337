// Who may come in: requests to compare and approve, devices and browsers to send away, links for other browsers.
import { moment, since } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useEffect, useLoad, useState } from "../lib.js";
import { Badge, CopyButton, Dialog, Empty, ErrorNote, Page, Spinner, complain, confirm, say } from "../parts/basics.js";
import { signOut } from "../signin.js";
import { Styles } from "./styles.js";

const SCOPES = [
  ["read", "Read conversations and settings that are not secret"],
  ["chat", "Speak to the assistant"],
  ["approve", "Approve what the assistant asks for, and other devices"],
  ["admin", "Everything, the configuration and keys included"],
];

const Scopes = ({ scopes }) => (scopes.includes("admin") ? html`<${Badge} kind="accent">admin<//>` : scopes.map((s) => html`<${Badge} key=${s}>${s}<//>`));

const Request = ({ request, onDone }) => {
  const [granted, setGranted] = useState(() => new Set(request.scopes));
  const [isBusy, setBusy] = useState(false);
  const toggle = (scope) => {
    const next = new Set(granted);
    if (!next.delete(scope)) next.add(scope);
    setGranted(next);
  };
  const act = async (method, params, words) => {
    setBusy(true);
    try {
      await gateway.act(method, { id: request.id, ...params });
      say(words);
      onDone();
    } catch (error) {
      complain(error);
    }
    setBusy(false);
  };
  return html`
    <section class="card request">
      <div class="request-head">
        <div><strong>${request.displayName || "A device"}</strong><small class="muted">${request.platform} · asked ${since(request.at)}</small></div>
        <div class="code-compare" aria-label="Code to compare"><small>Compare this code with the device</small><output>${request.code}</output></div>
      </div>
      <fieldset><legend>What it may do</legend>
        ${SCOPES.filter(([scope]) => request.scopes.includes(scope)).map(
          ([scope, about]) => html`<label key=${scope} class="check"><input type="checkbox" checked=${granted.has(scope)} disabled=${!gateway.may(scope)} onChange=${() => toggle(scope)} /><span><strong>${scope}</strong><small>${about}</small></span></label>`,
        )}
      </fieldset>
      <footer>
        <button type="button" class="button" disabled=${isBusy} onClick=${() => act("device.pair.reject", {}, "Turned away.")}>Turn away</button>
        <button type="button" class="button primary" disabled=${isBusy || !granted.size} onClick=${() => act("device.pair.approve", { scopes: [...granted] }, `${request.displayName || "The device"} is let in.`)}>The codes match: let it in</button>
      </footer>
    </section>`;
};

const LinkDialog = ({ onClose }) => {
  const made = useLoad(() => (gateway.offers("device.link") ? gateway.act("device.link", {}) : null), []);
  return html`
    <${Dialog} title="Sign in another browser" onClose=${onClose}>
      <div class="stack">
        ${made.value?.url
          ? html`<p class="muted">Open this in the other browser. It works once, for ten minutes. Whoever opens it can do all that you can.</p>
              <div class="copy-line"><code>${made.value.url}</code><${CopyButton} text=${made.value.url} label="Copy the link" /></div>`
          : html`<p class="muted">On the machine where Ostiary runs, this prints a link. Open it in the other browser; it works once, for ten minutes.</p>
              <div class="copy-line"><code>ostiary gateway link</code><${CopyButton} text="ostiary gateway link" label="Copy the command" /></div>`}
        <${ErrorNote} error=${made.error} />
      </div>
    <//>`;
};

export default function Devices() {
  const { value, error, loading, again } = useLoad(() => gateway.request("device.pair.list"), []);
  const [isLinking, setLinking] = useState(false);
  useEffect(() => {
    const timer = setInterval(again, 10_000);
    const off = gateway.on("presence", again);
    return () => (clearInterval(timer), off());
  }, []);
  const revoke = async (device) => {
    const isSure = await confirm({
      title: device.current ? "Sign this browser out?" : `Send ${device.displayName} away?`,
      text: device.current ? "You need a new link to come back." : "Its connections are closed within a second; to come back it has to be let in anew.",
      yes: device.current ? "Sign out" : "Send away",
      danger: true,
    });
    if (!isSure) return;
    try {
      if (device.current && device.kind === "browser") await signOut();
      else await gateway.act("device.revoke", { id: device.id });
      if (!device.current) again();
    } catch (problem) {
      complain(problem);
    }
  };
  const actions = gateway.may("admin") && html`<button type="button" class="button primary" onClick=${() => setLinking(true)}><${Icon} name="link" size=${16} /> Sign in another browser</button>`;
  return html`
    <${Styles} name="pages" />
    <${Page} title="Devices" about="Browsers and devices that may speak to this gateway." actions=${actions}>
      <${ErrorNote} error=${error} onRetry=${again} />
      ${loading && !value && html`<${Spinner} />`}
      ${value?.pending.map((request) => html`<${Request} key=${request.id} request=${request} onDone=${again} />`)}
      ${value && !value.devices.length && html`<${Empty} icon="devices" title="No devices">Sign in another browser, or pair a device.<//>`}
      ${value?.devices.length > 0 &&
      html`<section class="card"><h2>Let in</h2><ul class="profiles">
        ${value.devices.map(
          (d) => html`<li key=${d.id} class=${cls(d.current && "current")}>
            <span class="profile-icon"><${Icon} name=${d.kind === "browser" ? "external" : "devices"} size=${16} /></span>
            <div><strong>${d.displayName || d.id}</strong>${d.current && html` <${Badge} kind="accent">this browser<//>`}
              <small class="muted" title=${moment(d.createdAt)}>${d.kind}${d.platform ? ` · ${d.platform}` : ""} · seen ${since(d.lastSeen) || "never"}</small></div>
            <div class="scopes"><${Scopes} scopes=${d.scopes} /></div>
            <button type="button" class="button small" onClick=${() => revoke(d)}>${d.current ? "Sign out" : "Send away"}</button>
          </li>`,
        )}
      </ul></section>`}
      ${isLinking && html`<${LinkDialog} onClose=${() => setLinking(false)} />`}
    <//>`;
}
