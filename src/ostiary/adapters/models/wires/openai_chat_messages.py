"""Messages and tools as OpenAI chat completions wants them."""

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
from ostiary.contracts.content import AssistantMessage, Image, Message, Text, Thinking, ToolCall, ToolMessage, UserMessage
from ostiary.contracts.model import ToolSchema

WIRE = "openai-completions"


def encode_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    return to_json(
        [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": object_schema(tool.parameters)},
            }
            for tool in tools
        ]
    )


def encode_message(message: Message, *, provider: str, sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[bytes, int]:
    """The message as one or more JSON objects joined by commas, and its size; negative if it may differ next time."""
    whole = True
    if isinstance(message, UserMessage):
        content, whole = _user_content(message.parts, sees_images, blobs)
        encoded = to_json({"role": "user", "content": content})
    elif isinstance(message, AssistantMessage):
        encoded = _assistant(message, replayable=message.model.startswith(f"{provider}/"))
    else:
        encoded, whole = _outcomes(message, sees_images, blobs)
    return encoded, len(encoded) if whole else -1


def _user_content(
    parts: tuple[Text | Image, ...], sees_images: bool, blobs: Mapping[str, bytes]
) -> tuple[str | list[dict[str, Any]], bool]:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text or EMPTY, True
    content: list[dict[str, Any]] = []
    whole = True
    for part in parts:
        if isinstance(part, Text):
            if part.text:
                content.append({"type": "text", "text": part.text})
        elif not sees_images:
            content.append({"type": "text", "text": UNSEEN})
        elif (encoded := image_base64(part, blobs)) is None:
            content.append({"type": "text", "text": MISSING})
            whole = False
        else:
            content.append({"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{encoded}"}})
    return content or EMPTY, whole


def _assistant(message: AssistantMessage, *, replayable: bool) -> bytes:
    text: list[str] = []
    calls: list[dict[str, Any]] = []
    fields: dict[str, Any] = {"role": "assistant"}
    for part in message.parts:
        if isinstance(part, Text):
            text.append(part.text)
        elif isinstance(part, ToolCall):
            function = {"name": part.name, "arguments": arguments_text(part)}
            calls.append({"id": call_id(part.id), "type": "function", "function": function})
        elif replayable:
            fields.update(_reasoning(part))
    content = "".join(text)
    if not content and not calls:
        return b""
    fields["content"] = content or None
    if calls:
        fields["tool_calls"] = calls
    return to_json(fields)


def _reasoning(part: Thinking) -> dict[str, Any]:
    """Given back under the name the server used; servers that want none never send any."""
    replay = unpack_replay(part, WIRE)
    match replay.get("field"):
        case "reasoning_details":
            return {"reasoning_details": replay.get("details")}
        case "reasoning_content" | "reasoning" as field:
            return {field: part.text}
    return {}


def _outcomes(message: ToolMessage, sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[bytes, bool]:
    encoded: list[bytes] = []
    images: list[Text | Image] = []
    for outcome in message.outcomes:
        text = f"Error: {outcome.text}" if outcome.is_error else outcome.text
        encoded.append(to_json({"role": "tool", "tool_call_id": call_id(outcome.call_id), "content": text or EMPTY}))
        if outcome.images:
            images.append(Text(text=f"Images from {outcome.name}:", label=outcome.label))
            images.extend(outcome.images)
    whole = True
    if images:
        # A tool message holds text only; the images follow in a message of the user.
        content, whole = _user_content(tuple(images), sees_images, blobs)
        encoded.append(to_json({"role": "user", "content": content}))
    return b",".join(encoded), whole
