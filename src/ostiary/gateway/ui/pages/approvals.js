// Everything that waits for a yes, in every conversation, and the yeses that still hold.
import { answered, inGroups, pending, reload, secondsUntil } from "../approvals.js";
import { duration, moment, since, titleOf, who } from "../format.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { html, useCell, useEffect, useLoad } from "../lib.js";
import { Empty, ErrorNote, Page, Spinner, complain, confirm, say } from "../parts/basics.js";
import { Card, identityOf } from "../questions/card.js";
import { Folded } from "../questions/in_turn.js";
import { Shown } from "../questions/shown.js";
import { link } from "../router.js";
import { sessions } from "../sessions.js";
import { Styles } from "./styles.js";

const Place = ({ row }) => {
  const session = useCell(sessions).find((s) => s.key === row.key) ?? { key: row.key };
  return html`<a class="place" href=${link("chat", row.key)}><${Icon} name="chat" size=${14} /> ${titleOf(session)}</a>`;
};

const GrantRow = ({ grant, onRevoke }) => {
  const fixed = Object.entries(grant.fixed).map(([name, value]) => `${name}: ${value}`).join("\n");
  return html`
    <li>
      <span class="profile-icon"><${Icon} name="hand" size=${16} /></span>
      <div><strong>${grant.tool}</strong> <code class="pattern"><${Shown} text=${grant.pattern} /></code>
        ${fixed && html`<small class="muted">and exactly <code><${Shown} text=${fixed} /></code></small>`}
        <small class="muted" title=${moment(grant.givenAt)}>for ${who(grant.who)} to ${grant.agent} · given by ${who(grant.by)} ${since(grant.givenAt)}</small></div>
      <span class="nowrap" title=${moment(grant.until)}>${duration(secondsUntil(grant.until) * 1000)} left</span>
      <button type="button" class="button small" onClick=${() => onRevoke(grant)}>Take back</button>
    </li>`;
};

const Grants = () => {
  const { value, error, loading, again } = useLoad(() => gateway.request("grants.list"), []);
  const done = useCell(answered).length;
  useEffect(again, [done]);
  useEffect(() => {
    const timer = setInterval(again, 30_000);
    return () => clearInterval(timer);
  }, []);
  const revoke = async (grant) => {
    const isSure = await confirm({ title: "Take this yes back?", text: `${grant.tool} ${grant.pattern} is asked about again from now on.`, yes: "Take back" });
    if (!isSure) return;
    try {
      await gateway.act("grants.revoke", { id: grant.id });
      say("Taken back.");
      again();
    } catch (problem) {
      complain(problem);
    }
  };
  return html`
    <section class="card"><h2>Allowed for a time</h2>
      <${ErrorNote} error=${error} onRetry=${again} />
      ${loading && !value && html`<${Spinner} />`}
      ${value && !value.grants.length && html`<p class="muted pad">Nothing runs unasked on your word. With “Allow like this …” a yes can cover what is like it for a time.</p>`}
      ${value?.grants.length > 0 && html`<ul class="profiles">${value.grants.map((grant) => html`<${GrantRow} key=${grant.id} grant=${grant} onRevoke=${revoke} />`)}</ul>`}
    </section>`;
};

export default function Approvals() {
  const rows = useCell(pending);
  const done = useCell(answered);
  useEffect(() => {
    reload();
  }, []);
  return html`
    <${Styles} name="pages" /><${Styles} name="house" />
    <${Page} title="Approvals" about="What the assistant may not do without a person’s yes.">
      ${!rows.length && html`<${Empty} icon="check" title="Nothing waits">When the assistant wants to do something that cannot be taken back, it asks here, in the chat and on the channel it is spoken to.<//>`}
      ${inGroups(rows).map((group) => html`<${Card} key=${identityOf(group)} rows=${group} place=${html`<${Place} row=${group[0]} />`} />`)}
      ${done.length > 0 && html`<section class="card"><h2>Just answered</h2><div class="pad">${done.slice(-12).reverse().map((entry) => html`<${Folded} key=${entry.approval.id} entry=${entry} />`)}</div></section>`}
      <${Grants} />
    <//>`;
}
