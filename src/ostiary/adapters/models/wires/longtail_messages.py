"""Our messages as pydantic-ai's. Imports the library: only `longtail` imports this, when it is used."""

from collections.abc import Mapping
from typing import Any

from pydantic_ai import messages as theirs
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ostiary.adapters.models.wires.encoding import EMPTY, MISSING, UNSEEN, arguments_text, call_id, unpack_replay
from ostiary.adapters.models.wires.longtail import PROOF
from ostiary.adapters.models.wires.schema import object_schema
from ostiary.contracts.content import AssistantMessage, Image, Text, Thinking, ToolCall, ToolMessage, UserMessage
from ostiary.contracts.model import ModelFacts, ModelRef, ModelRequest


def to_messages(request: ModelRequest, ref: ModelRef, wire: str, *, sees_images: bool) -> list[Any]:
    """Requests and responses in turn; what we know as a tool message goes into the next request."""
    converted: list[Any] = []
    waiting: list[Any] = []
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            parts = _answer(message, wire, replayable=message.model.startswith(f"{ref.provider}/"))
            if not parts:
                continue
            if waiting:
                converted.append(theirs.ModelRequest(parts=waiting))
                waiting = []
            converted.append(theirs.ModelResponse(parts=parts))
        elif isinstance(message, UserMessage):
            waiting.append(theirs.UserPromptPart(_content(message.parts, sees_images, request.blobs)))
        else:
            waiting += _outcomes(message, sees_images, request.blobs)
    system = "\n\n".join(part for part in request.system if part)
    converted.append(theirs.ModelRequest(parts=waiting, instructions=system or None))
    return converted


def to_parameters(request: ModelRequest) -> Any:
    tools = [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=object_schema(tool.parameters))
        for tool in request.tools
    ]
    return ModelRequestParameters(function_tools=tools)


def to_settings(request: ModelRequest, facts: ModelFacts) -> Any:
    # Retries belong to the wrappers around a wire, which know about other profiles and models.
    settings: dict[str, Any] = {"max_retries": 0}
    if request.max_tokens is not None:
        settings["max_tokens"] = request.max_tokens
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if facts.reasons:
        settings["thinking"] = False if request.thinking == "off" else request.thinking
    if request.tools:
        choice = request.tool_choice
        if choice is not None:
            settings["tool_choice"] = [choice.tool] if choice.tool else choice.mode
        if request.parallel_calls is not None:
            settings["parallel_tool_calls"] = request.parallel_calls
    return ModelSettings(**settings)  # type: ignore[typeddict-item]


def _content(parts: tuple[Text | Image, ...], sees_images: bool, blobs: Mapping[str, bytes]) -> Any:
    content: list[Any] = []
    for part in parts:
        if isinstance(part, Text):
            content.append(part.text or EMPTY)
        elif not sees_images:
            content.append(UNSEEN)
        elif (blob := blobs.get(part.digest)) is None:
            content.append(MISSING)
        else:
            content.append(theirs.BinaryContent(data=blob, media_type=part.media_type))
    return content[0] if len(content) == 1 and isinstance(content[0], str) else content or EMPTY


def _answer(message: AssistantMessage, wire: str, *, replayable: bool) -> list[Any]:
    parts: list[Any] = []
    for part in message.parts:
        if isinstance(part, Text):
            if part.text:
                parts.append(theirs.TextPart(part.text))
        elif isinstance(part, ToolCall):
            extra = _proof(part, wire) if replayable else {}
            extra.pop("signature", None)
            parts.append(theirs.ToolCallPart(part.name, arguments_text(part), call_id(part.id), **extra))
        elif replayable and (proof := _proof(part, wire)):
            parts.append(theirs.ThinkingPart(part.text, **proof))
    return parts


def _proof(part: Thinking | ToolCall, wire: str) -> dict[str, Any]:
    replay = unpack_replay(part, wire)
    return {name: replay[name] for name in PROOF if name in replay}


def _outcomes(message: ToolMessage, sees_images: bool, blobs: Mapping[str, bytes]) -> list[Any]:
    returned: list[Any] = []
    images: list[Text | Image] = []
    for outcome in message.outcomes:
        text = f"Error: {outcome.text}" if outcome.is_error else outcome.text
        returned.append(theirs.ToolReturnPart(outcome.name, text, call_id(outcome.call_id)))
        if outcome.images:
            images.append(Text(text=f"Images from {outcome.name}:", label=outcome.label))
            images.extend(outcome.images)
    if images:
        returned.append(theirs.UserPromptPart(_content(tuple(images), sees_images, blobs)))
    return returned
