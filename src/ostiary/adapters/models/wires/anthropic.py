"""Anthropic messages: api name `anthropic-messages`."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from ostiary.adapters.models.wires.answer import Answer, Block
from ostiary.adapters.models.wires.anthropic_messages import WIRE, Piece, encode_message, encode_tools, join_messages
from ostiary.adapters.models.wires.encoding import Caches, pack_replay, to_json
from ostiary.adapters.models.wires.errors import refusal, said
from ostiary.adapters.models.wires.exchange import Attempt
from ostiary.adapters.models.wires.listing import fetch
from ostiary.adapters.models.wires.sse import ServerSentEvents
from ostiary.adapters.models.wires.terms import anthropic_terms, forces_call
from ostiary.adapters.models.wires.thinking import anthropic_thinking, takes_temperature
from ostiary.adapters.models.wires.wire import Endpoint, ListedModel
from ostiary.contracts.model import ModelRef, ModelRequest, StopReason, ThinkingLevel, Usage

_HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream", "anthropic-version": "2023-06-01"}
_OAUTH_HEADERS = {**_HEADERS, "anthropic-beta": "oauth-2025-04-20"}
_OAUTH_PREFIX = "sk-ant-oat"
_CACHE_POINT = {"type": "ephemeral"}
_STOPS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicMessages:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._root = "" if endpoint.origin.origin.prefix.endswith("/v1") else "/v1"
        self._caches: Caches[Piece] = Caches()

    def stream(self, request: ModelRequest, ref: ModelRef, secret: str) -> Attempt:
        return Attempt(
            self._endpoint,
            ref,
            f"{self._root}/messages",
            self._body(request, ref),
            headers=_OAUTH_HEADERS if secret.startswith(_OAUTH_PREFIX) else _HEADERS,
            secret_headers=_credential(secret),
            splitter=ServerSentEvents,
            reader=partial(_Reader, ref.provider),
        )

    async def list_models(self, secret: str) -> tuple[ListedModel, ...]:
        listed = await fetch(
            self._endpoint, f"{self._root}/models?limit=1000", _Listing, headers=_HEADERS, secret_headers=_credential(secret)
        )
        return tuple(
            ListedModel(id=model.id, name=model.display_name, context_window=model.max_input_tokens, max_tokens=model.max_tokens)
            for model in listed.data
        )

    def _body(self, request: ModelRequest, ref: ModelRef) -> bytes:
        facts = self._endpoint.facts(ref)
        cache = self._caches.messages((ref.provider, facts.sees_images))
        encode = partial(encode_message, provider=ref.provider, sees_images=facts.sees_images, blobs=request.blobs)
        messages = join_messages(cache.gather(request.messages, encode))
        # Claude does not think where it is made to call a tool.
        level: ThinkingLevel = "off" if forces_call(request) else request.thinking
        thinking, max_tokens = anthropic_thinking(facts, level, request.max_tokens or facts.max_tokens)
        terms = anthropic_terms(request, ref)
        output = {**thinking.pop("output_config", {}), **terms.pop("output_config", {})}
        settings: dict[str, Any] = {"model": ref.model, "max_tokens": max_tokens, "stream": True, **thinking, **terms}
        if output:
            settings["output_config"] = output
        if request.temperature is not None and takes_temperature(facts, level):
            settings["temperature"] = min(request.temperature, 1.0)
        system = [{"type": "text", "text": part} for part in request.system if part.strip()]
        if system:
            system[0] = {**system[0], "cache_control": _CACHE_POINT}  # type: ignore[dict-item]
            settings["system"] = system
        tools = b',"tools":' + self._caches.tools(request.tools, encode_tools) if request.tools else b""
        return to_json(settings)[:-1] + tools + b',"messages":[' + messages + b"]}"


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _Usage | None = None


class _ContentBlock(msgspec.Struct):
    type: str
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None


class _Delta(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str
    index: int = 0
    delta: _Delta | None = None
    content_block: _ContentBlock | None = None
    message: _Message | None = None
    usage: _Usage | None = None
    error: Any = None


class _ListedModel(msgspec.Struct):
    id: str
    display_name: str = ""
    max_input_tokens: int | None = None
    max_tokens: int | None = None


class _Listing(msgspec.Struct):
    data: list[_ListedModel]


_decode = msgspec.json.Decoder(_Event).decode


class _Reader:
    __slots__ = ("_calls", "_signatures", "_who", "answer")

    def __init__(self, who: str, answer: Answer) -> None:
        self.answer = answer
        self._who = who
        self._calls: dict[int, Block] = {}
        self._signatures: dict[int, str] = {}

    def read(self, data: bytes) -> bool:
        event = _decode(data)
        match event.type:
            case "content_block_delta":
                if event.delta is not None:
                    self._delta(event.index, event.delta)
            case "content_block_start":
                if event.content_block is not None:
                    self._start(event.index, event.content_block)
            case "message_start":
                if event.message is not None and event.message.usage is not None:
                    self.answer.usage = _added(Usage(), event.message.usage)
            case "message_delta":
                if event.usage is not None:
                    self.answer.usage = _added(self.answer.usage, event.usage)
                if event.delta is not None and event.delta.stop_reason:
                    self.answer.stop = _STOPS.get(event.delta.stop_reason, "other")
            case "message_stop":
                return self.answer.stop is not None
            case "error":
                raise refusal(self._who, said({"error": event.error}))
        return False

    def _start(self, index: int, block: _ContentBlock) -> None:
        match block.type:
            case "text":
                self.answer.text(index, block.text or "")
            case "thinking":
                self.answer.thinking(index, block.thinking or "")
                self._sign(index, block.signature or "")
            case "redacted_thinking":
                self.answer.block(index, "thinking").replay = pack_replay(WIRE, redacted=block.data or "")
            case "tool_use":
                call = self._calls[index] = self.answer.call(index)
                call.provider_id = block.id or ""
                call.name = block.name or ""
                # Copies of this wire send the whole input at once.
                self.answer.arguments(call, to_json(block.input).decode() if block.input else "")

    def _delta(self, index: int, delta: _Delta) -> None:
        if delta.text:
            self.answer.text(index, delta.text)
        elif delta.partial_json is not None:
            if index in self._calls:
                self.answer.arguments(self._calls[index], delta.partial_json)
        elif delta.thinking:
            self.answer.thinking(index, delta.thinking)
        elif delta.signature:
            self._sign(index, delta.signature)

    def _sign(self, index: int, signature: str) -> None:
        if signature:
            whole = self._signatures[index] = self._signatures.get(index, "") + signature
            self.answer.block(index, "thinking").replay = pack_replay(WIRE, signature=whole)


def _added(usage: Usage, newer: _Usage) -> Usage:
    """Later counts are totals so far; a count that is absent leaves the earlier one standing."""
    return Usage(
        input=usage.input if newer.input_tokens is None else newer.input_tokens,
        output=usage.output if newer.output_tokens is None else newer.output_tokens,
        cache_read=usage.cache_read if newer.cache_read_input_tokens is None else newer.cache_read_input_tokens,
        cache_write=usage.cache_write if newer.cache_creation_input_tokens is None else newer.cache_creation_input_tokens,
    )


def _credential(secret: str) -> Mapping[str, str]:
    if secret.startswith(_OAUTH_PREFIX):
        return {"Authorization": f"Bearer {secret}"}
    return {"x-api-key": secret} if secret else {}
