"""Messages and tools as Anthropic wants them: alternating roles, results before words, cache points near the end."""

from collections.abc import Mapping
from typing import Any

from ostiary.adapters.models.wires.encoding import (
    EMPTY,
    MISSING,
    UNSEEN,
    arguments_object,
    call_id,
    image_base64,
    to_json,
    unpack_replay,
)
from ostiary.adapters.models.wires.schema import object_schema
from ostiary.contracts.content import AssistantMessage, Image, Message, Text, Thinking, ToolCall, ToolOutcome, UserMessage
from ostiary.contracts.model import ToolSchema

WIRE = "anthropic-messages"

Piece = tuple[str, bytes]
"""A role, and content blocks joined by commas."""

_CACHE_POINT = b',"cache_control":{"type":"ephemeral"}}'
_CACHE_POINTS_IN_HISTORY = 2


def encode_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    """The last tool carries a cache point: tools come first in what Anthropic caches."""
    encoded: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": object_schema(tool.parameters)} for tool in tools
    ]
    encoded[-1]["cache_control"] = {"type": "ephemeral"}
    return to_json(encoded)


def encode_message(message: Message, *, provider: str, sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[Piece, int]:
    """The message's role and blocks, and their size; negative if they may differ next time."""
    role, whole = "user", True
    if isinstance(message, UserMessage):
        blocks, whole = _content(message.parts, sees_images, blobs)
        blocks = blocks or [{"type": "text", "text": EMPTY}]
    elif isinstance(message, AssistantMessage):
        role, blocks = "assistant", _answer(message, replayable=message.model.startswith(f"{provider}/"))
    else:
        blocks = []
        for outcome in message.outcomes:
            block, complete = _outcome(outcome, sees_images, blobs)
            blocks.append(block)
            whole = whole and complete
    encoded = to_json(blocks)[1:-1]
    return (role, encoded), len(encoded) if whole else -1


def join_messages(pieces: list[Piece]) -> bytes:
    """Neighbours of the same role become one message; the last messages of the user carry the cache points."""
    runs: list[tuple[str, list[bytes]]] = []
    last = ""
    for role, blocks in pieces:
        if not blocks:
            continue
        if role == last:
            runs[-1][1].append(blocks)
        else:
            runs.append((role, [blocks]))
            last = role
    points = [place for place, (role, _) in enumerate(runs) if role == "user"][-_CACHE_POINTS_IN_HISTORY:]
    for place in points:
        run = runs[place][1]
        run[-1] = run[-1][:-1] + _CACHE_POINT
    return b",".join(b'{"role":"%b","content":[%b]}' % (role.encode(), b",".join(run)) for role, run in runs)


def _content(parts: tuple[Text | Image, ...], sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[list[dict[str, Any]], bool]:
    blocks: list[dict[str, Any]] = []
    whole = True
    for part in parts:
        if isinstance(part, Text):
            # Blocks of nothing but white space are refused.
            if part.text.strip():
                blocks.append({"type": "text", "text": part.text})
        elif not sees_images:
            blocks.append({"type": "text", "text": UNSEEN})
        elif (encoded := image_base64(part, blobs)) is None:
            blocks.append({"type": "text", "text": MISSING})
            whole = False
        else:
            source = {"type": "base64", "media_type": part.media_type, "data": encoded}
            blocks.append({"type": "image", "source": source})
    return blocks, whole


def _answer(message: AssistantMessage, *, replayable: bool) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Text):
            if part.text.strip():
                blocks.append({"type": "text", "text": part.text})
        elif isinstance(part, ToolCall):
            blocks.append({"type": "tool_use", "id": call_id(part.id), "name": part.name, "input": arguments_object(part)})
        elif replayable:
            blocks += _thinking(part)
    return blocks


def _thinking(part: Thinking) -> list[dict[str, Any]]:
    """Given back unchanged with its signature; without one it cannot be given back at all."""
    replay = unpack_replay(part, WIRE)
    if "redacted" in replay:
        return [{"type": "redacted_thinking", "data": replay["redacted"]}]
    if "signature" in replay:
        return [{"type": "thinking", "thinking": part.text, "signature": replay["signature"]}]
    return []


def _outcome(outcome: ToolOutcome, sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[dict[str, Any], bool]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id(outcome.call_id)}
    whole = True
    if outcome.images:
        text = Text(text=outcome.text, label=outcome.label)
        block["content"], whole = _content((text, *outcome.images), sees_images, blobs)
    elif outcome.text.strip():
        block["content"] = outcome.text
    if outcome.is_error:
        block["is_error"] = True
        block.setdefault("content", "The tool failed and said nothing.")
    return block, whole
