"""The port to tools: what they declare, what they are given, what they return."""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from ostiary.contracts.content import Image, Label, Trust
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Write

UNKNOWN_CONTEXT = Label(trust=Trust.UNTRUSTED, private=True)


def _silently(text: str) -> None:
    """Nobody watches."""


class Effect(StrEnum):
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    SEND = "send"
    SPEND = "spend"
    SECRET = "secret"  # noqa: S105 - an effect, not a password


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """`repeatable` means a call caught by a crash may simply run again. A tool of a client runs on the client's side.

    `harmless_when` names arguments and the values with which a call only reads (process: action poll, list).
    `undoable` means that what it changes is kept as versions in the store and can be taken back.
    `seconds` is how long one call may take, 0 for the house's general limit."""

    schema: ToolSchema
    effects: frozenset[Effect]
    repeatable: bool = False
    untrusted_output: bool = True
    owner_only: bool = False
    is_client: bool = False
    undoable: bool = False
    harmless_when: Mapping[str, frozenset[str]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return self.schema.name

    def effects_of(self, arguments: Mapping[str, object]) -> frozenset[Effect]:
        """What this very call can do: only READ where its arguments make it harmless."""
        for name, values in self.harmless_when.items():
            if arguments.get(name) in values:
                return frozenset({Effect.READ})
        return self.effects


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Whose call it is. `call_key` is unique for ever: a tool passes it on where the far side deduplicates.

    `label` is that of the context the model decided on; what the call writes inherits it. `reply_to` is where the turn's
    answer goes. `report` shows a word of progress to whoever watches; it is never stored."""

    principal: Principal
    session: SessionKey
    turn: str
    call_key: str
    label: Label = UNKNOWN_CONTEXT
    reply_to: Address | None = None
    report: Callable[[str], None] = _silently


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The model reads `text`; people read `details`. `label` is joined with the tool's own.

    `writes` are committed in the same unit as the result: both are there or neither. A Conflict among them makes the result
    an error that says so. `blobs` are the bytes of `images`, by digest."""

    text: str
    is_error: bool = False
    details: Mapping[str, object] = field(default_factory=dict)
    images: tuple[Image, ...] = ()
    label: Label | None = None
    writes: tuple[Write, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict)


class Tool(Protocol):
    """Raises ToolError for what the model should read as an error; anything else is a bug and reported as one."""

    @property
    def spec(self) -> ToolSpec: ...

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult: ...


@runtime_checkable
class Binding(Protocol):
    """An ability of a tool: naming what else an approval must be bound to."""

    async def bind(self, arguments: Mapping[str, object], context: ToolContext) -> Mapping[str, str]:
        """By name (cwd, env, file:<path>, ...) the value or digest as it is now. If any differs when the call is about to be
        made, the person is asked again. Raises ToolError."""
        ...
