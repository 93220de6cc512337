"""A strict server of Anthropic messages."""

from collections.abc import Mapping
from typing import Any

from ostiary.kit.model_servers.anthropic_body import Answer, Body, RedactedThinking, Thinking, ToolResult, ToolUse, check_body
from ostiary.kit.model_servers.script import Call, Failure, Kind, Reply, Thought, Words
from ostiary.kit.model_servers.server import KEY, Refused
from ostiary.kit.model_servers.strict import check_answered, check_json, decode, dump, sse

_FAILURES: dict[Kind, tuple[int, str, str]] = {
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "billing": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
    "context": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "forbidden": (403, "permission_error", "Your API key does not have permission to use the specified resource."),
    "image": (400, "invalid_request_error", "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "rate": (429, "rate_limit_error", "This request would exceed the rate limit of your organization."),
    "rejected": (400, "invalid_request_error", "The request is not valid."),
    "roles": (400, "invalid_request_error", 'messages: roles must alternate between "user" and "assistant"'),
    "server": (500, "api_error", "Internal server error"),
    "thinking": (400, "invalid_request_error", "thinking: this model does not support extended thinking"),
    "unknown_model": (404, "not_found_error", "model: kit-2"),
}
_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "refusal": "refusal"}


class AnthropicSpeech:
    base_path = ""
    content_type = "text/event-stream"

    def __init__(self, *, key: str = KEY) -> None:
        self._key = key
        self._thoughts: dict[str, str] = {}

    def check(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        if path != "/v1/messages":
            raise Refused("unknown_model", "Not Found")
        self._check_headers(headers)
        check_json(headers)
        request = decode(body, Body)
        check_body(request)
        self._check_turns(request)

    def _check_headers(self, headers: Mapping[str, str]) -> None:
        # Keys come in the older header or as a bearer, as the official client sends them now.
        sent = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if sent != self._key:
            raise Refused("auth", f"invalid x-api-key: {sent}")
        if headers.get("anthropic-version") != "2023-06-01":
            raise Refused("rejected", "anthropic-version: header is required")

    def _check_turns(self, request: Body) -> None:
        open_calls: list[str] = []
        for message in request.messages:
            results = [block.tool_use_id for block in message.blocks() if isinstance(block, ToolResult)]
            check_answered(open_calls, results, "`tool_use` ids were found without `tool_result` blocks immediately after")
            if any(isinstance(block, ToolResult) for block in message.blocks()[len(results) :]):
                raise Refused("roles", "`tool_result` blocks must come first in the message; found tool_use_id after text")
            open_calls = [block.id for block in message.blocks() if isinstance(block, ToolUse)]
            if isinstance(message, Answer):
                self._check_thoughts(message)
        check_answered(open_calls, [], "`tool_use` ids were found without `tool_result` blocks immediately after")
        thinks = request.thinking is not None and request.thinking.type == "enabled"
        last = next((message for message in reversed(request.messages) if isinstance(message, Answer)), None)
        calls = last is not None and any(isinstance(block, ToolUse) for block in last.blocks())
        if thinks and calls and last is not None and not isinstance(last.blocks()[0], Thinking | RedactedThinking):
            raise Refused("thinking", "Expected `thinking` or `redacted_thinking`, but found `tool_use`.")

    def _check_thoughts(self, message: Answer) -> None:
        for block in message.blocks():
            if isinstance(block, Thinking) and self._thoughts.get(block.signature) != block.thinking:
                raise Refused("rejected", "Invalid `signature` in `thinking` block")
            if isinstance(block, RedactedThinking) and block.data not in self._thoughts:
                raise Refused("rejected", "Invalid `data` in `redacted_thinking` block")

    def events(self, reply: Reply) -> list[bytes]:
        counted = reply.counted
        usage = {
            "input_tokens": counted.input,
            "cache_creation_input_tokens": counted.cache_write,
            "cache_read_input_tokens": counted.cache_read,
            "output_tokens": 1,
        }
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "kit-1", "content": [], "usage": usage}
        events = [_event("message_start", message={**message, "stop_reason": None, "stop_sequence": None}), _event("ping")]
        for index, part in enumerate(reply.parts):
            events += self._block(index, part)
        delta = {"stop_reason": _STOPS[reply.stop], "stop_sequence": None}
        events.append(_event("message_delta", delta=delta, usage={"output_tokens": counted.output}))
        return [*events, _event("message_stop")]

    def _block(self, index: int, part: Words | Thought | Call) -> list[bytes]:
        deltas: list[dict[str, Any]]
        block: dict[str, Any]
        match part:
            case Words(pieces=pieces):
                block = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
            case Thought(redacted=True, proof=proof):
                self._thoughts[proof] = ""
                block, deltas = {"type": "redacted_thinking", "data": proof}, []
            case Thought(pieces=pieces, proof=proof):
                self._thoughts[proof] = "".join(pieces)
                block = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
                deltas.append({"type": "signature_delta", "signature": proof})
            case Call():
                block = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *part.pieces)]
        return [
            _event("content_block_start", index=index, content_block=block),
            *(_event("content_block_delta", index=index, delta=delta) for delta in deltas),
            _event("content_block_stop", index=index),
        ]

    def unfinished(self, events: list[bytes]) -> list[bytes]:
        return events[:-3]

    def broken(self, garbage: bytes) -> bytes:
        return b"event: content_block_delta\ndata: " + garbage + b"\n\n"

    def failure(self, failure: Failure) -> tuple[int, bytes]:
        status, kind, words = _FAILURES[failure.kind]
        error = {"type": kind, "message": failure.words or words}
        return status, dump({"type": "error", "error": error, "request_id": "req_1"})

    def failure_event(self, failure: Failure) -> bytes:
        return b"event: error\ndata: " + self.failure(failure)[1] + b"\n\n"

    def models(self, path: str, headers: Mapping[str, str]) -> bytes | None:
        if path.partition("?")[0] != "/v1/models":
            return None
        self._check_headers(headers)
        model = {"type": "model", "id": "kit-1", "display_name": "Kit 1", "created_at": "2026-01-01T00:00:00Z"}
        return dump({"data": [model], "has_more": False, "first_id": "kit-1", "last_id": "kit-1"})


def _event(name: str, **fields: object) -> bytes:
    return sse({"type": name, **fields}, name)
