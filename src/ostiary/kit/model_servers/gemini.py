"""A strict server of Gemini's generateContent."""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ostiary.kit.model_servers.script import Call, Failure, Kind, Reply, Thought, Words
from ostiary.kit.model_servers.server import KEY, Refused
from ostiary.kit.model_servers.strict import check_answered, check_image, check_json, decode, dump, sse

_PATH = re.compile(r"/v1beta/models/([\w.-]+):streamGenerateContent\?alt=sse")
_FAILURES: dict[Kind, tuple[int, str, str]] = {
    "auth": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "billing": (402, "FAILED_PRECONDITION", "Billing is not enabled: payment required."),
    "context": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1100000) exceeds the maximum number of tokens allowed.",
    ),
    "forbidden": (403, "PERMISSION_DENIED", "The caller does not have permission"),
    "image": (400, "INVALID_ARGUMENT", "Image dimensions exceed the maximum allowed size."),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "rate": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."),
    "rejected": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "roles": (400, "INVALID_ARGUMENT", "Please ensure that function call turn comes immediately after a user turn."),
    "server": (500, "INTERNAL", "An internal error has occurred."),
    "thinking": (400, "INVALID_ARGUMENT", "Thinking level XHIGH is not supported for this model."),
    "unknown_model": (404, "NOT_FOUND", "models/kit-2 is not found for API version v1beta"),
}
_STOPS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}
_FOREIGN_CALL = "skip_thought_signature_validator"


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _InlineData(_Strict):
    mimeType: str
    data: str


class _FunctionCall(_Strict):
    name: str
    args: dict[str, Any]
    id: str = ""


class _FunctionResponse(_Strict):
    name: str
    response: dict[str, Any]
    id: str = ""


class _Part(_Strict):
    text: str | None = None
    thought: bool = False
    thoughtSignature: str | None = None
    inlineData: _InlineData | None = None
    functionCall: _FunctionCall | None = None
    functionResponse: _FunctionResponse | None = None


class _Content(_Strict):
    role: Literal["user", "model"]
    parts: list[_Part]


class _SystemInstruction(_Strict):
    parts: list[_Part]


class _Schema(_Strict):
    type: Literal["string", "number", "integer", "boolean", "array", "object"] | None = None
    format: Literal["enum", "date-time", "float", "double", "int32", "int64"] | None = None
    title: str | None = None
    description: str | None = None
    nullable: bool | None = None
    enum: list[str] | None = None
    maxItems: int | None = None
    minItems: int | None = None
    properties: dict[str, "_Schema"] | None = None
    required: list[str] | None = None
    minProperties: int | None = None
    maxProperties: int | None = None
    minLength: int | None = None
    maxLength: int | None = None
    pattern: str | None = None
    anyOf: list["_Schema"] | None = None
    items: "_Schema | None" = None
    minimum: float | None = None
    maximum: float | None = None
    default: Any = None


class _Declaration(_Strict):
    name: str
    description: str
    parameters: _Schema | None = None


class _Tools(_Strict):
    functionDeclarations: list[_Declaration]


class _ThinkingConfig(_Strict):
    includeThoughts: bool = False
    thinkingBudget: int | None = None
    thinkingLevel: Literal["MINIMAL", "LOW", "MEDIUM", "HIGH"] | None = None


class _GenerationConfig(_Strict):
    maxOutputTokens: int | None = None
    temperature: float | None = None
    thinkingConfig: _ThinkingConfig | None = None
    topP: float | None = None
    topK: int | None = None
    seed: int | None = None
    stopSequences: list[str] | None = None
    candidateCount: Literal[1] = 1
    responseMimeType: str | None = None
    responseSchema: "_Schema | None" = None


class _FunctionCalling(_Strict):
    mode: Literal["AUTO", "ANY", "NONE", "VALIDATED"]
    allowedFunctionNames: list[str] | None = None


class _ToolConfig(_Strict):
    functionCallingConfig: _FunctionCalling


class _Body(_Strict):
    contents: list[_Content]
    systemInstruction: _SystemInstruction | None = None
    tools: list[_Tools] | None = None
    generationConfig: _GenerationConfig | None = None
    toolConfig: _ToolConfig | None = None
    safetySettings: Any = None
    cachedContent: str | None = None


def _check_terms(request: _Body, *, is_newer: bool) -> None:
    config = request.generationConfig or _GenerationConfig()
    if config.responseMimeType not in (None, "text/plain", "application/json"):
        raise Refused("rejected", f"Unsupported response mime type: {config.responseMimeType}")
    if config.responseSchema is not None:
        if config.responseMimeType != "application/json":
            raise Refused("rejected", "Response schema is only supported with response mime type 'application/json'")
        _check_schema(config.responseSchema)
    if request.tools and config.responseMimeType == "application/json" and not is_newer:
        raise Refused("rejected", "Function calling with a response mime type: 'application/json' is unsupported")
    calling = request.toolConfig.functionCallingConfig if request.toolConfig is not None else None
    names = [each.name for tools in request.tools or () for each in tools.functionDeclarations]
    if calling is not None and not names:
        raise Refused("rejected", "Function calling config is set without function_declarations.")
    allowed = calling.allowedFunctionNames if calling is not None else None
    if calling is not None and allowed is not None and (calling.mode != "ANY" or not set(allowed) <= set(names)):
        raise Refused("rejected", "allowed_function_names must name declared functions, in mode ANY.")


class GeminiSpeech:
    """From version 3 on the first call of a turn must carry the signature it was given."""

    base_path = "/v1beta"
    content_type = "text/event-stream"

    def __init__(self, *, key: str = KEY) -> None:
        self._key = key
        self._proofs: set[str] = {_FOREIGN_CALL}

    def check(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        named = _PATH.fullmatch(path)
        if named is None:
            raise Refused("unknown_model", f"The address {path} is not known.")
        self._check_key(headers)
        check_json(headers)
        request = decode(body, _Body)
        if not request.contents:
            raise Refused("rejected", "GenerateContentRequest.contents: contents is not specified")
        for tools in request.tools or ():
            for declaration in tools.functionDeclarations:
                if declaration.parameters is not None:
                    _check_schema(declaration.parameters)
        _check_terms(request, is_newer=named[1].startswith("gemini-3"))
        self._check_contents(request.contents, signs=named[1].startswith("gemini-3"))

    def _check_key(self, headers: Mapping[str, str]) -> None:
        sent = headers.get("x-goog-api-key", "")
        if sent != self._key:
            raise Refused("auth", f"API key not valid: {sent}. Please pass a valid API key.")

    def _check_contents(self, contents: list[_Content], *, signs: bool) -> None:
        if contents[0].role != "user":
            raise Refused("roles", _FAILURES["roles"][2])
        open_calls: list[str] = []
        before = ""
        for content in contents:
            if content.role == before:
                raise Refused("roles", "Please ensure that roles must alternate between user and model.")
            before = content.role
            answers = [
                f"{part.functionResponse.id}:{part.functionResponse.name}" for part in content.parts if part.functionResponse
            ]
            check_answered(open_calls, answers, "The number of function response parts must equal the function call parts.")
            calls = [part for part in content.parts if part.functionCall]
            open_calls = [f"{call.id}:{call.name}" for part in calls if (call := part.functionCall)]
            if signs and calls and calls[0].thoughtSignature is None:
                raise Refused("rejected", "Function call is missing a thought_signature in functionCall parts.")
            for part in content.parts:
                self._check_part(part)
        check_answered(open_calls, [], "The number of function response parts must equal the function call parts.")

    def _check_part(self, part: _Part) -> None:
        kinds = (part.text, part.inlineData, part.functionCall, part.functionResponse)
        if sum(kind is not None for kind in kinds) != 1:
            raise Refused("rejected", "required oneof field 'data' must have one initialized field")
        if part.inlineData is not None:
            check_image(part.inlineData.mimeType, part.inlineData.data)
        if part.thoughtSignature is not None and part.thoughtSignature not in self._proofs:
            raise Refused("rejected", "Thought signature is not valid.")

    def events(self, reply: Reply) -> list[bytes]:
        parts: list[dict[str, Any]] = []
        for part in reply.parts:
            match part:
                case Words(pieces=pieces):
                    parts += [{"text": piece} for piece in pieces]
                case Thought(pieces=pieces, proof=proof):
                    self._proofs.add(_signature(proof))
                    parts += [{"text": piece, "thought": True} for piece in pieces]
                    parts[-1]["thoughtSignature"] = _signature(proof)
                case Call():
                    call = {"id": part.id, "name": part.name, "args": msgspec.Raw(part.arguments.encode())}
                    signed = {"thoughtSignature": _signature(part.proof)} if part.proof else {}
                    self._proofs.update(signed.values())
                    parts.append({"functionCall": call, **signed})
        counted = reply.counted
        usage = {
            "promptTokenCount": counted.input + counted.cache_read,
            "candidatesTokenCount": counted.output,
            "totalTokenCount": counted.input + counted.cache_read + counted.output,
            "cachedContentTokenCount": counted.cache_read,
        }
        events = [_chunk([part]) for part in parts]
        return [*events, _chunk([{"text": ""}], finish=_STOPS[reply.stop], usage=usage)]

    def unfinished(self, events: list[bytes]) -> list[bytes]:
        return events[:-1]

    def broken(self, garbage: bytes) -> bytes:
        return b"data: " + garbage + b"\r\n\r\n"

    def failure(self, failure: Failure) -> tuple[int, bytes]:
        status, name, words = _FAILURES[failure.kind]
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        details = [info] if failure.kind == "auth" else []
        return status, dump({"error": {"code": status, "message": failure.words or words, "status": name, "details": details}})

    def failure_event(self, failure: Failure) -> bytes:
        return b"data: " + self.failure(failure)[1] + b"\r\n\r\n"

    def models(self, path: str, headers: Mapping[str, str]) -> bytes | None:
        if path.partition("?")[0] != "/v1beta/models":
            return None
        self._check_key(headers)
        chat = {"name": "models/kit-1", "displayName": "Kit 1", "inputTokenLimit": 1000, "outputTokenLimit": 100}
        return dump(
            {
                "models": [
                    {**chat, "supportedGenerationMethods": ["generateContent"]},
                    {"name": "models/embedding-1", "supportedGenerationMethods": ["embedContent"]},
                ]
            }
        )


def _signature(proof: str) -> str:
    """Signatures are bytes, which JSON carries as base64."""
    return b64encode(proof.encode()).decode()


def _check_schema(schema: _Schema) -> None:
    if schema.type == "object" and not schema.properties and schema.anyOf is None:
        raise Refused("rejected", "parameters.properties: should be non-empty for OBJECT type")
    if schema.type == "array" and schema.items is None:
        raise Refused("rejected", "parameters.items: missing field.")
    for inner in (*(schema.properties or {}).values(), *(schema.anyOf or ()), *((schema.items,) if schema.items else ())):
        _check_schema(inner)


def _chunk(parts: list[dict[str, Any]], *, finish: str | None = None, usage: dict[str, Any] | None = None) -> bytes:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    chunk = {"candidates": [candidate], "modelVersion": "kit-1", **({"usageMetadata": usage} if usage else {})}
    # Gemini ends its lines the other way.
    return sse(chunk).replace(b"\n\n", b"\r\n\r\n")
