"""Webhooks in the configuration. Names are OpenClaw's wherever the meaning is the same."""

from typing import Literal

from ostiary.assembly.config.secret import SecretSource
from ostiary.assembly.config.section import key, section

_ID = r"[a-z0-9][a-z0-9_-]{0,63}"
_HEADER = r"[A-Za-z0-9-]{1,64}"


@section
class HookMatch:
    """Which deliveries it is for; what is given must match."""

    path: str = key("", "The name behind hooks.path. Empty: any but wake and agent.", pattern=r"|[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
    source: str = key("", "What the payload's field source must be. It never chooses between hooks with other credentials.")


@section
class HookSignature:
    """How the source signs its deliveries: HMAC-SHA256 over the body. A token does not replace it."""

    scheme: Literal["github", "stripe", "generic"] = key(
        "generic", "github and stripe say themselves where the signature stands."
    )
    secret: SecretSource = key(help="The secret shared with the source.")
    header: str = key("X-Signature", "generic: the header that carries it.", pattern=_HEADER)
    prefix: str = key("", "generic: what stands before it in the header, such as sha256=.")
    encoding: Literal["hex", "base64"] = key("hex", "generic: how it is written.")
    timestamp_header: str = key(
        "", "generic: the header with the time in seconds; then <time>.<body> is signed.", pattern=r"|" + _HEADER
    )
    tolerance_seconds: int = key(300, "How old a signed time may be.", minimum=1, maximum=86_400)


@section
class HookMapping:
    """One kind of payload, what becomes of it, and where it goes. Nothing of it is up to the payload."""

    id: str = key(help="Its name; senders count as hook:<id>.", pattern=_ID)
    match: HookMatch = key(factory=HookMatch)
    action: Literal["wake", "agent"] = key("agent", "Both begin a turn; the name says which template is used.")
    agent_id: str = key("", "The agent. Empty: the default one.", pattern=r"|" + _ID)
    session_key: str = key("", "The session's key, or its part after agent:<id>:. Empty: hook:<id>.")
    message_template: str = key("", "For agent: the text, with {{path.into[0].payload}}. Empty: the payload as JSON.")
    text_template: str = key("", "For wake: the same.")
    instructions: str = key("", "What to do with it. These are the owner's words; no template.")
    model: str = key("", "Another model for these turns.")
    thinking: str = key("", "Another level of thinking.", pattern=r"|off|minimal|low|medium|high|xhigh")
    timeout_seconds: int | None = key(None, "A shorter limit for these turns.", minimum=1, maximum=86_400)
    deliver: bool = key(False, "Send the answer to a channel; needs channel and to.")
    channel: str = key("", "The channel the answer goes to.")
    to: str = key("", "The chat on it.")
    token: SecretSource | None = key(None, "Its own token instead of hooks.token.")
    signature: HookSignature | None = key(None, "Believe only signed deliveries.")


@section
class HookRateLimit:
    """How many deliveries of one hook are taken."""

    max_requests: int = key(60, "This many.", minimum=1, maximum=100_000)
    window_ms: int = key(60_000, "Within this time.", minimum=1000, maximum=86_400_000)


@section
class Hooks:
    """Webhooks that come in. Their text is untrusted, and they choose neither session nor authority."""

    enabled: bool = key(False, "Serve them.")
    path: str = key("/hooks", "Where.", pattern=r"/[A-Za-z0-9_-][A-Za-z0-9_/-]*")
    token: SecretSource | None = key(None, "Without a token no hook is served. It must not be the gateway's.")
    max_body_bytes: int = key(262_144, "A larger body is refused.", minimum=1024, maximum=104_857_600)
    default_session_key: str = key("", "The session of /hooks/wake and /hooks/agent. Empty: hook:wake and hook:agent.")
    allowed_agent_ids: tuple[str, ...] = key((), "Agents that /hooks/agent may name besides the default one.")
    rate_limit: HookRateLimit = key(factory=HookRateLimit)
    dedupe_seconds: int = key(
        300, "The same body within this time counts once. 0: only by Idempotency-Key.", minimum=0, maximum=86_400
    )
    mappings: tuple[HookMapping, ...] = key((), "In order; the first that matches takes a delivery.")
