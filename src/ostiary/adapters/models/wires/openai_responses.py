"""OpenAI responses, kept stateless: nothing is stored there, reasoning travels encrypted. Api name `openai-responses`."""

from functools import partial
from typing import Any

import msgspec

from ostiary.adapters.models.wires.answer import Answer
from ostiary.adapters.models.wires.auth import bearer
from ostiary.adapters.models.wires.encoding import Caches, cache_key, pack_replay, to_json
from ostiary.adapters.models.wires.errors import refusal, said
from ostiary.adapters.models.wires.exchange import Attempt
from ostiary.adapters.models.wires.listing import fetch
from ostiary.adapters.models.wires.openai_responses_items import WIRE, encode_message, encode_tools
from ostiary.adapters.models.wires.sse import ServerSentEvents
from ostiary.adapters.models.wires.terms import openai_responses_terms
from ostiary.adapters.models.wires.thinking import openai_effort
from ostiary.adapters.models.wires.wire import Endpoint, ListedModel
from ostiary.contracts.model import ModelFacts, ModelRef, ModelRequest, StopReason, Usage

_HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}
_LEAST_OUTPUT = 16


class OpenAIResponses:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._caches: Caches[bytes] = Caches()

    def stream(self, request: ModelRequest, ref: ModelRef, secret: str) -> Attempt:
        return Attempt(
            self._endpoint,
            ref,
            "/responses",
            self._body(request, ref),
            headers=_HEADERS,
            secret_headers=bearer(secret),
            splitter=ServerSentEvents,
            reader=partial(_Reader, ref.provider),
        )

    async def list_models(self, secret: str) -> tuple[ListedModel, ...]:
        listed = await fetch(self._endpoint, "/models", _Listing, headers={}, secret_headers=bearer(secret))
        return tuple(ListedModel(id=model.id) for model in listed.data)

    def _body(self, request: ModelRequest, ref: ModelRef) -> bytes:
        facts = self._endpoint.facts(ref)
        # Encrypted reasoning is tied to the model that wrote it, so each model has its own encoding of the history.
        cache = self._caches.messages((ref, facts.sees_images))
        encode = partial(encode_message, model=str(ref), sees_images=facts.sees_images, blobs=request.blobs)
        items = b",".join(filter(None, cache.gather(request.messages, encode)))
        tools = b',"tools":' + self._caches.tools(request.tools, encode_tools) if request.tools else b""
        return to_json(_settings(request, facts))[:-1] + tools + b',"input":[' + items + b"]}"


def _settings(request: ModelRequest, facts: ModelFacts) -> dict[str, Any]:
    settings: dict[str, Any] = {"model": facts.ref.model, "stream": True, "store": False}
    system = "\n\n".join(part for part in request.system if part)
    if system:
        settings["instructions"] = system
    effort = openai_effort(facts, request.thinking)
    if effort is not None:
        settings["reasoning"] = {"effort": effort} if effort == "none" else {"effort": effort, "summary": "auto"}
    if facts.reasons:
        settings["include"] = ["reasoning.encrypted_content"]
    if request.max_tokens is not None:
        settings["max_output_tokens"] = max(request.max_tokens, _LEAST_OUTPUT)
    if request.temperature is not None and (not facts.reasons or effort == "none"):
        settings["temperature"] = request.temperature
    if request.session:
        settings["prompt_cache_key"] = cache_key(request.session)
    return settings | openai_responses_terms(request)


class _InputDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    usage: _Usage | None = None
    incomplete_details: _Incomplete | None = None
    error: Any = None


class _Item(msgspec.Struct):
    type: str
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    summary: list[dict[str, Any]] | None = None
    content: list[dict[str, Any]] | None = None
    encrypted_content: str | None = None


class _Event(msgspec.Struct):
    type: str
    delta: Any = None
    output_index: int = 0
    summary_index: int = 0
    item: _Item | None = None
    response: _Response | None = None
    code: str | None = None
    message: str | None = None
    error: Any = None


class _ListedModel(msgspec.Struct):
    id: str


class _Listing(msgspec.Struct):
    data: list[_ListedModel]


_decode = msgspec.json.Decoder(_Event).decode


class _Reader:
    __slots__ = ("_refused", "_summaries", "_who", "answer")

    def __init__(self, who: str, answer: Answer) -> None:
        self.answer = answer
        self._who = who
        self._refused = False
        self._summaries: dict[int, int] = {}

    def read(self, data: bytes) -> bool:
        # Copies of this wire close with the sign of the older one.
        if data == b"[DONE]":
            return self.answer.stop is not None
        event = _decode(data)
        match event.type:
            case "response.output_text.delta":
                self.answer.text(event.output_index, _words(event))
            case "response.refusal.delta":
                self._refused = True
                self.answer.text(event.output_index, _words(event))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._reasoned(event)
            case "response.output_item.added":
                self._begin(event)
            case "response.function_call_arguments.delta":
                block = self.answer.known(event.output_index)
                if block is not None:
                    self.answer.arguments(block, _words(event))
            case "response.output_item.done":
                self._end(event)
            case "response.completed" | "response.incomplete" | "response.failed" | "error":
                return self._finish(event)
        return False

    def _begin(self, event: _Event) -> None:
        item = event.item
        if item is not None and item.type == "function_call":
            block = self.answer.call(event.output_index)
            block.provider_id = item.call_id or ""
            block.name = item.name or ""
            self.answer.arguments(block, "")

    def _reasoned(self, event: _Event) -> None:
        before = self._summaries.get(event.output_index)
        apart = "\n\n" if before is not None and before != event.summary_index else ""
        self._summaries[event.output_index] = event.summary_index
        self.answer.thinking(event.output_index, apart + _words(event))

    def _end(self, event: _Event) -> None:
        item = event.item
        if item is None:
            return
        if item.type == "reasoning" and item.encrypted_content:
            fields: dict[str, Any] = {"summary": item.summary or [], "encrypted_content": item.encrypted_content}
            if item.id:
                fields["id"] = item.id
            self.answer.block(event.output_index, "thinking").replay = pack_replay(WIRE, item=fields)
        elif item.type == "function_call":
            block = self.answer.call(event.output_index)
            block.provider_id = block.provider_id or item.call_id or ""
            block.name = block.name or item.name or ""
            if not block.pieces and item.arguments:
                self.answer.arguments(block, item.arguments)

    def _finish(self, event: _Event) -> bool:
        response = event.response
        if event.type == "error":
            body = event.error if event.error is not None else {"code": event.code, "message": event.message}
            raise refusal(self._who, said({"error": body}))
        if event.type == "response.failed":
            raise refusal(self._who, said({"error": response.error if response else None}))
        if response is not None and response.usage is not None:
            self.answer.usage = _usage(response.usage)
        self.answer.stop = self._stop(response)
        return True

    def _stop(self, response: _Response | None) -> StopReason:
        if response is not None and response.incomplete_details is not None:
            match response.incomplete_details.reason:
                case "max_output_tokens":
                    return "length"
                case "content_filter":
                    return "refusal"
            return "other"
        return "refusal" if self._refused else "stop"


def _words(event: _Event) -> str:
    if not isinstance(event.delta, str):
        raise msgspec.ValidationError(f"the delta of {event.type} is not text")
    return event.delta


def _usage(usage: _Usage) -> Usage:
    details = usage.input_tokens_details
    read = (details.cached_tokens if details else None) or 0
    written = (details.cache_write_tokens if details else None) or 0
    return Usage(
        input=max((usage.input_tokens or 0) - read - written, 0),
        output=usage.output_tokens or 0,
        cache_read=read,
        cache_write=written,
    )
