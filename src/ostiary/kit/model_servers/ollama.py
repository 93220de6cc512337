"""A server of Ollama's native chat. Ollama itself overlooks unknown fields; this one does not, so that none creep in."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ostiary.kit.model_servers.script import Call, Failure, Kind, Reply, Thought, Words
from ostiary.kit.model_servers.server import KEY, Refused
from ostiary.kit.model_servers.strict import check_image, check_json, decode, dump

_FAILURES: dict[Kind, tuple[int, str]] = {
    "auth": (401, "unauthorized"),
    "billing": (402, "payment required"),
    "context": (400, "input length exceeds the available context size"),
    "forbidden": (403, "forbidden"),
    "image": (400, "image too large to process"),
    "overloaded": (503, "server busy, please try again. maximum pending requests exceeded"),
    "rate": (429, "too many requests"),
    "rejected": (400, "invalid request"),
    "roles": (400, "unexpected role at this place"),
    "server": (500, "model runner has unexpectedly stopped"),
    "thinking": (400, '"kit-1" does not support thinking'),
    "unknown_model": (404, 'model "kit-2" not found, try pulling it first'),
}
_STOPS = {"stop": "stop", "tool_calls": "stop", "length": "length", "refusal": "stop"}
_MEDIA = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lG": "image/gif", "UklG": "image/webp"}


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _Function(_Strict):
    name: str
    arguments: dict[str, Any]


class _ToolCall(_Strict):
    function: _Function


class _Message(_Strict):
    role: Literal["system", "user", "assistant", "tool"]
    content: str
    thinking: str | None = None
    images: list[str] | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_name: str | None = None


class _Property(_Strict):
    type: str | list[str] | None = None
    items: Any = None
    description: str | None = None
    enum: list[Any] | None = None
    default: Any = None
    anyOf: list["_Property"] | None = None
    properties: dict[str, "_Property"] | None = None
    required: list[str] | None = None
    minimum: float | None = None
    maximum: float | None = None


class _Parameters(_Strict):
    type: Literal["object"]
    properties: dict[str, _Property]
    required: list[str] | None = None


class _ToolFunction(_Strict):
    name: str
    description: str
    parameters: _Parameters


class _Tool(_Strict):
    type: Literal["function"]
    function: _ToolFunction


class _Options(_Strict):
    num_ctx: int | None = None
    num_predict: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: list[str] | None = None


class _Body(_Strict):
    model: str
    messages: list[_Message]
    stream: Literal[True]
    tools: list[_Tool] | None = None
    think: bool | Literal["low", "medium", "high"] | None = None
    options: _Options | None = None
    format: Any = None
    keep_alive: str | float | None = None


class OllamaSpeech:
    base_path = ""
    content_type = "application/x-ndjson"

    def __init__(self, *, key: str = KEY) -> None:
        self._key = key
        self._thoughts: set[str] = set()

    def check(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        if path != "/api/chat":
            raise Refused("unknown_model", "404 page not found")
        self._check_key(headers)
        check_json(headers)
        request = decode(body, _Body)
        if request.format not in (None, "json") and not isinstance(request.format, dict):
            raise Refused("rejected", 'invalid format: expected "json" or a JSON schema')
        if request.format is not None and request.tools:
            raise Refused("rejected", "tools next to a format are never called")
        calls = 0
        for message in request.messages:
            if message.role == "tool":
                calls -= 1
                if message.tool_name is None or calls < 0:
                    raise Refused("roles", "unexpected role tool: it answers no call")
                continue
            if calls:
                raise Refused("roles", "unexpected role: a tool call has no answer")
            calls = len(message.tool_calls or ())
            for image in message.images or ():
                check_image(next((kind for head, kind in _MEDIA.items() if image.startswith(head)), "unknown"), image)
            if message.thinking is not None and message.thinking not in self._thoughts:
                raise Refused("rejected", "the thinking was changed")

    def _check_key(self, headers: Mapping[str, str]) -> None:
        if headers.get("authorization") != f"Bearer {self._key}":
            raise Refused("auth", f"unauthorized: {headers.get('authorization', '')}")

    def events(self, reply: Reply) -> list[bytes]:
        events: list[bytes] = []
        for part in reply.parts:
            match part:
                case Words(pieces=pieces):
                    events += [_line({"content": piece}) for piece in pieces]
                case Thought(pieces=pieces):
                    self._thoughts.add("".join(pieces))
                    events += [_line({"content": "", "thinking": piece}) for piece in pieces]
                case Call():
                    function = {"name": part.name, "arguments": msgspec.Raw(part.arguments.encode())}
                    events.append(_line({"content": "", "tool_calls": [{"function": function}]}))
        counted = {"prompt_eval_count": reply.counted.input, "eval_count": reply.counted.output}
        return [*events, _line({"content": ""}, done=True, done_reason=_STOPS[reply.stop], total_duration=1, **counted)]

    def unfinished(self, events: list[bytes]) -> list[bytes]:
        return events[:-1]

    def broken(self, garbage: bytes) -> bytes:
        return garbage + b"\n"

    def failure(self, failure: Failure) -> tuple[int, bytes]:
        status, words = _FAILURES[failure.kind]
        return status, dump({"error": failure.words or words})

    def failure_event(self, failure: Failure) -> bytes:
        return self.failure(failure)[1] + b"\n"

    def models(self, path: str, headers: Mapping[str, str]) -> bytes | None:
        if path != "/api/tags":
            return None
        self._check_key(headers)
        return dump({"models": [{"name": "kit-1", "model": "kit-1", "size": 1, "digest": "0", "details": {"family": "kit"}}]})


def _line(message: dict[str, Any], *, done: bool = False, **fields: object) -> bytes:
    head = {"model": "kit-1", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", **message}}
    return dump({**head, "done": done, **fields}) + b"\n"
