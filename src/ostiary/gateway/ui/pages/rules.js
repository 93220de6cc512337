// What the rules say: of one call, layer by layer, and of every tool.
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useLoad, useState } from "../lib.js";
import { Badge, ErrorNote, Page, Spinner } from "../parts/basics.js";
import { Styles } from "./styles.js";

const OUTCOMES = {
  allow: ["good", "check", "It runs", "allows"],
  ask: ["warn", "hand", "A person is asked", "asks"],
  deny: ["bad", "lock", "It is refused", "refuses"],
  pass: ["", "none", "Nothing against it", ""],
};
const LAYERS = {
  profile: "the tools this posture has at all",
  "provider profile": "the tools of this provider’s models",
  provider: "what this provider’s models get",
  tools: "allowed and denied everywhere",
  agent: "this agent’s own lists",
  "agent provider": "this agent with this provider",
  group: "what holds in this group",
  sender: "what holds for this person",
  role: "what this role may do",
  sandbox: "what the sandbox takes",
  depth: "what a sub-agent may do",
  switch: "switched on by the owner",
  guard: "secret paths and commands",
  confirm: "what cannot be taken back",
  taint: "outside text and private things together",
};
const STANDING = { visible: ["good", "runs"], asked: ["warn", "asks"], hidden: ["bad", "hidden"] };
const EMPTY = { who: "owner", channel: "", tool: "", arguments: "", tainted: false, private: false };

const Verdict = ({ told }) => {
  const [kind, icon, words] = OUTCOMES[told.outcome] ?? OUTCOMES.deny;
  return html`
    <section class="card explained" aria-label="What the rules say">
      <header class=${cls("outcome", kind)}><span class="verdict-icon"><${Icon} name=${icon} size=${20} /></span>
        <div><h2>${words}</h2>${told.reason && html`<p><strong>${told.layer}</strong>: ${told.reason}</p>`}<p class="muted small"><code>${told.tool}</code> by ${told.who} (${told.role}) on ${told.channel}${told.visible ? "" : "; the model is not shown this tool"}</p>
          ${[told.change, ...(told.notes || [])].filter(Boolean).map((line) => html`<p class="small">${line}</p>`)}</div></header>
      <ol class="chain">
        ${told.steps.map((step, i) => {
          const [of, sign, , said] = OUTCOMES[step.outcome] ?? OUTCOMES.pass;
          return html`<li key=${i} class=${cls(of, step.decides && "decides")} aria-current=${step.decides ? "step" : undefined}>
            <span class="chain-mark"><${Icon} name=${step.outcome === "pass" ? "none" : sign} size=${13} /></span>
            <div><strong>${step.layer}</strong> <small class="muted">${LAYERS[step.layer] ?? ""}</small>
              ${step.reason && html`<p>${step.reason}</p>`}</div>
            ${step.decides ? html`<${Badge} kind=${of}>decides: ${step.outcome}<//>` : html`<small class="muted">${said || html`<span class="hidden">has nothing against it</span>`}</small>`}
          </li>`;
        })}
      </ol>
    </section>`;
};

const read = (text) => {
  if (!text.trim()) return {};
  const made = JSON.parse(text);
  if (!made || typeof made !== "object" || Array.isArray(made)) throw new Error("not an object");
  return made;
};

const Form = ({ names, asked, setAsked, onAsk, isBusy }) => {
  const [problem, setProblem] = useState("");
  const set = (name) => (event) => setAsked({ ...asked, [name]: event.target.type === "checkbox" ? event.target.checked : event.target.value });
  const submit = (event) => {
    event.preventDefault();
    try {
      const given = read(asked.arguments);
      setProblem("");
      onAsk({ who: asked.who.trim() || "owner", channel: asked.channel.trim(), tool: asked.tool.trim(), arguments: given, tainted: asked.tainted, private: asked.private });
    } catch {
      setProblem("The arguments are not a JSON object, such as {\"command\": \"ls\"}.");
    }
  };
  return html`
    <form class="card ask-rules" onSubmit=${submit}>
      <label>Who<input class="field" list="who" value=${asked.who} onInput=${set("who")} placeholder="owner, or telegram:4711" /></label>
      <datalist id="who">${["owner", "employee", "family", "contact", "stranger"].map((role) => html`<option key=${role} value=${role} />`)}</datalist>
      <label>Channel<input class="field" list="channels" value=${asked.channel} onInput=${set("channel")} placeholder="this page" /></label>
      <datalist id="channels">${["webchat", "telegram", "discord", "slack", "whatsapp", "email", "cron"].map((name) => html`<option key=${name} value=${name} />`)}</datalist>
      <label>Tool<input class="field" list="tools" required value=${asked.tool} onInput=${set("tool")} placeholder="exec" /></label>
      <datalist id="tools">${names.map((name) => html`<option key=${name} value=${name} />`)}</datalist>
      <label class="wide">Arguments<textarea class="field" rows="2" spellcheck="false" value=${asked.arguments} onInput=${set("arguments")} placeholder='{"command": "git status"}' aria-invalid=${Boolean(problem)}></textarea></label>
      <label class="check"><input type="checkbox" checked=${asked.tainted} onChange=${set("tainted")} /><span>The conversation holds text from outside</span></label>
      <label class="check"><input type="checkbox" checked=${asked.private} onChange=${set("private")} /><span>… and private things</span></label>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      <button type="submit" class="button primary" disabled=${isBusy}>Explain</button>
    </form>`;
};

const Tools = ({ rows, onPick }) => html`
  <section class="card"><h2>Every tool, for you at this page</h2>
    <div class="table-scroll"><table class="grid-table tool-table">
      <thead><tr><th>Tool</th><th>What it does</th><th>Effects</th><th>Stands</th><th>Why</th></tr></thead>
      <tbody>${rows.map((tool) => {
        const [kind, word] = STANDING[tool.standing] ?? STANDING.hidden;
        return html`<tr key=${tool.name}><td><button type="button" class="link" onClick=${() => onPick(tool.name)}><code>${tool.name}</code></button></td>
          <td class="wide">${tool.description}</td><td><div class="scopes">${tool.effects.map((effect) => html`<${Badge} key=${effect} kind=${["execute", "send", "spend"].includes(effect) ? "warn" : ""}>${effect}<//>`)}${tool.undoable && html`<${Badge} kind="good">can be undone<//>`}</div></td>
          <td><${Badge} kind=${kind}>${word}<//></td><td class="muted why-cell">${[tool.layer, tool.reason].filter(Boolean).join(": ")}</td></tr>`;
      })}</tbody>
    </table></div>
  </section>`;

export default function Rules() {
  const tools = useLoad(() => gateway.request("tools.list"), []);
  const [asked, setAsked] = useState(EMPTY);
  const [told, setTold] = useState(null);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const ask = async (params) => {
    setBusy(true);
    try {
      setTold(await gateway.request("policy.explain", params));
      setError(null);
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const pick = (tool) => {
    setAsked({ ...asked, tool });
    if (gateway.offers("policy.explain")) ask({ who: asked.who.trim() || "owner", channel: asked.channel.trim(), tool, tainted: asked.tainted, private: asked.private });
    document.querySelector("main")?.scrollTo({ top: 0 });
  };
  return html`
    <${Styles} name="pages" /><${Styles} name="house" />
    <${Page} title="Rules" about="Every call of a tool goes through these layers, in this order. Each can only narrow what those before it allow.">
      ${gateway.offers("policy.explain") && html`<${Form} names=${(tools.value?.tools ?? []).map((tool) => tool.name)} asked=${asked} setAsked=${setAsked} onAsk=${ask} isBusy=${isBusy} />`}
      <${ErrorNote} error=${error} />
      ${told && html`<${Verdict} told=${told} />`}
      <${ErrorNote} error=${tools.error} onRetry=${tools.again} />
      ${tools.loading && !tools.value && html`<${Spinner} />`}
      ${tools.value && html`<${Tools} rows=${tools.value.tools} onPick=${pick} />`}
    <//>`;
}
