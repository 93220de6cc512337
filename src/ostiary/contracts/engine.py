"""The port doors use: submit a message, watch a session, wait for an outcome, steer the house.

Turns belong to the engine, never to a request: a door submits and watches, and going away cancels nothing.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Literal, Protocol

from ostiary.contracts.channel import Accepted
from ostiary.contracts.content import Message, ToolCall, ToolOutcome
from ostiary.contracts.events import Shown, TurnStatus
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import InboundMessage
from ostiary.contracts.model import ToolSchema, Usage
from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A message with what an authenticated door knows besides. `session` set: the door names it; else bindings decide.

    `principal` set: the door's authentication decided it; else the people registry resolves the sender.
    `context` is the caller's own history (a stateless call, `ephemeral`). `blobs` are the bytes of the attachments.
    `directives` are settings for this turn only, such as `model`. `untrusted_source` set: the text is data from outside
    (a webhook), whoever delivered it.
    """

    message: InboundMessage
    principal: Principal | None = None
    session: SessionKey | None = None
    ephemeral: bool = False
    instructions: str = ""
    context: tuple[Message, ...] = ()
    client_tools: tuple[ToolSchema, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    directives: Mapping[str, str] = field(default_factory=dict)
    untrusted_source: str = ""
    max_tokens: int | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the turn that took a message ended, or that it waits for `calls` to be answered by the client.

    `stop` is why the model's last answer ended (stop, length, refusal, ...). `retry_after` is as in TurnEnded."""

    turn: str
    session: SessionKey
    status: TurnStatus | Literal["waiting"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    stop: str = ""
    reason: str = ""
    error_kind: str = ""
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    turns: int
    queued: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """What commands and screens show of a session without replaying it."""

    key: SessionKey
    settings: Mapping[str, str]
    usage: Usage
    turns: int
    messages: int
    model: str
    running_turn: str
    waiting_for: str
    queued: int
    created_at: float
    updated_at: float
    context_tokens: int
    context_report: Mapping[str, object]


class Controls(Protocol):
    """What slash commands and pages may cause. The caller has checked authority; `by` is recorded."""

    async def view(self, session: SessionKey) -> SessionView: ...

    async def change_setting(self, session: SessionKey, name: str, value: str, *, by: Principal) -> None: ...

    async def reset(self, session: SessionKey, *, reason: str, by: Principal) -> None: ...

    async def stop(self, session: SessionKey, *, by: Principal, reason: str = "stopped") -> Stopped:
        """Ends the running turn (durably, before this returns) and clears what is queued behind it."""
        ...


class Engine(Controls, Protocol):
    async def submit(self, submission: Submission) -> Accepted:
        """Durable when it returns `accepted`. Raises BadInput, NotAllowed, Busy, StoreError."""
        ...

    async def outcome(self, item: int) -> Outcome:
        """Wait until the turn that took this inbox item ended or waits for the client. The caller sets the time limit."""
        ...

    def watch(self, session: SessionKey) -> AbstractAsyncContextManager[AsyncIterator[Shown]]:
        """Committed events and deltas from now on. A watcher that falls 1,000 behind loses deltas first, then is ended."""
        ...

    async def answer_calls(self, session: SessionKey, outcomes: Sequence[ToolOutcome], *, by: Principal) -> int | None:
        """Resume the suspended turn if the outcomes answer exactly its open client calls; gives an inbox item to wait on."""
        ...

    def status(self) -> Mapping[str, object]:
        """Counts for health and `ostiary status`: running, queued, waiting, sessions in memory, outbox."""
        ...
