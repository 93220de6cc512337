"""A conversation as JSON lines: ours, OpenAI's messages, or another assistant's export; written simply, read forgivingly."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ostiary.contracts.content import (
    AnswerPart,
    AssistantMessage,
    Label,
    Message,
    Text,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
)
from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass

FORMAT = "ostiary-transcript"
VERSION = 1
_MOST_LINES = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    messages: tuple[Message, ...]
    notes: tuple[str, ...]


def write(key: str, messages: Sequence[Message]) -> Iterator[str]:
    """A heading line, then one line per message. Images are named by digest; thinking stays where it was thought."""
    yield json.dumps({"type": FORMAT, "version": VERSION, "session": key})
    for message in messages:
        for line in _lines(message):
            yield json.dumps(line, ensure_ascii=False)


def read(lines: Sequence[str], source: str) -> Read:
    """What can be understood, with notes on the rest. All of it is untrusted: a file says nothing of who wrote it.

    Raises BadInput if it is no transcript at all, or of a newer version than this one.
    """
    if len(lines) > _MOST_LINES:
        raise BadInput(f"{source} has more than {_MOST_LINES:,} lines", hint="Split it.")
    label = Label(trust=Trust.UNTRUSTED, sources=(f"import:{source}",))
    messages: list[Message] = []
    skipped: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        entry = _entry(line)
        if entry is None:
            skipped.append(number)
            continue
        if entry.get("type") == FORMAT:
            _check_version(entry, source)
            continue
        understood = _message(entry, label)
        if understood is not None:
            messages.append(understood)
    if not messages:
        raise BadInput(f"{source} holds no messages", hint="Each line is a JSON object with role and content.")
    notes = [f"line {number} is not JSON and was left out" for number in skipped[:10]]
    return Read(messages=tuple(messages), notes=tuple(notes))


def _check_version(entry: Mapping[str, Any], source: str) -> None:
    if entry.get("version") != VERSION:
        raise BadInput(f"{source} is of version {entry.get('version')!r}; this Ostiary reads {VERSION}", hint="Update Ostiary.")


def _lines(message: Message) -> Iterator[dict[str, Any]]:
    match message:
        case UserMessage(parts=parts):
            yield {"role": "user", "content": [_user_part(part) for part in parts]}
        case AssistantMessage(parts=parts, model=model):
            calls = [
                {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.arguments}}
                for part in parts
                if isinstance(part, ToolCall)
            ]
            text = "".join(part.text for part in parts if isinstance(part, Text))
            yield {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {}), "model": model}
        case ToolMessage(outcomes=outcomes):
            for each in outcomes:
                yield {
                    "role": "tool",
                    "tool_call_id": each.call_id,
                    "name": each.name,
                    "content": each.text,
                    "is_error": each.is_error,
                }


def _user_part(part: Any) -> dict[str, str]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "image", "digest": part.digest, "media_type": part.media_type}


def _entry(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _message(entry: dict[str, Any], label: Label) -> Message | None:
    """A message, also one wrapped as `{"type": "message", "message": {...}}`; None for anything else."""
    inner = entry.get("message")
    entry = inner if isinstance(inner, dict) else entry
    text = _text(entry.get("content"))
    match entry.get("role"):
        case "user":
            return UserMessage(parts=(Text(text=text, label=label),)) if text else None
        case "assistant":
            said: tuple[AnswerPart, ...] = (Text(text=text, label=label),) if text else ()
            return AssistantMessage(parts=(*said, *_calls(entry)), model=_word(entry.get("model")))
        case "tool" | "toolResult":
            call_id = _word(entry.get("tool_call_id") or entry.get("toolCallId"))
            name = _word(entry.get("name") or entry.get("toolName"))
            failed = bool(entry.get("is_error") or entry.get("isError"))
            return ToolMessage(outcomes=(ToolOutcome(call_id=call_id, name=name, text=text, is_error=failed, label=label),))
        case _:
            return None


def _calls(entry: dict[str, Any]) -> Iterator[ToolCall]:
    for call in _list(entry.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, dict):
            yield ToolCall(id=_word(call.get("id")), name=_word(function.get("name")), arguments=_json(function.get("arguments")))
    for part in _list(entry.get("content")):
        if part.get("type") in ("toolCall", "tool_use"):
            arguments = part.get("arguments", part.get("input"))
            yield ToolCall(id=_word(part.get("id")), name=_word(part.get("name")), arguments=_json(arguments))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(
        _word(part.get("text")) for part in _list(content) if part.get("type") in ("text", None) and part.get("text")
    )


def _list(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value if value is not None else {})
