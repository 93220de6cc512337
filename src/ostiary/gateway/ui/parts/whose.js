// Who wrote something, when, in which turn, and who vouches for it.
import { moment, since, who } from "../format.js";
import { Icon } from "../icons.js";
import { html } from "../lib.js";
import { visible } from "../questions/shown.js";
import { link } from "../router.js";
import { Badge } from "./basics.js";

const TRUST = { owner: ["good", "yours"], system: ["", "Ostiary’s"], contact: ["warn", "a contact’s"], untrusted: ["bad", "nobody vouches"] };

export const Trust = ({ trust, sources = [] }) => {
  const [kind, word] = TRUST[trust] ?? ["warn", "unknown origin"];
  return html`<span class="trust" title=${sources.length ? `From ${sources.map(visible).join(", ")}` : ""}><${Badge} kind=${kind}>${word}<//></span>`;
};

export const whoOf = (author) => visible(who(author || "unknown"));

export const Whose = ({ row }) => html`
  <span class="whose"><span>${row.trust === "untrusted" && row.sources?.length ? `from ${row.sources.map(visible).join(", ")}` : whoOf(row.author)}</span><time title=${moment(row.at)}>${since(row.at)}</time>
    ${row.session && html`<a class="link with-icon" href=${link("sessions", row.session, row.turn)}><${Icon} name="chat" size=${13} />the turn</a>`}
    <${Trust} trust=${row.trust} sources=${row.sources} /></span>`;
