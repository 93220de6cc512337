"""Untrusted text as the model reads it: between marks that say where it came from, and that it cannot forge.

The marks carry a code made from the text itself, so the same history always reads the same (prompt caches hit) and a text
that contains its own closing mark is given another.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from ostiary.contracts.content import (
    AssistantMessage,
    Label,
    Message,
    Text,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
    UserPart,
)

CLIENT_TOOL = ("api:tool",)
_SOURCES = 3
_SOURCE_LENGTH = 80
# Behind a black flag they make the flag of a region.
_UNSEEN = re.compile("(\U0001f3f4[\U000e0020-\U000e007e]{1,6}\U000e007f)|[\U000e0000-\U000e007f\U000e0100-\U000e01ef]{3,}")


def spotlit(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Every text that nobody in the house vouches for stands between marks."""
    return tuple([message if isinstance(message, AssistantMessage) else _message(message) for message in messages])


def _message(message: UserMessage | ToolMessage) -> Message:
    """The very same object if nothing of it is from outside, as nearly always: this is done for all of a history each time."""
    if isinstance(message, ToolMessage):
        for outcome in message.outcomes:
            if is_outside(outcome.label):
                return ToolMessage(outcomes=tuple(_outcome(outcome) for outcome in message.outcomes))
        return message
    for part in message.parts:
        if isinstance(part, Text) and is_outside(part.label):
            return UserMessage(parts=tuple(_part(part) for part in message.parts))
    return message


def _part(part: UserPart) -> UserPart:
    return replace(part, text=marks(part.text, part.label)) if isinstance(part, Text) and is_outside(part.label) else part


def _outcome(outcome: ToolOutcome) -> ToolOutcome:
    return replace(outcome, text=marks(outcome.text, outcome.label)) if is_outside(outcome.label) else outcome


def is_outside(label: Label) -> bool:
    """Not the results of a client's own tools: the client formats them for the model, and says nothing of their origin."""
    return label.trust is Trust.UNTRUSTED and label.sources != CLIENT_TOOL


def marks(text: str, label: Label) -> str:
    """Letters of the alphabet that nobody sees are left out: what the model reads, a person can read too."""
    text = text if text.isascii() else _UNSEEN.sub(r"\1", text)
    code = digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    # Whoever found by trial a text that holds its own mark gets another one.
    while f"[end {(code := code[:8])}]" in text:
        digest = code = hashlib.sha256(digest.encode()).hexdigest()
    sources = ", ".join(_plain(source) for source in label.sources[:_SOURCES]) or "outside"
    return f"[data {code} from {sources}]\n{text}\n[end {code}]"


def _plain(source: str) -> str:
    return "".join(sign for sign in source[:_SOURCE_LENGTH] if sign.isprintable() and sign not in "[]")
