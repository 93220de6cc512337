"""OpenClaw's transcripts: a `session` header, then entries that form a tree of messages, settings and summaries."""

import base64
import binascii
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from ostiary.contracts.content import (
    AnswerPart,
    AssistantMessage,
    Image,
    Label,
    Message,
    Text,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
    UserPart,
)
from ostiary.contracts.records import dataclass

FOREIGN_HEADER = "session"
_LARGEST_IMAGE = 20_000_000
_IMAGES_IN_ALL = 200_000_000
_FOREIGN = Label(trust=Trust.UNTRUSTED, sources=("import",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    messages: tuple[Message, ...]
    settings: Mapping[str, str]
    title: str
    blobs: Mapping[str, bytes]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Reading:
    """What has been gathered so far. Tool results are never trusted more than the web."""

    label: Label
    messages: list[Message] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    title: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def foreign(self) -> Label:
        return self.label.join(_FOREIGN)


def read_openclaw(header: Mapping[str, object], entries: Iterable[Mapping[str, object]], *, label: Label) -> Foreign:
    """The branch that ends with the last entry, from its last summary on. Never raises; `notes` says what was left out."""
    reading = _Reading(label=label)
    branch = _branch(list(entries), reading.notes)
    for entry in _since_summary(branch):
        _take(entry, reading)
    notes = tuple(f"{text} ({count}×)" for text, count in reading.notes.items())
    return Foreign(
        messages=tuple(reading.messages), settings=reading.settings, title=reading.title, blobs=reading.blobs, notes=notes
    )


def _branch(entries: Sequence[Mapping[str, object]], notes: Counter[str]) -> list[Mapping[str, object]]:
    """The way from the last entry to the root; the file's own order where entries are not linked."""
    by_id: dict[str, Mapping[str, object]] = {}
    unique: list[Mapping[str, object]] = []
    for entry in entries:
        name = entry.get("id")
        if isinstance(name, str) and name:
            if name in by_id:
                notes["left out an entry whose id was used before"] += 1
                continue
            by_id[name] = entry
        unique.append(entry)
    if not unique or not all("parentId" in entry and isinstance(entry.get("id"), str) for entry in unique):
        return unique
    way: list[Mapping[str, object]] = []
    seen: set[str] = set()
    here: Mapping[str, object] | None = unique[-1]
    while here is not None and str(here["id"]) not in seen:
        seen.add(str(here["id"]))
        way.append(here)
        parent = here.get("parentId")
        here = by_id.get(parent) if isinstance(parent, str) else None
    if here is not None or (isinstance(way[-1].get("parentId"), str) and way[-1] is not unique[0]):
        # The links are broken: a conversation in the order written is better than half of one.
        notes["read entries in the order written, their links are broken"] += 1
        return unique
    if len(way) < len(unique):
        notes["left out an entry of another branch"] += len(unique) - len(way)
    return way[::-1]


def _since_summary(branch: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """After a compaction: the summary, what it kept, what came after; settings and titles of all."""
    at = max((index for index, entry in enumerate(branch) if entry.get("type") == "compaction"), default=-1)
    if at < 0:
        return list(branch)
    kept_from = branch[at].get("firstKeptEntryId")
    start = next((index for index, entry in enumerate(branch[:at]) if entry.get("id") == kept_from), at)
    earlier = [entry for entry in branch[:start] if entry.get("type") in _QUIET]
    kept = [entry for entry in branch[start:at] if entry.get("type") != "compaction"]
    return [*earlier, branch[at], *kept, *branch[at + 1 :]]


_QUIET = frozenset({"model_change", "thinking_level_change", "session_info"})


def _take(entry: Mapping[str, object], reading: _Reading) -> None:
    kind = entry.get("type")
    if kind == "message":
        message = entry.get("message")
        _take_message(message if isinstance(message, Mapping) else {}, reading)
    elif kind in ("compaction", "branch_summary"):
        _add_user(
            [Text(text=f"Summary of the conversation before: {_text(entry.get('summary'))}", label=reading.foreign)], reading
        )
    elif kind == "custom_message":
        _add_user(_user_parts(entry.get("content"), reading.foreign, reading), reading)
    elif kind == "model_change" and _text(entry.get("provider")) and _text(entry.get("modelId")):
        reading.settings["model"] = f"{_text(entry.get('provider'))}/{_text(entry.get('modelId'))}"
    elif kind == "thinking_level_change":
        reading.settings["thinking"] = _text(entry.get("thinkingLevel"))
    elif kind == "session_info":
        reading.title = _text(entry.get("name"))[:200]


def _take_message(message: Mapping[str, object], reading: _Reading) -> None:
    role = message.get("role")
    content = message.get("content")
    if role == "user":
        _add_user(_user_parts(content, reading.label, reading), reading)
    elif role == "assistant":
        provider, model = _text(message.get("provider")), _text(message.get("model"))
        parts = _answer_parts(content, reading)
        reading.messages.append(AssistantMessage(parts=parts, model=f"{provider}/{model}" if provider and model else ""))
    elif role in ("toolResult", "tool"):
        _add_outcome(message, reading)
    elif role in ("custom", "hookMessage"):
        _add_user(_user_parts(content, reading.foreign, reading), reading)
    elif role == "bashExecution" and not message.get("excludeFromContext"):
        ran = f"Ran `{_text(message.get('command'))}`:\n{_text(message.get('output'))}"
        _add_user([Text(text=ran, label=reading.foreign)], reading)
    elif role in ("branchSummary", "compactionSummary"):
        _add_user([Text(text=_text(message.get("summary")), label=reading.foreign)], reading)
    else:
        reading.notes["left out a message of an unknown role"] += 1


def _add_user(parts: Sequence[UserPart], reading: _Reading) -> None:
    reading.messages.append(UserMessage(parts=tuple(parts)))


def _add_outcome(message: Mapping[str, object], reading: _Reading) -> None:
    parts = _user_parts(message.get("content"), reading.foreign, reading)
    outcome = ToolOutcome(
        call_id=_text(message.get("toolCallId")),
        name=_text(message.get("toolName")),
        text="\n".join(part.text for part in parts if isinstance(part, Text)),
        is_error=message.get("isError") is True,
        label=reading.foreign,
        images=tuple(part for part in parts if isinstance(part, Image)),
    )
    last = reading.messages[-1] if reading.messages else None
    if isinstance(last, ToolMessage):
        reading.messages[-1] = ToolMessage(outcomes=(*last.outcomes, outcome))
    else:
        reading.messages.append(ToolMessage(outcomes=(outcome,)))


def _user_parts(content: object, label: Label, reading: _Reading) -> list[UserPart]:
    if isinstance(content, str):
        return [Text(text=content, label=label)]
    parts: list[UserPart] = []
    for block in _blocks(content):
        if block.get("type") == "text":
            parts.append(Text(text=_text(block.get("text")), label=label))
        elif block.get("type") == "image":
            parts.append(_image(block, label, reading))
        else:
            reading.notes["left out content of an unknown kind"] += 1
    return parts


def _answer_parts(content: object, reading: _Reading) -> tuple[AnswerPart, ...]:
    if isinstance(content, str):
        return (Text(text=content, label=reading.label),)
    parts: list[AnswerPart] = []
    for block in _blocks(content):
        kind = block.get("type")
        if kind == "text":
            parts.append(Text(text=_text(block.get("text")), label=reading.label))
        elif kind == "toolCall":
            arguments = block.get("arguments")
            written = arguments if isinstance(arguments, str) else json.dumps(arguments if arguments is not None else {})
            parts.append(ToolCall(id=_text(block.get("id")), name=_text(block.get("name")), arguments=written))
        elif kind == "thinking":
            # Its proof belongs to another program's requests, and providers refuse thinking without one.
            reading.notes["left out thinking, which cannot be carried over"] += 1
        else:
            reading.notes["left out content of an unknown kind"] += 1
    return tuple(parts)


def _image(block: Mapping[str, object], label: Label, reading: _Reading) -> UserPart:
    encoded = _text(block.get("data"))
    room = min(_LARGEST_IMAGE, _IMAGES_IN_ALL - sum(map(len, reading.blobs.values())))
    media_type = _text(block.get("mimeType"))
    try:
        content = base64.b64decode(encoded, validate=True) if len(encoded) * 3 // 4 <= room else b""
    except (binascii.Error, ValueError):
        content = b""
    if not content or not media_type.startswith("image/"):
        reading.notes["left out an image that is broken or too large"] += 1
        return Text(text="[an image was here]", label=label)
    digest = hashlib.sha256(content).hexdigest()
    reading.blobs[digest] = content
    return Image(digest=digest, media_type=media_type[:100], label=label)


def _blocks(content: object) -> list[Mapping[str, object]]:
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
