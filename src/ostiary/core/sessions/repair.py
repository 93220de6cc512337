"""Mend a conversation so that every provider accepts it, and say what was mended.

Afterwards: it begins with a person, roles alternate, no message is empty, call ids are unique, arguments are JSON objects,
and each message with calls is directly followed by exactly their results, in the order of the calls.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ostiary.contracts.content import (
    AnswerPart,
    AssistantMessage,
    Label,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
    UserPart,
)
from ostiary.contracts.records import dataclass

NO_RESULT = "No result of this call was recorded. It may or may not have happened."
NO_BEGINNING = "(The beginning of this conversation is missing.)"
_MENDED = Label(trust=Trust.SYSTEM, sources=("repair",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """`notes` is empty if nothing had to be done."""

    messages: tuple[Message, ...]
    notes: tuple[str, ...] = ()


def repair(messages: Sequence[Message]) -> Repaired:
    """Never raises, and mending what was mended changes nothing."""
    notes: Counter[str] = Counter()
    spoken = _number_calls(_drop_empty(messages, notes), notes)
    paired = _pair_results(spoken, notes)
    ordered = _order_roles(paired, notes)
    return Repaired(messages=tuple(ordered), notes=tuple(f"{text} ({count}×)" for text, count in notes.items() if count))


def _drop_empty(messages: Iterable[Message], notes: Counter[str]) -> list[Message]:
    kept: list[Message] = []
    for message in messages:
        trimmed = _without_blanks(message)
        if trimmed is None:
            notes["left out an empty message"] += 1
        else:
            notes["left out an empty part of a message"] += int(trimmed is not message)
            kept.append(trimmed)
    return kept


def _without_blanks(message: Message) -> Message | None:
    if isinstance(message, ToolMessage):
        return message if message.outcomes else None
    if isinstance(message, UserMessage):
        heard: tuple[UserPart, ...] = tuple(
            part for part in message.parts if not (isinstance(part, Text) and not part.text.strip())
        )
        return None if not heard else message if len(heard) == len(message.parts) else UserMessage(parts=heard)
    said: tuple[AnswerPart, ...] = tuple(part for part in message.parts if not (isinstance(part, Text) and not part.text.strip()))
    if all(isinstance(part, Thinking) for part in said):
        return None
    return message if len(said) == len(message.parts) else replace(message, parts=said)


def _number_calls(messages: Sequence[Message], notes: Counter[str]) -> list[Message]:
    """Give every call an id of its own and a well-formed name and arguments; results follow their call's new id."""
    taken: set[str] = set()
    renamed: dict[str, str] = {}
    mended: list[Message] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            outcomes = tuple(replace(o, call_id=renamed.get(o.call_id, o.call_id)) for o in message.outcomes)
            mended.append(ToolMessage(outcomes=outcomes) if outcomes != message.outcomes else message)
            continue
        if isinstance(message, UserMessage) or not any(isinstance(part, ToolCall) for part in message.parts):
            mended.append(message)
            continue
        parts: list[AnswerPart] = []
        for part in message.parts:
            if not isinstance(part, ToolCall):
                parts.append(part)
                continue
            call = _well_formed(part, taken, notes)
            taken.add(call.id)
            renamed[part.id] = call.id
            parts.append(call)
        changed = tuple(parts) != message.parts
        mended.append(replace(message, parts=tuple(parts)) if changed else message)
    return mended


def _well_formed(call: ToolCall, taken: set[str], notes: Counter[str]) -> ToolCall:
    if not call.id or call.id in taken:
        notes["gave a call an id of its own"] += 1
        stem, count = call.id or "call", 2
        while f"{stem}~{count}" in taken:
            count += 1
        call = replace(call, id=f"{stem}~{count}")
    if not call.name.strip():
        notes["named a nameless call"] += 1
        call = replace(call, name="unknown")
    if not _is_object(call.arguments):
        notes["replaced arguments that were not a JSON object"] += 1
        call = replace(call, arguments="{}")
    return call


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _pair_results(messages: Sequence[Message], notes: Counter[str]) -> list[Message]:
    """Put each call's result directly behind it, wherever it stood; say so where there is none."""
    outcomes: dict[str, ToolOutcome] = {}
    asked: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            asked |= {part.id for part in message.parts if isinstance(part, ToolCall)}
        elif isinstance(message, ToolMessage):
            for outcome in message.outcomes:
                if outcome.call_id not in asked:
                    notes["left out a result that no call asked for"] += 1
                elif outcome.call_id in outcomes:
                    notes["left out a second result of one call"] += 1
                else:
                    outcomes[outcome.call_id] = outcome
    paired: list[Message] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            continue
        paired.append(message)
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if calls:
            results = ToolMessage(outcomes=tuple(_answer(call, outcomes.get(call.id), notes) for call in calls))
            following = messages[index + 1] if index + 1 < len(messages) else None
            in_place = isinstance(following, ToolMessage) and following.outcomes == results.outcomes
            if not in_place and any(call.id in outcomes for call in calls):
                notes["put results behind their calls"] += 1
            paired.append(following if in_place and isinstance(following, ToolMessage) else results)
    return paired


def _answer(call: ToolCall, outcome: ToolOutcome | None, notes: Counter[str]) -> ToolOutcome:
    if outcome is None:
        notes["stated that a call has no recorded result"] += 1
        return ToolOutcome(call_id=call.id, name=call.name, text=NO_RESULT, is_error=True, label=_MENDED)
    return outcome if outcome.name == call.name else replace(outcome, name=call.name)


def _order_roles(messages: Sequence[Message], notes: Counter[str]) -> list[Message]:
    ordered: list[Message] = []
    for message in messages:
        if not ordered and not isinstance(message, UserMessage):
            notes["stated that the beginning is missing"] += 1
            ordered.append(UserMessage(parts=(Text(text=NO_BEGINNING, label=_MENDED),)))
        last = ordered[-1] if ordered else None
        if isinstance(message, UserMessage) and isinstance(last, UserMessage):
            notes["joined two messages of the same speaker"] += 1
            ordered[-1] = UserMessage(parts=(*last.parts, *message.parts))
        elif isinstance(message, AssistantMessage) and isinstance(last, AssistantMessage):
            notes["joined two messages of the same speaker"] += 1
            ordered[-1] = _join(last, message)
        else:
            ordered.append(message)
    return ordered


def _join(first: AssistantMessage, second: AssistantMessage) -> AssistantMessage:
    # Thinking is replayed to the model that wrote it only, and the joined message can name just one.
    kept = first.parts if first.model == second.model else tuple(p for p in first.parts if not isinstance(p, Thinking))
    return AssistantMessage(parts=(*kept, *second.parts), model=second.model)
