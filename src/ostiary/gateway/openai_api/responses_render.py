"""Responses in OpenAI's shape: whole, and as the events that build one up."""

from dataclasses import field
from typing import Any

import msgspec

from ostiary.contracts.content import ToolCall
from ostiary.contracts.engine import Outcome
from ostiary.contracts.model import Usage
from ostiary.contracts.records import dataclass
from ostiary.gateway.errors import ApiError
from ostiary.gateway.openai_api.choosing import NAME
from ostiary.gateway.openai_api.responses_request import ResponsesRequest
from ostiary.gateway.openai_api.stream import Calls

_encode = msgspec.json.Encoder().encode
_INCOMPLETE = {"length": "max_output_tokens", "refusal": "content_filter"}

Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One response of its own id; all of its parts are named after it."""

    id: str
    created: int
    request: ResponsesRequest

    def whole(self, outcome: Outcome, calls: Calls) -> Body:
        output = [self.message(0, outcome.text, _status(outcome))] if outcome.text or not calls else []
        output += [self.call(len(output) + index, id, call, call.arguments) for index, (id, call) in enumerate(calls)]
        return self.ended(outcome, output)

    def voice(self) -> "ResponseEvents":
        return ResponseEvents(self)

    def ended(self, outcome: Outcome, output: list[Body]) -> Body:
        reason = _INCOMPLETE.get(outcome.stop) if outcome.status != "waiting" else None
        return {
            **self.begun(),
            "status": _status(outcome),
            "incomplete_details": {"reason": reason} if reason else None,
            "model": outcome.model or self.request.model or NAME,
            "output": output,
            "usage": _usage(outcome.usage),
            "ostiary": {
                "session": str(outcome.session),
                "turn": outcome.turn,
                "status": outcome.status,
                "reason": outcome.reason,
                "cost": outcome.usage.cost,
            },
        }

    def failed(self, error: ApiError, output: list[Body]) -> Body:
        told = {"code": error.code or "server_error", "message": error.message}
        return {**self.begun(), "status": "failed", "output": output, "error": told}

    def begun(self) -> Body:
        request = self.request
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": "in_progress",
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": request.instructions,
            "max_output_tokens": request.max_output_tokens,
            "metadata": request.metadata or {},
            "model": request.model or NAME,
            "output": [],
            "parallel_tool_calls": request.parallel_tool_calls is not False,
            "previous_response_id": request.previous_response_id,
            "reasoning": {"effort": request.reasoning.effort if request.reasoning else None, "summary": None},
            "store": request.store is not False,
            "temperature": request.temperature,
            "text": {"format": _format(request)},
            "tool_choice": request.tool_choice or "auto",
            "tools": [_tool(each) for each in msgspec.to_builtins(request.tools or [])],
            "top_p": None,
            "truncation": "auto",
            "usage": None,
            "user": request.user,
        }

    def message(self, index: int, text: str, status: str) -> Body:
        return {
            "id": f"msg_{self.id.removeprefix('resp_')}_{index}",
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": [part(text)] if status != "in_progress" else [],
        }

    def call(self, index: int, id: str, call: ToolCall, arguments: str, status: str = "completed") -> Body:
        return {
            "id": f"fc_{self.id.removeprefix('resp_')}_{index}",
            "type": "function_call",
            "status": status,
            "call_id": id,
            "name": call.name,
            "arguments": arguments,
        }


@dataclass(slots=True)
class ResponseEvents:
    """The events of one stream, numbered. A restart closes what was said as incomplete and begins another item."""

    response: Response
    _number: int = 0
    _index: int = 0
    _said: list[str] = field(default_factory=list)

    def opening(self) -> bytes:
        begun = self.response.begun()
        return self._event("response.created", response=begun) + self._event("response.in_progress", response=begun)

    def text(self, text: str) -> bytes:
        opened = b""
        if not self._said:
            item = self.response.message(self._index, "", "in_progress")
            opened = self._event("response.output_item.added", output_index=self._index, item=item)
            opened += self._in_item("response.content_part.added", part=part(""))
        self._said.append(text)
        return opened + self._in_item("response.output_text.delta", delta=text, logprobs=[])

    def thinking(self, text: str) -> bytes:
        return b""

    def tool(self, name: str) -> bytes:
        return b""

    def asked(self, question: object) -> bytes:
        return b""

    def settled(self, approval: str, answer: str) -> bytes:
        return b""

    def restarted(self) -> bytes:
        return self._close("incomplete")[0]

    def ending(self, outcome: Outcome, calls: Calls) -> bytes:
        opened = b"" if self._said or calls else self.text("")
        closed, output = self._close(_status(outcome))
        for id, call in calls:
            closed += self._call(id, call, output)
        body = self.response.ended(outcome, output)
        return opened + closed + self._event(f"response.{body['status']}", response=body)

    def failing(self, error: ApiError) -> bytes:
        closed, output = self._close("incomplete")
        # A silent stream was kept awake before it had anything to say.
        opened = self.opening() if not self._number else b""
        return opened + closed + self._event("response.failed", response=self.response.failed(error, output))

    def _close(self, status: str) -> tuple[bytes, list[Body]]:
        if not self._said:
            return b"", []
        text = "".join(self._said)
        item = self.response.message(self._index, text, status)
        closed = self._in_item("response.output_text.done", text=text, logprobs=[])
        closed += self._in_item("response.content_part.done", part=part(text))
        closed += self._event("response.output_item.done", output_index=self._index, item=item)
        self._said.clear()
        self._index += 1
        return closed, [item]

    def _call(self, id: str, call: ToolCall, output: list[Body]) -> bytes:
        begun = self.response.call(self._index, id, call, "", "in_progress")
        whole = self.response.call(self._index, id, call, call.arguments)
        place = {"output_index": self._index, "item_id": whole["id"]}
        output.append(whole)
        events = (
            self._event("response.output_item.added", output_index=self._index, item=begun),
            self._event("response.function_call_arguments.delta", **place, delta=call.arguments),
            self._event("response.function_call_arguments.done", **place, name=call.name, arguments=call.arguments),
            self._event("response.output_item.done", output_index=self._index, item=whole),
        )
        self._index += 1
        return b"".join(events)

    def _in_item(self, kind: str, **more: object) -> bytes:
        item = self.response.message(self._index, "", "in_progress")["id"]
        return self._event(kind, item_id=item, output_index=self._index, content_index=0, **more)

    def _event(self, kind: str, **more: object) -> bytes:
        data = _encode({"type": kind, "sequence_number": self._number, **more})
        self._number += 1
        return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


def part(text: str) -> Body:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _status(outcome: Outcome) -> str:
    return "incomplete" if outcome.stop in _INCOMPLETE and outcome.status != "waiting" else "completed"


def _tool(tool: Body) -> Body:
    return {"strict": None, **tool}


def _usage(usage: Usage) -> Body:
    given = usage.input + usage.cache_read + usage.cache_write
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + usage.output,
    }


def _format(request: ResponsesRequest) -> Body:
    """As it was asked for; a schema's fields that were left out are not made up."""
    wanted = request.text.format if request.text else None
    if wanted is None or wanted.type != "json_schema":
        return {"type": wanted.type if wanted is not None else "text"}
    fields = {"name": wanted.name, "schema": wanted.schema, "description": wanted.description, "strict": wanted.strict}
    return {"type": wanted.type, **{name: value for name, value in fields.items() if value is not None}}
