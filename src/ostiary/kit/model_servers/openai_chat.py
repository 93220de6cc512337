"""A strict server of OpenAI chat completions."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ostiary.kit.model_servers.script import Call, Failure, Kind, Reply, Thought, Words
from ostiary.kit.model_servers.server import KEY, Refused
from ostiary.kit.model_servers.strict import (
    check_answered,
    check_bearer,
    check_data_url,
    check_json,
    check_object,
    check_tool,
    decode,
    dump,
    sse,
)
from ostiary.kit.model_servers.terms import (
    JsonObject,
    NamedSchema,
    NestedChoice,
    PlainText,
    Word,
    check_choice,
    check_json_is_spoken_of,
    check_schema,
)

_FAILURES: dict[Kind, tuple[int, str, str | None, str]] = {
    "auth": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "billing": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan."),
    "context": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    ),
    "forbidden": (403, "invalid_request_error", None, "You are not allowed to use this model."),
    "image": (400, "invalid_request_error", "image_too_large", "The image is too large: the maximum is 20 MB."),
    "overloaded": (503, "server_error", None, "The engine is currently overloaded, please try again later."),
    "rate": (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    "rejected": (400, "invalid_request_error", None, "The request is not valid."),
    "roles": (
        400,
        "invalid_request_error",
        None,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    ),
    "server": (500, "server_error", None, "The server had an error while processing your request."),
    "thinking": (
        400,
        "invalid_request_error",
        "unsupported_value",
        "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low', "
        "'medium', and 'high'.",
    ),
    "unknown_model": (
        404,
        "invalid_request_error",
        "model_not_found",
        "The model `kit-2` does not exist.",
    ),
}
_STOPS = {"stop": "stop", "tool_calls": "tool_calls", "length": "length", "refusal": "content_filter"}


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _TextPart(_Strict, tag="text", tag_field="type"):
    text: str


class _ImageUrl(_Strict):
    url: str
    detail: str = "auto"


class _ImagePart(_Strict, tag="image_url", tag_field="type"):
    image_url: _ImageUrl


class _Function(_Strict):
    name: str
    arguments: str


class _ToolCall(_Strict):
    id: str
    type: Literal["function"]
    function: _Function


class _System(_Strict, tag="system", tag_field="role"):
    content: str


class _User(_Strict, tag="user", tag_field="role"):
    content: str | list[_TextPart | _ImagePart]


class _Assistant(_Strict, tag="assistant", tag_field="role"):
    content: str | None = None
    tool_calls: list[_ToolCall] | None = None
    reasoning_content: str | None = None


class _Tool(_Strict, tag="tool", tag_field="role"):
    tool_call_id: str
    content: str


class _ToolFunction(_Strict):
    name: str
    parameters: dict[str, Any]
    description: str = ""
    strict: bool | None = None


class _ToolSpec(_Strict):
    type: Literal["function"]
    function: _ToolFunction


class _StreamOptions(_Strict):
    include_usage: bool = False


class _Body(_Strict):
    model: str
    messages: list[_System | _User | _Assistant | _Tool]
    stream: Literal[True]
    stream_options: _StreamOptions | None = None
    tools: list[_ToolSpec] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    prompt_cache_key: str | None = None
    top_p: float | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    n: Literal[1] = 1
    tool_choice: Word | NestedChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: PlainText | JsonObject | NamedSchema | None = None
    user: str | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None


def _check_terms(request: _Body) -> None:
    form, choice = request.response_format, request.tool_choice
    if isinstance(form, NamedSchema):
        check_schema(form.json_schema)
    spoken = b" ".join(dump(message) for message in request.messages).decode()
    check_json_is_spoken_of(isinstance(form, JsonObject), spoken)
    named = choice.function.name if isinstance(choice, NestedChoice) else choice or ""
    check_choice(named, request.parallel_tool_calls, [tool.function.name for tool in request.tools or ()])


class OpenAIChatSpeech:
    """Thinking goes by the name `reasoning_content`, as the servers have it that show any; it must come back unchanged."""

    base_path = "/v1"
    content_type = "text/event-stream"

    def __init__(self, *, key: str = KEY) -> None:
        self._key = key
        self._thoughts: set[str] = set()

    def check(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        if path != "/v1/chat/completions":
            raise Refused("unknown_model", f"Unknown request URL: POST {path}.")
        check_bearer(headers, self._key)
        check_json(headers)
        request = decode(body, _Body)
        for tool in request.tools or ():
            check_tool(tool.function.name, tool.function.parameters)
        _check_terms(request)
        if request.reasoning_effort not in (None, "none") and request.temperature is not None:
            raise Refused("rejected", "Unsupported parameter: 'temperature' is not supported with this model.")
        self._check_messages(request.messages)

    def _check_messages(self, messages: list[_System | _User | _Assistant | _Tool]) -> None:
        if not messages:
            raise Refused("rejected", "Invalid 'messages': empty array.")
        open_calls: list[str] = []
        results: list[str] = []
        unanswered = _FAILURES["roles"][3]
        for message in messages:
            if isinstance(message, _Tool):
                if message.tool_call_id not in open_calls:
                    raise Refused(
                        "roles", "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                    )
                results.append(message.tool_call_id)
                continue
            check_answered(open_calls, results, unanswered)
            open_calls, results = [], []
            if isinstance(message, _Assistant):
                open_calls = self._check_assistant(message)
            elif isinstance(message, _User) and isinstance(message.content, list):
                for part in message.content:
                    if isinstance(part, _ImagePart):
                        check_data_url(part.image_url.url)
        check_answered(open_calls, results, unanswered)

    def _check_assistant(self, message: _Assistant) -> list[str]:
        if message.content is None and not message.tool_calls:
            raise Refused("rejected", "Invalid value for 'content': expected a string, got null.")
        if message.reasoning_content is not None and message.reasoning_content not in self._thoughts:
            raise Refused("rejected", "Unknown parameter: 'reasoning_content'.")
        for call in message.tool_calls or ():
            if len(call.id) > 40:
                raise Refused("rejected", "Invalid 'tool_calls[0].id': string too long.")
            check_object(call.function.arguments)
        return [call.id for call in message.tool_calls or ()]

    def events(self, reply: Reply) -> list[bytes]:
        events = [_delta({"role": "assistant", "content": ""})]
        calls = 0
        for part in reply.parts:
            match part:
                case Words(pieces=pieces):
                    events += [_delta({"content": piece}) for piece in pieces]
                case Thought(pieces=pieces):
                    self._thoughts.add("".join(pieces))
                    events += [_delta({"reasoning_content": piece}) for piece in pieces]
                case Call():
                    events += _call(part, calls)
                    calls += 1
        counted = reply.counted
        prompt = counted.input + counted.cache_read + counted.cache_write
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": counted.output,
            "total_tokens": prompt + counted.output,
            "prompt_tokens_details": {"cached_tokens": counted.cache_read, "cache_write_tokens": counted.cache_write},
        }
        return [*events, _delta({}, _STOPS[reply.stop]), _chunk([], usage), b"data: [DONE]\n\n"]

    def unfinished(self, events: list[bytes]) -> list[bytes]:
        return events[:-3]

    def broken(self, garbage: bytes) -> bytes:
        return b"data: " + garbage + b"\n\n"

    def failure(self, failure: Failure) -> tuple[int, bytes]:
        status, kind, code, words = _FAILURES[failure.kind]
        error = {"message": failure.words or words, "type": kind, "param": None, "code": code}
        return status, dump({"error": error})

    def failure_event(self, failure: Failure) -> bytes:
        return b"data: " + self.failure(failure)[1] + b"\n\n"

    def models(self, path: str, headers: Mapping[str, str]) -> bytes | None:
        if path != "/v1/models":
            return None
        check_bearer(headers, self._key)
        return dump({"object": "list", "data": [{"id": "kit-1", "object": "model", "created": 1, "owned_by": "kit"}]})


def _chunk(choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "kit-1"}
    return sse({**head, "choices": choices, "usage": usage})


def _delta(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])


def _call(call: Call, index: int) -> list[bytes]:
    head = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    pieces = [{"index": index, "function": {"arguments": piece}} for piece in call.pieces]
    return [_delta({"tool_calls": [piece]}) for piece in (head, *pieces)]
