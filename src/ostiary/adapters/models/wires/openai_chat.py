"""OpenAI chat completions, the wire that most servers copy: api name `openai-completions`."""

import re
from functools import partial
from typing import Any

import msgspec

from ostiary.adapters.models.wires.answer import Answer
from ostiary.adapters.models.wires.auth import bearer
from ostiary.adapters.models.wires.encoding import Caches, cache_key, pack_replay, to_json
from ostiary.adapters.models.wires.errors import refusal, said
from ostiary.adapters.models.wires.exchange import Attempt
from ostiary.adapters.models.wires.listing import fetch
from ostiary.adapters.models.wires.openai_chat_messages import WIRE, encode_message, encode_tools
from ostiary.adapters.models.wires.sse import ServerSentEvents
from ostiary.adapters.models.wires.terms import openai_chat_terms
from ostiary.adapters.models.wires.thinking import openai_effort
from ostiary.adapters.models.wires.wire import Compat, Endpoint, ListedModel
from ostiary.contracts.model import ModelFacts, ModelRef, ModelRequest, StopReason, Usage

_HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}
_NEWER_MODELS = re.compile(r"^(o\d|gpt-([5-9]|\d\d))")
_STOPS: dict[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}


class OpenAIChat:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._compat = endpoint.compat or _compat_of(endpoint.origin.origin.host)
        self._caches: Caches[bytes] = Caches()

    def stream(self, request: ModelRequest, ref: ModelRef, secret: str) -> Attempt:
        return Attempt(
            self._endpoint,
            ref,
            "/chat/completions",
            self._body(request, ref),
            headers=_HEADERS,
            secret_headers=bearer(secret),
            splitter=ServerSentEvents,
            reader=partial(_Reader, ref.provider),
        )

    async def list_models(self, secret: str) -> tuple[ListedModel, ...]:
        listed = await fetch(self._endpoint, "/models", _Listing, headers={}, secret_headers=bearer(secret))
        return tuple(
            ListedModel(id=model.id, name=model.name or "", context_window=model.context_length or model.max_model_len)
            for model in listed.data
        )

    def _body(self, request: ModelRequest, ref: ModelRef) -> bytes:
        facts = self._endpoint.facts(ref)
        cache = self._caches.messages((ref.provider, facts.sees_images))
        encode = partial(encode_message, provider=ref.provider, sees_images=facts.sees_images, blobs=request.blobs)
        messages = cache.gather(request.messages, encode)
        system = "\n\n".join(part for part in request.system if part)
        if system:
            messages.insert(0, to_json({"role": "system", "content": system}))
        # A message that held nothing to send is an empty piece.
        joined = b",".join(filter(None, messages))
        tools = b',"tools":' + self._caches.tools(request.tools, encode_tools) if request.tools else b""
        return to_json(self._settings(request, facts))[:-1] + tools + b',"messages":[' + joined + b"]}"

    def _settings(self, request: ModelRequest, facts: ModelFacts) -> dict[str, Any]:
        settings: dict[str, Any] = {"model": facts.ref.model, "stream": True}
        if self._compat.stream_usage:
            settings["stream_options"] = {"include_usage": True}
        effort = openai_effort(facts, request.thinking)
        if effort is not None:
            settings["reasoning_effort"] = effort
        if request.max_tokens is not None:
            newer = _NEWER_MODELS.match(facts.ref.model)
            settings["max_completion_tokens" if newer else self._compat.max_tokens_field] = request.max_tokens
        if request.temperature is not None and effort in (None, "none"):
            settings["temperature"] = request.temperature
        if self._compat.prompt_cache_key and request.session:
            settings["prompt_cache_key"] = cache_key(request.session)
        return settings | openai_chat_terms(request)


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _CallPiece(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[_CallPiece] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


class _ListedModel(msgspec.Struct):
    id: str
    name: str | None = None
    context_length: int | None = None
    max_model_len: int | None = None


class _Listing(msgspec.Struct):
    data: list[_ListedModel]


_decode = msgspec.json.Decoder(_Chunk).decode


class _Reader:
    __slots__ = ("_details", "_last_call", "_who", "answer")

    def __init__(self, who: str, answer: Answer) -> None:
        self.answer = answer
        self._who = who
        self._last_call = 0
        self._details: list[dict[str, Any]] = []

    def read(self, data: bytes) -> bool:
        if data == b"[DONE]":
            # A server that never names a reason but says it is done, is done.
            self.answer.stop = self.answer.stop or "stop"
            return True
        chunk = _decode(data)
        if chunk.error is not None:
            raise refusal(self._who, said({"error": chunk.error}))
        if chunk.usage is not None:
            self.answer.usage = _usage(chunk.usage)
        for choice in chunk.choices or ():
            if choice.delta is not None:
                self._delta(choice.delta)
            if choice.finish_reason:
                self.answer.stop = _STOPS.get(choice.finish_reason, "other")
                self._seal()
        return False

    def _seal(self) -> None:
        if self._details:
            replay = pack_replay(WIRE, field="reasoning_details", details=_merged(self._details))
            self.answer.block("thinking", "thinking").replay = replay

    def _delta(self, delta: _Delta) -> None:
        if delta.content:
            self.answer.text("text", delta.content)
        if delta.reasoning_content:
            self._reasoned("reasoning_content", delta.reasoning_content)
        elif delta.reasoning:
            self._reasoned("reasoning", delta.reasoning)
        if delta.reasoning_details:
            self._details += delta.reasoning_details
        if delta.refusal:
            self.answer.text("text", delta.refusal)
        for piece in delta.tool_calls or ():
            self._call(piece)

    def _reasoned(self, field: str, text: str) -> None:
        block = self.answer.thinking("thinking", text)
        if not block.replay:
            block.replay = pack_replay(WIRE, field=field)

    def _call(self, piece: _CallPiece) -> None:
        index = piece.index
        if index is None:
            # Servers that send whole calls leave the index out; a new id is a new call.
            index = self._last_call + 1 if piece.id else self._last_call
        self._last_call = index
        block = self.answer.call(index)
        if piece.id and not block.provider_id:
            block.provider_id = piece.id
        if piece.function is not None:
            if piece.function.name and not block.name:
                block.name = piece.function.name
            self.answer.arguments(block, piece.function.arguments or "")


def _merged(details: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Streamed pieces of one detail carry the same index; replay wants them whole."""
    whole: dict[Any, dict[str, Any]] = {}
    for place, piece in enumerate(details):
        key = (piece.get("type"), piece.get("index", place))
        known = whole.setdefault(key, {})
        for name, value in piece.items():
            joins = name in ("text", "summary", "data") and isinstance(value, str) and isinstance(known.get(name), str)
            known[name] = known[name] + value if joins else value
    return list(whole.values())


def _usage(usage: _Usage) -> Usage:
    details = usage.prompt_tokens_details
    read = (details.cached_tokens if details else None) or usage.prompt_cache_hit_tokens or 0
    written = (details.cache_write_tokens if details else None) or 0
    prompt = usage.prompt_tokens or 0
    return Usage(input=max(prompt - read - written, 0), output=usage.completion_tokens or 0, cache_read=read, cache_write=written)


def _compat_of(host: str) -> Compat:
    """OpenAI's own servers know every field; of others only the common core is assumed."""
    if host == "api.openai.com" or host.endswith((".openai.com", ".openai.azure.com")):
        return Compat(prompt_cache_key=True, max_tokens_field="max_completion_tokens")
    return Compat()
