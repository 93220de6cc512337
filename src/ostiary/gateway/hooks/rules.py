"""What the configuration says of webhooks. A payload chooses none of it."""

from collections.abc import Callable
from typing import Literal

from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import Address
from ostiary.contracts.records import dataclass
from ostiary.gateway.hooks.template import Template

Reveal = Callable[[], str]
"""A secret, lent at the moment of use; empty if there is none that is fit for use."""

Scheme = Literal["github", "stripe", "generic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureRules:
    """How a source signs. `header`, `prefix`, `encoding` and `timestamp_header` are for the scheme `generic`.

    `tolerance` is how old, or how far ahead, a signed time may be, in seconds."""

    scheme: Scheme
    secret: Reveal
    header: str = "x-signature"
    prefix: str = ""
    encoding: Literal["hex", "base64"] = "hex"
    timestamp_header: str = ""
    tolerance: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One kind of delivery. `path` empty: any path; `source` empty: whatever the payload says.

    With `signature` only a signed body is believed, and no token replaces it. `reply_to` None: nobody is told the answer.
    """

    name: str
    session: SessionKey
    token: Reveal
    path: str = ""
    source: str = ""
    template: Template | None = None
    instructions: str = ""
    model: str = ""
    thinking: str = ""
    timeout_seconds: int = 0
    reply_to: Address | None = None
    signature: SignatureRules | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRules:
    """Without a `token` nothing is served. `agents` are those a caller of `agent` may name besides the default one.

    `dedupe_seconds`: the same body within this time is the same delivery."""

    token: Reveal
    wake: Hook
    agent: Hook
    mapped: tuple[Hook, ...] = ()
    path: str = "/hooks"
    agents: frozenset[str] = frozenset()
    max_body_bytes: int = 262_144
    body_seconds: float = 10.0
    requests: int = 60
    window: float = 60.0
    dedupe_seconds: float = 300.0

    def for_path(self, name: str) -> tuple[Hook, ...]:
        """Those a delivery to `<path>/<name>` may be for, in the order of the configuration."""
        match name:
            case "wake":
                return (self.wake,)
            case "agent":
                return (self.agent,)
            case _:
                return tuple(hook for hook in self.mapped if hook.path in ("", name))
