"""What a model server is told to answer, in no provider's words; each server says it on its own wire."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

import anyio

from ostiary.contracts.records import dataclass

Kind = Literal[
    "auth",
    "billing",
    "context",
    "forbidden",
    "image",
    "overloaded",
    "rate",
    "rejected",
    "roles",
    "server",
    "thinking",
    "unknown_model",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """`proof` is what the provider signs it with; the server refuses the thought if it comes back changed."""

    pieces: tuple[str, ...] = ()
    proof: str = "proof-1"
    redacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """`pieces` of the arguments as they are streamed. `proof` is the signature a provider attaches to a call, if it does."""

    name: str
    pieces: tuple[str, ...] = ("{}",)
    id: str = "call_1"
    proof: str = ""

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Tokens; `input` are those neither read from nor written to a cache."""

    input: int = 10
    output: int = 5
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A refusal in the provider's own shape. `words` replaces its usual sentence."""

    kind: Kind
    words: str = ""
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer, and what goes wrong with it.

    `cut_after` bytes the connection is torn; `unfinished` ends the stream properly but before its last word; the event
    number `malformed` is replaced by `garbage`; before event N the server waits for the event in `holds`; `fails` comes
    inside the stream after the first event; `endless` repeats the words until the client leaves.
    """

    parts: tuple[Words | Thought | Call, ...] = ()
    stop: Literal["stop", "tool_calls", "length", "refusal"] = "stop"
    counted: Counted = field(default_factory=Counted)
    cut_after: int | None = None
    unfinished: bool = False
    malformed: int | None = None
    garbage: bytes = b'{"broken'
    holds: Mapping[int, anyio.Event] = field(default_factory=dict)
    fails: Failure | None = None
    endless: bool = False


Scripted = Reply | Failure


def say(*pieces: str, counted: Counted | None = None) -> Reply:
    """Plain words, streamed piece by piece."""
    return Reply(parts=(Words(pieces=pieces),), counted=counted or Counted())
