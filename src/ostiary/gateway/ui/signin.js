// Signing in: by the one-time link that the terminal printed, by its code, or by password where that is the mode.
import { gateway } from "./gateway.js";
import { Icon } from "./icons.js";
import { base, html, kept, keptHere, useState } from "./lib.js";

const post = async (path, body) => {
  try {
    const answer = await fetch(`${base}${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Ostiary": "1" },
      body: JSON.stringify(body),
    });
    if (answer.ok) return "";
    const said = await answer.json().catch(() => ({}));
    if (answer.status === 429) return said.error?.message ?? "Too many tries. Wait a minute, then try again.";
    return said.error?.message ?? `The gateway answered ${answer.status}.`;
  } catch {
    return "The gateway cannot be reached. Is it running?";
  }
};

/** Gives what went wrong, in words; empty if the browser is now signed in. */
export const signInWithCode = (code) => post("auth/session", { code });
const signInWithPassword = (password) => post("auth/password", { password });
export const signOut = async () => {
  await post("auth/logout", {});
  kept.drop("draft.");
  keptHere.drop("unsent");
  gateway.close("signedOut");
};

const codeIn = (text) => /(?:#k=)?([A-Za-z0-9_.~-]{8,512})\s*$/.exec(text.trim())?.[1] ?? "";

export const SignIn = () => {
  const [text, setText] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState(gateway.signInProblem ?? "");
  const [isBusy, setBusy] = useState(false);
  const attempt = (enter) => async (event) => {
    event.preventDefault();
    setBusy(true);
    const wrong = await enter();
    setBusy(false);
    setProblem(wrong);
    if (!wrong) gateway.open();
  };
  const byCode = attempt(async () => {
    const code = codeIn(text);
    return code ? signInWithCode(code) : "That is not a sign-in link. It ends in #k= and a code.";
  });
  const byPassword = attempt(() => signInWithPassword(password));
  return html`
    <main class="gate">
      <div class="gate-card">
        <img src="icon.svg" alt="" width="56" height="56" />
        <h1>Knock, and be let in</h1>
        <p class="muted">On the machine where Ostiary runs, ask for a sign-in link and open it here:</p>
        <pre class="command"><code>ostiary gateway link</code></pre>
        <form onSubmit=${byCode}>
          <label for="code">Or paste the link, or its code</label>
          <div class="row">
            <input id="code" class="field" autocomplete="off" spellcheck="false" autocapitalize="off" value=${text} onInput=${(e) => setText(e.target.value)} placeholder="…/#k=…" autofocus />
            <button class="button primary" disabled=${isBusy || !text.trim()}>Sign in</button>
          </div>
        </form>
        ${problem && html`<p class="problem" role="alert"><${Icon} name="alert" size=${16} /> ${problem}</p>`}
        ${gateway.mode === "password" &&
        html`<form onSubmit=${byPassword}>
          <label for="password">Or the gateway’s password</label>
          <div class="row">
            <input id="password" class="field" type="password" autocomplete="current-password" value=${password} onInput=${(e) => setPassword(e.target.value)} />
            <button class="button" disabled=${isBusy || !password}>Sign in</button>
          </div>
        </form>`}
        <p class="small muted">A link works once, for ten minutes. This browser then stays signed in; you can end that under Devices.</p>
      </div>
    </main>`;
};
