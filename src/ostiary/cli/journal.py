"""A journal as people read it, and as programs do."""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ostiary.cli.output import safe
from ostiary.contracts.content import Image, Text, Thinking, ToolCall
from ostiary.contracts.events import (
    KIND_OF,
    Branched,
    Compacted,
    Erased,
    Imported,
    ModelAnswered,
    ModelRequested,
    Noted,
    PrefixPinned,
    Recorded,
    Reset,
    SettingChanged,
    Steered,
    ToolIntended,
    ToolResulted,
    Trimmed,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)

_LONG = 2000


def as_data(recorded: Recorded) -> dict[str, Any]:
    """One event for a program: envelope, kind, and the event's own fields."""
    kind = KIND_OF.get(type(recorded.event), "erased")
    return {
        "seq": recorded.seq,
        "turn": recorded.turn,
        "at": recorded.at,
        "kind": kind,
        "event": dataclasses.asdict(recorded.event),
    }


def as_lines(recorded: Recorded) -> str:
    """One event for a person: a heading, and what it holds set in below."""
    head, body = _tell(recorded.event)
    at = datetime.fromtimestamp(recorded.at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    turn = f"  {recorded.turn}" if recorded.turn else ""
    lines = [f"{recorded.seq:>5}  {at}{turn}  {head}"]
    lines += [f"       │ {line}" for line in safe(_cut(body)).splitlines()]
    return "\n".join(lines)


def _tell(event: Any) -> tuple[str, str]:
    tell = _TELL.get(type(event))
    return tell(event) if tell is not None else (type(event).__name__, "")


def _inputs(event: TurnStarted | Steered) -> str:
    return "\n".join(_part(part) for each in event.inputs for part in each.parts)


def _started(event: TurnStarted) -> tuple[str, str]:
    head = f"turn started by {event.principal.user} ({event.principal.role})"
    return head, "\n".join(filter(None, (event.instructions and f"[instructions] {event.instructions}", _inputs(event))))


def _answered(event: ModelAnswered) -> tuple[str, str]:
    usage = event.usage
    cost = f", ${usage.cost:.4f}" if usage.cost is not None else ""
    head = (
        f"{event.model} answered step {event.step} ({event.stop}; {usage.input + usage.cache_read} in, {usage.output} out{cost})"
    )
    return head, "\n".join(_part(part) for part in event.parts)


def _ended(event: TurnEnded) -> tuple[str, str]:
    return f"turn {event.status}" + (
        f": {event.reason}" if event.reason else ""
    ), event.partial and f"[shown so far] {event.partial}"


def _setting(event: SettingChanged) -> tuple[str, str]:
    return f"{event.name} set to {event.value or 'the default'} by {event.by}", ""


_TELL: Mapping[type, Callable[[Any], tuple[str, str]]] = {
    TurnStarted: _started,
    Steered: lambda e: ("a message joined the turn", _inputs(e)),
    ModelRequested: lambda e: (f"asked {e.model}, step {e.step} ({e.messages} messages, {e.characters} characters)", ""),
    ModelAnswered: _answered,
    ToolIntended: lambda e: (f"calls {e.name} (allowed by {e.layer})", e.arguments),
    ToolResulted: lambda e: (f"{e.name} {e.fate}" + (" with an error" if e.is_error else ""), e.text),
    TurnSuspended: lambda e: (f"waits for {e.waiting_for}: {', '.join(e.call_ids)}", ""),
    TurnResumed: lambda e: ("goes on" + (f": {e.reason}" if e.reason else ""), ""),
    TurnEnded: _ended,
    SettingChanged: _setting,
    PrefixPinned: lambda e: (f"prompt pinned: {e.reason}", ""),
    Reset: lambda e: (f"conversation begun afresh: {e.reason}", ""),
    Trimmed: lambda e: (f"{e.turns} turns no longer sent", e.notice),
    Compacted: lambda e: ("earlier turns summarised", e.summary),
    Branched: lambda e: (f"branched from {e.parent} at event {e.at} ({len(e.messages)} messages)", ""),
    Imported: lambda e: (f"imported {len(e.messages)} messages from {e.source}", "\n".join(e.notes)),
    Noted: lambda e: (f"note by {e.by}", e.text),
    Erased: lambda e: (f"erased ({e.kind})", ""),
}


def _part(part: Any) -> str:
    match part:
        case Text(text=text):
            return text
        case Thinking(text=text):
            return f"[thinking] {text}"
        case ToolCall(name=name, arguments=arguments):
            return f"[call] {name} {arguments}"
        case Image(media_type=media_type, digest=digest):
            return f"[{media_type} {digest[:12]}]"
        case _:
            return ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]}\n… {len(text) - _LONG:,} more characters; --json shows them"
