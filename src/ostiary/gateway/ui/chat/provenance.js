// Whether a conversation holds both text from outside and private things, and the owner's word for it.
import { pending } from "../approvals.js";
import { isOver } from "../conversation.js";
import { gateway } from "../gateway.js";
import { Icon } from "../icons.js";
import { html, useCell, useEffect, useState } from "../lib.js";
import { complain, confirm, say } from "../parts/basics.js";
import { visible } from "../questions/shown.js";

const NOTHING = { isTainted: false, sources: [] };

const joined = (labels) => ({
  isTainted: labels.some((label) => label.trust === "untrusted") && labels.some((label) => label.private),
  sources: [...new Set(labels.filter((label) => label.trust === "untrusted").flatMap((label) => label.sources ?? []))],
});

/** What the last turn was decided on and brought in, unless somebody has vouched for it since. */
const read = async (key, turn) => {
  const { events } = await gateway.request("sessions.events", { key, turn });
  const last = events.at(-1)?.seq ?? 0;
  const later = await gateway.request("sessions.events", { key, after: last, limit: 50 });
  if (later.events.some((event) => event.kind === "session.declassified" || event.kind === "session.reset")) return NOTHING;
  return joined(events.map((event) => event.label).filter(Boolean));
};

export const Provenance = ({ conversation }) => {
  useCell(conversation.rev);
  const asked = useCell(pending).find((row) => row.key === conversation.key && row.trust === "untrusted" && row.private);
  const [found, setFound] = useState(NOTHING);
  const [vouched, setVouched] = useState("");
  const turn = conversation.turns.findLast((each) => !/^(note|past)-/.test(each.id));
  const id = turn && isOver(turn) ? turn.id : "";
  useEffect(() => {
    if (!turn) setFound(NOTHING);
    if (!id || gateway.state.value !== "open") return undefined;
    let isCurrent = true;
    read(conversation.key, id).then((label) => isCurrent && setFound(label), () => {});
    return () => {
      isCurrent = false;
    };
  }, [conversation.key, id, vouched]);
  const isTainted = asked ? vouched !== asked.id : found.isTainted;
  if (!isTainted) return null;
  const sources = (asked?.sources ?? found.sources).map(visible).join(", ") || "outside";
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
      setVouched(asked?.id ?? id);
      setFound(NOTHING);
      say("It counts as your own words from here on.");
    } catch (error) {
      complain(error);
    }
  };
  const words = `Holds private things and text from ${sources}`;
  return html`<button type="button" class="badge warn taint" title=${`${words}. Acting on it is asked about.`} disabled=${!gateway.offers("session.trust")} onClick=${vouch}><${Icon} name="alert" size=${13} /><span>Outside + private</span><span class="hidden">${words}. Vouch for it</span></button>`;
};
