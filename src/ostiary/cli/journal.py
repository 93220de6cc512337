"""A journal as people read it, and as programs do."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ostiary.cli.output import safe
from ostiary.contracts.content import Image, Text, Thinking, ToolCall
from ostiary.contracts.events import (
    KIND_OF,
    ApprovalAnswered,
    ApprovalAsked,
    Branched,
    Compacted,
    Declassified,
    Erased,
    Imported,
    ModelAnswered,
    ModelRequested,
    ModelSpent,
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
from ostiary.contracts.model import Usage

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


def explained(record: Mapping[str, Any]) -> Iterator[str]:
    """A turn's record (`turns.explain`) for a person."""
    turn = record["turn"]
    yield f"{turn['id']} by {turn['sender']}: {turn['status']}"
    asked = {step["step"]: step for step in record["steps"]}
    for step in turn["steps"]:
        sent = asked.get(step["step"], {})
        cost = f", ${sent['cost']:.4f}" if sent.get("cost") is not None else ""
        size = f"{sent.get('messages', 0)} messages, {sent.get('characters', 0)} characters"
        yield f"step {step['step']}: {step['model']} read {size} in {sent.get('seconds', 0.0):.1f} s{cost}"
        for use in step["calls"]:
            yield f"  {use['name']} {_cut(use['arguments'])}"
            for question in use.get("asked") or ():
                told = question.get("answer") or "waits"
                by = f" by {question['by']}" if question.get("by") else ""
                yield f"    asked by {', '.join(question['layers'])}: {question['reason']}; {told}{by}"
            yield from (f"    {line}" for line in _decided(record["decisions"], use))


def _decided(decisions: Sequence[Mapping[str, Any]], use: Mapping[str, Any]) -> Iterator[str]:
    rows = [row for row in decisions if row["callId"] == use["id"]]
    for row in rows:
        yield f"{row['outcome']} by {row['layer']}" + (f": {row['reason']}" if row["reason"] else "")
    if not rows and use.get("layer"):
        yield f"allow by {use['layer']}" + (f": {use['reason']}" if use.get("reason") else "")


def _tell(event: Any) -> tuple[str, str]:
    tell = _TELL.get(type(event))
    return tell(event) if tell is not None else (type(event).__name__, "")


def _inputs(event: TurnStarted | Steered) -> str:
    return "\n".join(_part(part) for each in event.inputs for part in each.parts)


def _started(event: TurnStarted) -> tuple[str, str]:
    head = f"turn started by {event.principal.user} ({event.principal.role})"
    return head, "\n".join(filter(None, (event.instructions and f"[instructions] {event.instructions}", _inputs(event))))


def _answered(event: ModelAnswered) -> tuple[str, str]:
    head = f"{event.model} answered step {event.step} ({event.stop}; {_paid(event.usage)})"
    return head, "\n".join(_part(part) for part in event.parts)


def _spent(event: ModelSpent) -> tuple[str, str]:
    return f"{event.model} was asked besides: {event.purpose} ({_paid(event.usage)})", ""


def _paid(usage: Usage) -> str:
    cost = f", ${usage.cost:.4f}" if usage.cost is not None else ""
    return f"{usage.input + usage.cache_read} in, {usage.output} out{cost}"


def _asked(event: ApprovalAsked) -> tuple[str, str]:
    bound = "\n".join(f"{name}: {value}" for name, value in event.bound.items())
    return f"{event.name} waits for a yes ({event.approval}), asked by {', '.join(event.layers)}: {event.reason}", bound


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
    ModelSpent: _spent,
    ModelAnswered: _answered,
    ToolIntended: lambda e: (f"calls {e.name} (allowed by {e.layer}" + (f": {e.reason})" if e.reason else ")"), e.arguments),
    ToolResulted: lambda e: (f"{e.name} {e.fate}" + (" with an error" if e.is_error else ""), e.text),
    ApprovalAsked: _asked,
    ApprovalAnswered: lambda e: (f"{e.approval} {e.answer}" + (f" by {e.by}" if e.by else ""), e.note),
    Declassified: lambda e: (f"everything before is vouched for by {e.by}", e.reason),
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
