// Whether a conversation holds both text from outside and private things, and the owner's word for it.
import { pending } from "../approvals.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { html, useCell, useState } from "../lib.js";
import { complain, confirm, say } from "../parts/basics.js";
import { visible } from "../questions/shown.js";

/** Of all sources those that are somebody else's words. */
const OWN = /^(ostiary|api:token$|confirmed:|session|folder:|message$|repair$)/;

export const Provenance = ({ conversation }) => {
  useCell(conversation.rev);
  const asked = useCell(pending).find((row) => row.key === conversation.key && row.trust === "untrusted" && row.private);
  const [vouched, setVouched] = useState(null);
  const label = asked ?? conversation.label;
  const isTainted = label?.trust === "untrusted" && label.private && vouched !== (asked?.id ?? label);
  if (!isTainted) return null;
  const sources = (label.sources ?? []).filter((source) => !OWN.test(source)).map(visible).join(", ") || "outside";
  const vouch = async () => {
    const isSure = await confirm({
      title: "Vouch for this conversation?",
      text: `It holds text from ${sources} and private things, so that text could try to send them away. If you have read it and trust it, everything said so far counts as your own words.`,
      yes: "I vouch for it",
      danger: true,
    });
    if (!isSure) return;
    try {
      await gateway.act("session.trust", { key: conversation.key, reason: "at the page" });
      setVouched(asked?.id ?? label);
      say("It counts as your own words from here on.");
    } catch (error) {
      complain(error);
    }
  };
  const words = `Holds private things and text from ${sources}`;
  return html`<button type="button" class="badge warn taint" title=${`${words}. Acting on it is asked about.`} disabled=${!gateway.offers("session.trust")} onClick=${vouch}><${Icon} name="alert" size=${13} /><span>Outside + private</span><span class="hidden">${words}. Vouch for it</span></button>`;
};
