"""Google Gemini: api name `google-generative-ai`. The key goes in a header, never in the address."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from ostiary.adapters.models.wires.answer import Answer, new_call_id
from ostiary.adapters.models.wires.encoding import Caches, pack_replay, raw_arguments, to_json
from ostiary.adapters.models.wires.errors import refusal, said
from ostiary.adapters.models.wires.exchange import Attempt
from ostiary.adapters.models.wires.gemini_contents import WIRE, Piece, encode_message, encode_tools, join_contents
from ostiary.adapters.models.wires.listing import fetch
from ostiary.adapters.models.wires.sse import ServerSentEvents
from ostiary.adapters.models.wires.terms import gemini_calling, gemini_form, only_text
from ostiary.adapters.models.wires.thinking import gemini_thinking, gemini_version
from ostiary.adapters.models.wires.wire import Endpoint, ListedModel
from ostiary.contracts.errors import ModelMisconfigured
from ostiary.contracts.model import ModelFacts, ModelRef, ModelRequest, StopReason, Usage

_HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}
_MODEL_NAME = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)?")
_STOPS: dict[str, StopReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
        "refusal",
    ),
}


class Gemini:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._caches: Caches[Piece] = Caches()

    def stream(self, request: ModelRequest, ref: ModelRef, secret: str) -> Attempt:
        if not _MODEL_NAME.fullmatch(ref.model) or ".." in ref.model:
            raise ModelMisconfigured(f"{ref.model[:80]!r} cannot be the name of a Gemini model.")
        name = ref.model if "/" in ref.model else f"models/{ref.model}"
        return Attempt(
            self._endpoint,
            ref,
            f"/{name}:streamGenerateContent?alt=sse",
            self._body(request, ref),
            headers=_HEADERS,
            secret_headers=_credential(secret),
            splitter=ServerSentEvents,
            reader=partial(_Reader, ref.provider),
        )

    async def list_models(self, secret: str) -> tuple[ListedModel, ...]:
        listed = await fetch(self._endpoint, "/models?pageSize=1000", _Listing, headers={}, secret_headers=_credential(secret))
        return tuple(
            ListedModel(
                id=model.name.removeprefix("models/"),
                name=model.displayName,
                context_window=model.inputTokenLimit,
                max_tokens=model.outputTokenLimit,
                reasons=model.thinking,
            )
            for model in listed.models
            if model.supportedGenerationMethods is None or "generateContent" in model.supportedGenerationMethods
        )

    def _body(self, request: ModelRequest, ref: ModelRef) -> bytes:
        facts = self._endpoint.facts(ref)
        newer = gemini_version(ref.model) >= (3, 0)
        cache = self._caches.messages((ref.provider, facts.sees_images, newer))
        encode = partial(
            encode_message, provider=ref.provider, sees_images=facts.sees_images, wants_signatures=newer, blobs=request.blobs
        )
        contents = join_contents(cache.gather(request.messages, encode))
        settings: dict[str, Any] = {"generationConfig": _generation(request, facts)}
        system = [{"text": part} for part in request.system if part]
        if system:
            settings["systemInstruction"] = {"parts": system}
        # Before version 3 Gemini refuses functions next to a form.
        offered = () if not newer and request.form is not None and only_text(request, ref) else request.tools
        if offered:
            settings |= gemini_calling(request, ref)
        tools = b',"tools":' + self._caches.tools(offered, encode_tools) if offered else b""
        return to_json(settings)[:-1] + tools + b',"contents":[' + contents + b"]}"


def _generation(request: ModelRequest, facts: ModelFacts) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if request.max_tokens is not None:
        config["maxOutputTokens"] = request.max_tokens
    if request.temperature is not None:
        config["temperature"] = request.temperature
    thinking = gemini_thinking(facts, request.thinking)
    if thinking is not None:
        config["thinkingConfig"] = thinking
    return config | gemini_form(request)


class _FunctionCall(msgspec.Struct):
    name: str
    id: str | None = None
    args: msgspec.Raw = msgspec.Raw(b"")


class _Part(msgspec.Struct):
    text: str | None = None
    thought: bool | None = None
    thoughtSignature: str | None = None
    functionCall: _FunctionCall | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct):
    content: _Content | None = None
    finishReason: str | None = None


class _UsageMetadata(msgspec.Struct):
    promptTokenCount: int | None = None
    candidatesTokenCount: int | None = None
    thoughtsTokenCount: int | None = None
    cachedContentTokenCount: int | None = None
    toolUsePromptTokenCount: int | None = None


class _Feedback(msgspec.Struct):
    blockReason: str | None = None


class _Chunk(msgspec.Struct):
    candidates: list[_Candidate] | None = None
    usageMetadata: _UsageMetadata | None = None
    promptFeedback: _Feedback | None = None
    error: Any = None


class _ListedModel(msgspec.Struct):
    name: str
    displayName: str = ""
    inputTokenLimit: int | None = None
    outputTokenLimit: int | None = None
    supportedGenerationMethods: list[str] | None = None
    thinking: bool | None = None


class _Listing(msgspec.Struct):
    models: list[_ListedModel]


_decode = msgspec.json.Decoder(_Chunk).decode


class _Reader:
    __slots__ = ("_place", "_who", "_writing", "answer")

    def __init__(self, who: str, answer: Answer) -> None:
        self.answer = answer
        self._who = who
        self._place = 0
        self._writing = ""

    def read(self, data: bytes) -> bool:
        chunk = _decode(data)
        if chunk.error is not None:
            raise refusal(self._who, said({"error": chunk.error}))
        if chunk.usageMetadata is not None:
            self.answer.usage = _usage(chunk.usageMetadata)
        if chunk.promptFeedback is not None and chunk.promptFeedback.blockReason:
            self.answer.stop = "refusal"
        for candidate in (chunk.candidates or ())[:1]:
            for part in (candidate.content.parts if candidate.content else None) or ():
                self._part(part)
            if candidate.finishReason:
                self.answer.stop = _STOPS.get(candidate.finishReason, "other")
        return False

    def _part(self, part: _Part) -> None:
        call = part.functionCall
        if call is not None:
            self._switch("")
            block = self.answer.call(self._place)
            block.provider_id = call.id or new_call_id()
            block.name = call.name
            if part.thoughtSignature:
                block.replay = pack_replay(WIRE, signature=part.thoughtSignature)
            self.answer.arguments(block, raw_arguments(call.args))
            return
        if part.thought:
            self._switch("thinking")
            block = self.answer.thinking(self._place, part.text or "")
            if part.thoughtSignature:
                block.replay = pack_replay(WIRE, signature=part.thoughtSignature, thought=True)
            return
        if part.text:
            self._switch("text")
            self.answer.text(self._place, part.text)
        if part.thoughtSignature:
            # Words cannot carry a proof of their own, so it is kept as a silent thought right after them.
            self._switch("")
            self.answer.block(self._place, "thinking").replay = pack_replay(WIRE, signature=part.thoughtSignature, thought=False)

    def _switch(self, kind: str) -> None:
        if kind != self._writing or not kind:
            self._place += 1
            self._writing = kind


def _usage(usage: _UsageMetadata) -> Usage:
    read = usage.cachedContentTokenCount or 0
    sent = (usage.promptTokenCount or 0) + (usage.toolUsePromptTokenCount or 0)
    output = (usage.candidatesTokenCount or 0) + (usage.thoughtsTokenCount or 0)
    return Usage(input=max(sent - read, 0), output=output, cache_read=read)


def _credential(secret: str) -> Mapping[str, str]:
    return {"x-goog-api-key": secret} if secret else {}
