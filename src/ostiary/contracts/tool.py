"""The port to tools: what they declare, what they are given, what they return."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Protocol

from ostiary.contracts.content import Image, Label
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.records import dataclass


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
    """`repeatable` means a call caught by a crash may simply run again. A tool of a client runs on the client's side."""

    schema: ToolSchema
    effects: frozenset[Effect]
    repeatable: bool = False
    untrusted_output: bool = True
    owner_only: bool = False
    is_client: bool = False

    @property
    def name(self) -> str:
        return self.schema.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Whose call it is. `call_key` is unique for ever: a tool passes it on where the far side deduplicates."""

    principal: Principal
    session: SessionKey
    turn: str
    call_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The model reads `text`; people read `details`. `label` is joined with the tool's own."""

    text: str
    is_error: bool = False
    details: Mapping[str, object] = field(default_factory=dict)
    images: tuple[Image, ...] = ()
    label: Label | None = None


class Tool(Protocol):
    """Raises ToolError for what the model should read as an error; anything else is a bug and reported as one."""

    @property
    def spec(self) -> ToolSpec: ...

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult: ...
