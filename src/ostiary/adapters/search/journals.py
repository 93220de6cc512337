"""Conversations as text: who said what, line by line, in segments that are documents of the collection `_sessions`."""

from collections.abc import Iterable

from ostiary.contracts.content import AssistantMessage, Label, Message, Text, UserMessage
from ostiary.contracts.events import Event, Imported, ModelAnswered, Noted, Recorded, Reset, Steered, TurnInput, TurnStarted
from ostiary.contracts.records import dataclass

COLLECTION = "_sessions"
SEGMENT = 12_000

Said = tuple[str, str, Label]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Part of a session's journal: lines, the seqs they come from, when the last was said, and whose word they are."""

    session: str
    first: int
    last: int
    at: float
    label: Label | None
    text: str
    goes_on: bool


def stretches(events: Iterable[Recorded], *, open_length: int) -> tuple[list[Stretch], bool]:
    """Events of one session in order. `open_length` is how much the segment that is still open holds already; the first
    stretch continues it (`goes_on`) unless it is full or the conversation began afresh. Also whether the last one is still
    open at the end."""
    made: list[Stretch] = []
    length = open_length
    goes_on = open_length > 0
    is_fresh = True
    for recorded in events:
        if isinstance(recorded.event, Reset) or length >= SEGMENT:
            goes_on, is_fresh, length = False, True, 0
        lines, label = _lines(recorded.event)
        if not lines:
            continue
        text = "".join(f"{line}\n" for line in lines)
        if is_fresh:
            made.append(_stretch(recorded, text, label, goes_on=goes_on))
            goes_on, is_fresh = False, False
        else:
            made[-1] = _longer(made[-1], recorded, text, label)
        length += len(text)
    return made, length > 0


def _stretch(recorded: Recorded, text: str, label: Label | None, *, goes_on: bool) -> Stretch:
    return Stretch(
        session=recorded.session,
        first=recorded.seq,
        last=recorded.seq,
        at=recorded.at,
        label=label,
        text=text,
        goes_on=goes_on,
    )


def _longer(before: Stretch, recorded: Recorded, text: str, label: Label | None) -> Stretch:
    return Stretch(
        session=before.session,
        first=before.first,
        last=recorded.seq,
        at=recorded.at,
        label=joined(before.label, label),
        text=before.text + text,
        goes_on=before.goes_on,
    )


def joined(first: Label | None, second: Label | None) -> Label | None:
    if first is None or second is None:
        return first or second
    return first.join(second)


def _lines(event: Event) -> tuple[list[str], Label | None]:
    lines: list[str] = []
    label: Label | None = None
    for who, text, its_label in _said(event):
        told = [line.rstrip() for line in text.splitlines() if line.strip()]
        if told:
            lines += [f"{who}: {told[0]}", *told[1:]]
            label = joined(label, its_label)
    return lines, label


def _said(event: Event) -> Iterable[Said]:
    match event:
        case TurnStarted(inputs=inputs, context=context):
            return [*_messages(context), *_inputs(inputs)]
        case Steered(inputs=inputs):
            return _inputs(inputs)
        case ModelAnswered(parts=parts):
            return [("Assistant", part.text, part.label) for part in parts if isinstance(part, Text)]
        case Noted(text=text, label=label):
            return [("Assistant", text, label)]
        case Imported(messages=messages):
            return _messages(messages)
        case _:
            return []


def _inputs(inputs: tuple[TurnInput, ...]) -> list[Said]:
    return [("User", part.text, part.label) for each in inputs for part in each.parts if isinstance(part, Text)]


def _messages(messages: tuple[Message, ...]) -> list[Said]:
    said: list[Said] = []
    for message in messages:
        match message:
            case UserMessage(parts=parts):
                said += [("User", part.text, part.label) for part in parts if isinstance(part, Text)]
            case AssistantMessage(parts=answer):
                said += [("Assistant", part.text, part.label) for part in answer if isinstance(part, Text)]
            case _:
                pass
    return said
