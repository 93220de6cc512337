"""Messages and tools as the items OpenAI responses wants."""

from collections.abc import Mapping
from typing import Any

from ostiary.adapters.models.wires.encoding import (
    EMPTY,
    MISSING,
    UNSEEN,
    arguments_text,
    call_id,
    image_base64,
    to_json,
    unpack_replay,
)
from ostiary.adapters.models.wires.schema import object_schema
from ostiary.contracts.content import AssistantMessage, Image, Message, Text, ToolCall, ToolOutcome, UserMessage
from ostiary.contracts.model import ToolSchema

WIRE = "openai-responses"


def encode_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    return to_json(
        [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": object_schema(tool.parameters),
                "strict": False,
            }
            for tool in tools
        ]
    )


def encode_message(message: Message, *, model: str, sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[bytes, int]:
    """The message as items joined by commas, and their size; negative if they may differ next time."""
    whole = True
    if isinstance(message, UserMessage):
        content, whole = _content(message.parts, sees_images, blobs)
        items: list[dict[str, Any]] = [{"role": "user", "content": content or [{"type": "input_text", "text": EMPTY}]}]
    elif isinstance(message, AssistantMessage):
        items = _answer(message, replayable=message.model == model)
    else:
        items = []
        for outcome in message.outcomes:
            output, complete = _output(outcome, sees_images, blobs)
            items.append({"type": "function_call_output", "call_id": call_id(outcome.call_id), "output": output})
            whole = whole and complete
    encoded = to_json(items)[1:-1]
    return encoded, len(encoded) if whole else -1


def _content(parts: tuple[Text | Image, ...], sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[list[dict[str, Any]], bool]:
    content: list[dict[str, Any]] = []
    whole = True
    for part in parts:
        if isinstance(part, Text):
            if part.text:
                content.append({"type": "input_text", "text": part.text})
        elif not sees_images:
            content.append({"type": "input_text", "text": UNSEEN})
        elif (encoded := image_base64(part, blobs)) is None:
            content.append({"type": "input_text", "text": MISSING})
            whole = False
        else:
            url = f"data:{part.media_type};base64,{encoded}"
            content.append({"type": "input_image", "detail": "auto", "image_url": url})
    return content, whole


def _answer(message: AssistantMessage, *, replayable: bool) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Text):
            if part.text:
                items.append({"role": "assistant", "content": part.text})
        elif isinstance(part, ToolCall):
            # Without the item's own id the call stands by itself, with or without the reasoning before it.
            arguments = arguments_text(part)
            items.append({"type": "function_call", "call_id": call_id(part.id), "name": part.name, "arguments": arguments})
        elif replayable and (item := unpack_replay(part, WIRE).get("item")):
            items.append({"type": "reasoning", **item})
    return items


def _output(outcome: ToolOutcome, sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[str | list[dict[str, Any]], bool]:
    text = f"Error: {outcome.text}" if outcome.is_error else outcome.text
    if not outcome.images:
        return text or EMPTY, True
    return _content((Text(text=text, label=outcome.label), *outcome.images), sees_images, blobs)
