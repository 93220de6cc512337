"""What a conversation consists of: parts with the label that says where they came from."""

from enum import StrEnum
from typing import Literal

from ostiary.contracts.records import dataclass


class Trust(StrEnum):
    """Who vouches for a text. Only OWNER and SYSTEM text may drive an action by itself."""

    SYSTEM = "system"
    OWNER = "owner"
    CONTACT = "contact"
    UNTRUSTED = "untrusted"


_RANK = (Trust.SYSTEM, Trust.OWNER, Trust.CONTACT, Trust.UNTRUSTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Provenance. Joining two labels keeps every source, the lower trust, and privacy if either is private."""

    trust: Trust
    sources: tuple[str, ...] = ()
    private: bool = False

    def join(self, other: "Label") -> "Label":
        if self == other:
            return self
        return Label(
            trust=max(self.trust, other.trust, key=_RANK.index),
            sources=tuple(sorted({*self.sources, *other.sources})),
            private=self.private or other.private,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    text: str
    label: Label
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """Bytes are the blob `digest` in the store."""

    digest: str
    media_type: str
    label: Label
    kind: Literal["image"] = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """`replay` is the provider's opaque proof (signature, encrypted reasoning) as JSON; only its own wire reads it."""

    text: str
    replay: str = ""
    kind: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """`arguments` is JSON text exactly as the model wrote it; tool_calls parses it once.

    `replay` is the wire's opaque data that must accompany the call when it is sent back.
    """

    id: str
    name: str
    arguments: str
    replay: str = ""
    kind: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What the model reads as the answer to one call."""

    call_id: str
    name: str
    text: str
    is_error: bool
    label: Label
    images: tuple[Image, ...] = ()
    kind: Literal["tool_outcome"] = "tool_outcome"


UserPart = Text | Image
AnswerPart = Text | Thinking | ToolCall
Part = Text | Image | Thinking | ToolCall | ToolOutcome


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UserMessage:
    parts: tuple[UserPart, ...]
    role: Literal["user"] = "user"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AssistantMessage:
    """`model` is the ref that wrote it: thinking is replayed only to the same provider."""

    parts: tuple[AnswerPart, ...]
    model: str = ""
    role: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToolMessage:
    """Outcomes of the calls of the assistant message before it, in the order of the calls."""

    outcomes: tuple[ToolOutcome, ...]
    role: Literal["tool"] = "tool"


Message = UserMessage | AssistantMessage | ToolMessage
