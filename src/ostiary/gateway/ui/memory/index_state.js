// How much is remembered, and how far the index has come.
import { bytes, number } from "../format.js";
import { gateway } from "../gateway.js";
import { html, useEffect, useLoad } from "../lib.js";

export const IndexState = ({ turn }) => {
  const { value, again } = useLoad(() => gateway.request("memory.status"), [turn]);
  const isBusy = value && (value.rebuilding !== null || value.waiting > 0);
  useEffect(() => {
    const timer = setInterval(again, isBusy ? 1000 : 15_000);
    return () => clearInterval(timer);
  }, [isBusy]);
  if (!value) return null;
  const whole = value.documents + value.waiting;
  const done = value.rebuilding ?? (whole ? value.documents / whole : 1);
  return html`
    <section class="card index-state" aria-label="The index">
      <dl class="event-facts">
        <div><dt>Remembered</dt><dd>${number(value.files)} files, ${bytes(value.bytes)}</dd></div>
        <div><dt>Indexed</dt><dd>${number(value.documents)} documents, ${number(value.chunks)} passages</dd></div>
        <div><dt>Found by</dt><dd>${value.embedder ? `words and meaning (${value.embedder})` : "words alone"}</dd></div>
      </dl>
      ${isBusy && html`<div class="progress"><progress aria-label="Indexing" max="1" value=${done}></progress><small class="muted">${value.rebuilding !== null ? `A new index is being made: ${Math.round(done * 100)} %. The old one answers meanwhile.` : `${number(value.waiting)} documents wait to be indexed.`}</small></div>`}
    </section>`;
};
