// What one call was given and what came of it, in the form that suits the tool.
import { seconds } from "../format.js";
import { html } from "../lib.js";
import { Badge, CopyButton } from "../parts/basics.js";
import { Shown } from "../questions/shown.js";
import { blobAddress } from "../uploads.js";
import { Diff } from "./diff.js";

const parse = (text) => {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
};

export const pretty = (value) => {
  if (value === undefined || value === null || value === "") return "";
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    const parsed = JSON.parse(value);
    return typeof parsed === "object" ? JSON.stringify(parsed, null, 2) : value;
  } catch {
    return value;
  }
};

const Block = ({ label, text, children }) => text && html`<div class="labelled"><span>${label}</span>${children}<${CopyButton} text=${text} /></div><pre tabindex="0"><${Shown} text=${text} /></pre>`;

const Address = ({ url }) => (/^https?:\/\//.test(url ?? "") ? html`<a href=${url} target="_blank" rel="noopener noreferrer nofollow"><${Shown} text=${url} /></a>` : html`<code><${Shown} text=${url ?? ""} /></code>`);

const ended = ({ code, signal, timed_out: isLate }) => {
  if (isLate) return ["bad", "its time was over"];
  if (signal) return ["bad", `ended by signal ${signal}`];
  if (code === undefined || code === null) return ["", "running"];
  return [code ? "bad" : "good", `exit ${code}`];
};

/** The last lines of a command's result say what badges and diffs say. */
export const withoutEnding = (text) => (text ?? "").replace(/\n\[(exit -?\d+|ended [^\]]*)[^\]]*\]/, "").replace(/\n\[files [^\n]*\]$/, "");

const Exec = ({ call, given, details }) => {
  const [kind, words] = ended(details);
  return html`
    <${Block} label="Command" text=${given.command ?? pretty(call.arguments)} />
    ${call.state === "done" && html`<p class="facts-line"><${Badge} kind=${kind}>${words}<//>${details.seconds !== undefined && html`<small>${seconds(details.seconds)}</small>`}${given.cwd && html`<small>in <code>${given.cwd}</code></small>`}</p>`}
    <${Block} label="Output" text=${withoutEnding(call.result)} />`;
};

const Page = ({ call, given, details }) => html`
  <p class="facts-line"><${Address} url=${details.final_url ?? details.url ?? given.url} />${details.status && html`<${Badge} kind=${details.status < 400 ? "good" : "bad"}>${details.status}<//>`}${details.cached && html`<small>kept from before</small>`}</p>
  ${details.final_url && given.url && details.final_url !== given.url && html`<p class="muted small">asked for <code><${Shown} text=${given.url} /></code></p>`}
  <${Block} label=${call.isError ? "Error" : "What it read"} text=${call.result} />`;

const Screen = ({ call, given, details }) => html`
  <p class="facts-line"><${Badge}>${given.action ?? "open"}<//><${Address} url=${details.url ?? given.url} /></p>
  ${given.text && html`<${Block} label="Typed" text=${given.text} />`}
  ${/^[0-9a-f]{64}$/.test(details.screenshot ?? "")
    ? html`<a class="screenshot" href=${blobAddress({ digest: details.screenshot, name: "screenshot.png" })} target="_blank" rel="noopener"><img src=${blobAddress({ digest: details.screenshot, name: "screenshot.png" })} alt=${`The page ${details.title ?? ""}`} loading="lazy" /></a>`
    : html`<${Block} label=${call.isError ? "Error" : "What it saw"} text=${call.result} />`}`;

const Plain = ({ call }) => html`<${Block} label="Arguments" text=${pretty(call.arguments)} /><${Block} label=${call.isError ? "Error" : "Result"} text=${pretty(call.result)} />`;

const VIEWS = { exec: Exec, web_fetch: Page, browser: Screen };
const WRITES = new Set(["write", "edit", "apply_patch"]);

export const CallBody = ({ call }) => {
  const given = parse(call.arguments);
  const details = call.details ?? {};
  const diffs = details.diff ? [{ path: details.path ?? given.path, diff: details.diff }] : (details.changes ?? []);
  const isShown = WRITES.has(call.name) && diffs.length > 0 && !call.isError;
  const View = VIEWS[call.name] ?? Plain;
  return html`
    <div class="call-body">
      ${call.layer && html`<p class="muted small">Allowed by <code>${call.layer}</code>${call.reason ? `: ${call.reason}` : ""}</p>`}
      ${isShown ? html`<p class="muted small">${call.result}</p>` : html`<${View} call=${call} given=${given} details=${details} />`}
      ${diffs.map((each) => html`<${Diff} key=${each.path} path=${each.path} change=${each.change} diff=${each.diff} />`)}
      ${(details.refused ?? []).map((words) => html`<p key=${words} class="small bad">${words}</p>`)}
      ${!call.result && !["running", "done"].includes(call.state) && html`<p class="muted small">No result was kept.</p>`}
    </div>`;
};
