"""Messages and tools as Gemini wants them: two roles in turn, results by name, signatures back where they came from."""

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
from ostiary.adapters.models.wires.schema import gemini_schema
from ostiary.contracts.content import AssistantMessage, Image, Message, Text, Thinking, ToolCall, ToolMessage, UserMessage
from ostiary.contracts.model import ToolSchema

WIRE = "google-generative-ai"

Piece = tuple[str, bytes]
"""A role, and parts joined by commas."""

# Google's own word for "this call was not made by a Gemini model, do not look for its signature".
_FOREIGN_CALL = "skip_thought_signature_validator"


def encode_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    declarations: list[dict[str, Any]] = []
    for tool in tools:
        declaration: dict[str, Any] = {"name": tool.name, "description": tool.description}
        schema = gemini_schema(tool.parameters)
        # An object without properties is refused; a tool without parameters simply has none.
        if schema.get("properties"):
            declaration["parameters"] = {**schema, "type": "object"}
        declarations.append(declaration)
    return to_json([{"functionDeclarations": declarations}])


def encode_message(
    message: Message, *, provider: str, sees_images: bool, wants_signatures: bool, blobs: Mapping[str, bytes]
) -> tuple[Piece, int]:
    """The message's role and parts, and their size; negative if they may differ next time."""
    role, whole = "user", True
    if isinstance(message, UserMessage):
        parts, whole = _content(message.parts, sees_images, blobs)
        parts = parts or [{"text": EMPTY}]
    elif isinstance(message, AssistantMessage):
        role = "model"
        parts = _answer(message, replayable=message.model.startswith(f"{provider}/"), wants_signatures=wants_signatures)
    else:
        parts, whole = _outcomes(message, sees_images, blobs)
    encoded = to_json(parts)[1:-1]
    return (role, encoded), len(encoded) if whole else -1


def join_contents(pieces: list[Piece]) -> bytes:
    """Neighbours of the same role become one content."""
    runs: list[tuple[str, list[bytes]]] = []
    last = ""
    for role, parts in pieces:
        if not parts:
            continue
        if role == last:
            runs[-1][1].append(parts)
        else:
            runs.append((role, [parts]))
            last = role
    return b",".join(b'{"role":"%b","parts":[%b]}' % (role.encode(), b",".join(run)) for role, run in runs)


def _content(parts: tuple[Text | Image, ...], sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[list[dict[str, Any]], bool]:
    encoded_parts: list[dict[str, Any]] = []
    whole = True
    for part in parts:
        if isinstance(part, Text):
            if part.text:
                encoded_parts.append({"text": part.text})
        elif not sees_images:
            encoded_parts.append({"text": UNSEEN})
        elif (encoded := image_base64(part, blobs)) is None:
            encoded_parts.append({"text": MISSING})
            whole = False
        else:
            encoded_parts.append({"inlineData": {"mimeType": part.media_type, "data": encoded}})
    return encoded_parts, whole


def _answer(message: AssistantMessage, *, replayable: bool, wants_signatures: bool) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    signed = False
    for part in message.parts:
        if isinstance(part, Text):
            if part.text:
                parts.append({"text": part.text})
        elif isinstance(part, ToolCall):
            call = {"id": call_id(part.id), "name": part.name, "args": arguments_object(part)}
            encoded: dict[str, Any] = {"functionCall": call}
            signature = unpack_replay(part, WIRE).get("signature") if replayable else None
            if signature is None and wants_signatures and not signed:
                signature = _FOREIGN_CALL
            if signature is not None:
                encoded["thoughtSignature"] = signature
            # Only the first of several calls made together is signed.
            signed = True
            parts.append(encoded)
        elif replayable:
            parts += _thinking(part)
    return parts


def _thinking(part: Thinking) -> list[dict[str, Any]]:
    replay = unpack_replay(part, WIRE)
    if "signature" not in replay:
        return []
    encoded = {"text": part.text, "thoughtSignature": replay["signature"]}
    return [{**encoded, "thought": True} if replay.get("thought") else encoded]


def _outcomes(message: ToolMessage, sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[list[dict[str, Any]], bool]:
    responses: list[dict[str, Any]] = []
    images: list[Text | Image] = []
    for outcome in message.outcomes:
        response = {"error" if outcome.is_error else "output": outcome.text}
        answer = {"id": call_id(outcome.call_id), "name": outcome.name, "response": response}
        responses.append({"functionResponse": answer})
        if outcome.images:
            images.append(Text(text=f"Images from {outcome.name}:", label=outcome.label))
            images.extend(outcome.images)
    shown, whole = _content(tuple(images), sees_images, blobs)
    return responses + shown, whole
