// Models with their facts, and the keys they are asked with. A key is typed, sent, and never seen again.
import { moment, short } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { cls, html, useCell, useLoad, useState } from "../lib.js";
import { Badge, Dialog, Empty, ErrorNote, Page, Spinner, complain, confirm, say } from "../parts/basics.js";
import { models, reloadModels } from "../chat/models.js";
import { Styles } from "./styles.js";

const STANDINGS = { ready: "good", resting: "warn", expired: "bad", refused: "bad" };

const AddKey = ({ providers, onClose, onDone }) => {
  const [provider, setProvider] = useState("");
  const [kind, setKind] = useState("api_key");
  const [secret, setSecret] = useState("");
  const [id, setId] = useState("");
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const save = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await gateway.act("models.auth.set", { provider: provider.trim(), kind, secret: secret.trim(), ...(id.trim() && { id: id.trim() }) });
      setSecret("");
      onDone();
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  return html`
    <${Dialog} title="Add a key" onClose=${onClose}>
      <form onSubmit=${save} autocomplete="off">
        <p class="muted small">It is stored encrypted on the gateway’s machine and never shown again, not even here.</p>
        <div><label for="provider">Provider</label><input id="provider" class="field" list="providers" required autofocus placeholder="anthropic, openai, google, …" value=${provider} onInput=${(e) => setProvider(e.target.value)} />
          <datalist id="providers">${providers.map((p) => html`<option key=${p} value=${p} />`)}</datalist></div>
        <div><label for="secret">Key</label><input id="secret" class="field" type="password" required autocomplete="new-password" spellcheck="false" value=${secret} onInput=${(e) => setSecret(e.target.value)} /></div>
        <details><summary class="muted small">More</summary>
          <div class="stack">
            <div><label for="kind">Kind</label><select id="kind" class="select" value=${kind} onChange=${(e) => setKind(e.target.value)}><option value="api_key">API key</option><option value="token">Token</option></select></div>
            <div><label for="profile">Name of the profile</label><input id="profile" class="field" placeholder=${`${provider || "provider"}:default`} value=${id} onInput=${(e) => setId(e.target.value)} /></div>
          </div></details>
        <${ErrorNote} error=${error} />
        <footer><button type="button" class="button" onClick=${onClose}>Cancel</button><button class="button primary" disabled=${isBusy || !provider.trim() || !secret.trim()}>Save the key</button></footer>
      </form>
    <//>`;
};

const Profiles = ({ list, onAgain, onAdd }) => {
  const drop = async (profile) => {
    const isSure = await confirm({ title: "Remove this key?", text: `${profile.id} (${profile.masked}) is deleted from the gateway. The provider is not told.`, yes: "Remove", danger: true });
    if (!isSure) return;
    try {
      await gateway.act("models.auth.delete", { id: profile.id });
      say("The key is removed.");
      onAgain();
    } catch (error) {
      complain(error);
    }
  };
  return html`
    <section class="card">
      <h2>Keys <span class="space"></span><button type="button" class="button small" onClick=${onAdd}><${Icon} name="key" size=${15} /> Add a key</button></h2>
      ${!list.length && html`<${Empty} icon="key" title="No keys yet">The embedded model needs none. To use a provider’s models, add a key for it.<//>`}
      <ul class="profiles">
        ${list.map(
          (p) => html`<li key=${p.id}>
            <span class="profile-icon"><${Icon} name="key" size=${16} /></span>
            <div><strong>${p.id}</strong><small class="muted"><code>${p.masked}</code> · ${p.kind.replace("_", " ")}${p.expires ? ` · until ${moment(p.expires)}` : ""}</small></div>
            <${Badge} kind=${STANDINGS[p.standing] ?? ""}>${p.standing}<//>
            <button type="button" class="icon-button small" aria-label=${`Remove ${p.id}`} title="Remove" onClick=${() => drop(p)}><${Icon} name="trash" size=${15} /></button>
          </li>`,
        )}
      </ul>
    </section>`;
};

export default function Models() {
  const all = useCell(models);
  const [query, setQuery] = useState("");
  const [isAdding, setAdding] = useState(false);
  const isAdmin = gateway.may("admin");
  const keys = useLoad(() => (isAdmin ? gateway.request("models.auth.list") : { profiles: [] }), [isAdmin]);
  const shown = all.filter((m) => !query || `${m.name} ${m.ref} ${m.alias}`.toLowerCase().includes(query.toLowerCase())).sort((a, b) => Number(b.usable) - Number(a.usable));
  const choose = async (model) => {
    try {
      await gateway.act("models.set", { ref: model.ref });
      say(`${model.name || model.ref} now answers where nothing else was chosen.`);
      await reloadModels();
    } catch (error) {
      complain(error);
    }
  };
  const added = async () => {
    setAdding(false);
    say("The key is saved.");
    keys.again();
    await reloadModels();
  };
  return html`
    <${Styles} name="pages" />
    <${Page} title="Models" about="Who answers, and the keys they are asked with."
      actions=${html`<label class="filter"><${Icon} name="search" size=${15} /><input type="search" placeholder="Find" aria-label="Find a model" value=${query} onInput=${(e) => setQuery(e.target.value)} /></label>`}>
      ${isAdmin && html`<${ErrorNote} error=${keys.error} onRetry=${keys.again} />`}
      ${isAdmin && (keys.value ? html`<${Profiles} list=${keys.value.profiles} onAgain=${keys.again} onAdd=${() => setAdding(true)} />` : keys.loading && html`<${Spinner} />`)}
      <section class="card"><h2>Models</h2>
        <ul class="model-list">
          ${shown.map(
            (m) => html`<li key=${m.ref} class=${cls(!m.usable && "dim")}>
              <div class="model-name"><strong>${m.name || m.ref}</strong><small class="muted"><code>${m.ref}</code>${m.alias ? ` · ${m.alias}` : ""}</small></div>
              <div class="model-facts">
                ${m.contextWindow > 0 && html`<${Badge}>${short(m.contextWindow)} window<//>`}
                ${m.reasons && html`<${Badge}><${Icon} name="thought" size=${12} /> thinks<//>`}
                ${m.seesImages && html`<${Badge}>sees pictures<//>`}
                ${!m.usable && html`<${Badge} kind="warn">needs a key<//>`}
              </div>
              ${m.current ? html`<${Badge} kind="accent"><${Icon} name="check" size=${12} /> default<//>` : isAdmin && html`<button type="button" class="button small" disabled=${!m.usable} onClick=${() => choose(m)}>Make default</button>`}
            </li>`,
          )}
          ${!shown.length && html`<li class="muted">${query ? "No model is called that." : "No models are known yet."}</li>`}
        </ul>
      </section>
      ${isAdding && html`<${AddKey} providers=${[...new Set(all.map((m) => m.ref.split("/")[0]))].filter((p) => p !== "embedded")} onClose=${() => setAdding(false)} onDone=${added} />`}
    <//>`;
}
