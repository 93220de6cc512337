"""Ollama's native chat: api name `ollama`. One JSON document per line, whole tool calls without ids."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from ostiary.adapters.models.wires.answer import Answer
from ostiary.adapters.models.wires.auth import bearer
from ostiary.adapters.models.wires.encoding import (
    EMPTY,
    MISSING,
    UNSEEN,
    Caches,
    arguments_object,
    image_base64,
    pack_replay,
    raw_arguments,
    to_json,
    unpack_replay,
)
from ostiary.adapters.models.wires.errors import Said, refusal
from ostiary.adapters.models.wires.exchange import Attempt
from ostiary.adapters.models.wires.listing import fetch
from ostiary.adapters.models.wires.schema import ollama_schema
from ostiary.adapters.models.wires.sse import Lines
from ostiary.adapters.models.wires.terms import check_free_choice, ollama_form, only_text
from ostiary.adapters.models.wires.thinking import ollama_think
from ostiary.adapters.models.wires.wire import Endpoint, ListedModel
from ostiary.contracts.content import AssistantMessage, Image, Message, Text, ToolCall, UserMessage
from ostiary.contracts.model import ModelFacts, ModelRef, ModelRequest, StopReason, ToolSchema, Usage

WIRE = "ollama"

_HEADERS = {"Content-Type": "application/json"}
_STOPS: dict[str, StopReason] = {"stop": "stop", "length": "length"}
_UNKNOWN_WINDOW = 200_000


class Ollama:
    """A base URL that ends in `/v1`, as written for the OpenAI copy of the same server, is understood."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._caches: Caches[bytes] = Caches()

    def stream(self, request: ModelRequest, ref: ModelRef, secret: str) -> Attempt:
        return Attempt(
            self._endpoint,
            ref,
            "/api/chat",
            self._body(request, ref),
            headers=_HEADERS,
            secret_headers=bearer(secret),
            splitter=Lines,
            reader=partial(_Reader, ref.provider),
        )

    async def list_models(self, secret: str) -> tuple[ListedModel, ...]:
        listed = await fetch(self._endpoint, "/api/tags", _Listing, headers={}, secret_headers=bearer(secret))
        return tuple(ListedModel(id=model.name) for model in listed.models)

    def _body(self, request: ModelRequest, ref: ModelRef) -> bytes:
        facts = self._endpoint.facts(ref)
        cache = self._caches.messages((ref.provider, facts.sees_images))
        encode = partial(_encode_message, provider=ref.provider, sees_images=facts.sees_images, blobs=request.blobs)
        messages = cache.gather(request.messages, encode)
        system = "\n\n".join(part for part in request.system if part)
        if system:
            messages.insert(0, to_json({"role": "system", "content": system}))
        joined = b",".join(filter(None, messages))
        check_free_choice(request, ref)
        # A form is a grammar for everything that is written, so no call could be.
        offered = () if only_text(request, ref) else request.tools
        tools = b',"tools":' + self._caches.tools(offered, _encode_tools) if offered else b""
        return to_json(_settings(request, facts))[:-1] + tools + b',"messages":[' + joined + b"]}"


def _settings(request: ModelRequest, facts: ModelFacts) -> dict[str, Any]:
    settings: dict[str, Any] = {"model": facts.ref.model, "stream": True}
    think = ollama_think(facts, request.thinking)
    if think is not None:
        settings["think"] = think
    options: dict[str, Any] = {}
    if facts.context_window != _UNKNOWN_WINDOW:
        # Ollama cuts the history to a few thousand tokens in silence unless it is told how much to keep.
        options["num_ctx"] = facts.context_window
    if request.max_tokens is not None:
        options["num_predict"] = request.max_tokens
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if options:
        settings["options"] = options
    return settings | ollama_form(request)


def _encode_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    return to_json(
        [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": ollama_schema(tool.parameters)},
            }
            for tool in tools
        ]
    )


def _encode_message(message: Message, *, provider: str, sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[bytes, int]:
    whole = True
    if isinstance(message, UserMessage):
        encoded_user, whole = _user(message.parts, sees_images, blobs)
        messages = [encoded_user]
    elif isinstance(message, AssistantMessage):
        messages = _answer(message, replayable=message.model.startswith(f"{provider}/"))
    else:
        messages = []
        images: list[Text | Image] = []
        for outcome in message.outcomes:
            text = f"Error: {outcome.text}" if outcome.is_error else outcome.text
            messages.append({"role": "tool", "tool_name": outcome.name, "content": text or EMPTY})
            if outcome.images:
                images.append(Text(text=f"Images from {outcome.name}:", label=outcome.label))
                images.extend(outcome.images)
        if images:
            encoded_images, whole = _user(tuple(images), sees_images, blobs)
            messages.append(encoded_images)
    encoded = to_json(messages)[1:-1]
    return encoded, len(encoded) if whole else -1


def _user(parts: tuple[Text | Image, ...], sees_images: bool, blobs: Mapping[str, bytes]) -> tuple[dict[str, Any], bool]:
    text: list[str] = []
    images: list[str] = []
    whole = True
    for part in parts:
        if isinstance(part, Text):
            text.append(part.text)
        elif not sees_images:
            text.append(UNSEEN)
        elif (encoded := image_base64(part, blobs)) is None:
            text.append(MISSING)
            whole = False
        else:
            images.append(encoded)
    message: dict[str, Any] = {"role": "user", "content": "\n".join(filter(None, text)) or ("" if images else EMPTY)}
    if images:
        message["images"] = images
    return message, whole


def _answer(message: AssistantMessage, *, replayable: bool) -> list[dict[str, Any]]:
    text: list[str] = []
    thinking: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Text):
            text.append(part.text)
        elif isinstance(part, ToolCall):
            calls.append({"function": {"name": part.name, "arguments": arguments_object(part)}})
        elif replayable and unpack_replay(part, WIRE):
            thinking.append(part.text)
    content = "".join(text)
    if not content and not calls:
        return []
    fields: dict[str, Any] = {"role": "assistant", "content": content}
    if thinking:
        fields["thinking"] = "".join(thinking)
    if calls:
        fields["tool_calls"] = calls
    return [fields]


class _Function(msgspec.Struct):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"")


class _Call(msgspec.Struct):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Line(msgspec.Struct):
    message: _Message | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: Any = None


class _ListedModel(msgspec.Struct):
    name: str


class _Listing(msgspec.Struct):
    models: list[_ListedModel]


_decode = msgspec.json.Decoder(_Line).decode


class _Reader:
    __slots__ = ("_calls", "_who", "answer")

    def __init__(self, who: str, answer: Answer) -> None:
        self.answer = answer
        self._who = who
        self._calls = 0

    def read(self, data: bytes) -> bool:
        if not data or data == b"\r":
            return False
        line = _decode(data)
        if line.error is not None:
            raise refusal(self._who, Said(words=str(line.error)[:500]))
        if line.message is not None:
            self._message(line.message)
        if not line.done:
            return False
        self.answer.usage = Usage(input=line.prompt_eval_count or 0, output=line.eval_count or 0)
        self.answer.stop = _STOPS.get(line.done_reason or "stop", "other")
        return True

    def _message(self, message: _Message) -> None:
        if message.thinking:
            block = self.answer.thinking("thinking", message.thinking)
            if not block.replay:
                block.replay = pack_replay(WIRE)
        if message.content:
            self.answer.text("text", message.content)
        for call in message.tool_calls or ():
            self._calls += 1
            block = self.answer.call(self._calls)
            block.provider_id = call.id or ""
            block.name = call.function.name
            self.answer.arguments(block, raw_arguments(call.function.arguments))
