"""A strict server of OpenAI responses."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ostiary.kit.model_servers.openai_chat import OpenAIChatSpeech
from ostiary.kit.model_servers.script import Call, Failure, Reply, Thought, Words
from ostiary.kit.model_servers.server import KEY, Refused
from ostiary.kit.model_servers.strict import (
    check_answered,
    check_bearer,
    check_data_url,
    check_json,
    check_object,
    check_tool,
    decode,
    sse,
)
from ostiary.kit.model_servers.terms import (
    FlatChoice,
    FlatSchema,
    JsonObject,
    TextOptions,
    Word,
    check_choice,
    check_json_is_spoken_of,
    check_schema,
)


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _InputText(_Strict, tag="input_text", tag_field="type"):
    text: str


class _InputImage(_Strict, tag="input_image", tag_field="type"):
    image_url: str
    detail: Literal["auto", "low", "high"]


class _User(_Strict):
    role: Literal["user"]
    content: str | list[_InputText | _InputImage]


class _Assistant(_Strict):
    role: Literal["assistant"]
    content: str


class _Call(_Strict):
    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    id: str = ""


class _Output(_Strict):
    type: Literal["function_call_output"]
    call_id: str
    output: str | list[_InputText | _InputImage]


class _Reasoning(_Strict):
    type: Literal["reasoning"]
    id: str
    summary: list[dict[str, str]]
    encrypted_content: str


_Item = _User | _Assistant | _Call | _Output | _Reasoning


class _Tool(_Strict):
    type: Literal["function"]
    name: str
    parameters: dict[str, Any]
    strict: bool
    description: str = ""


class _ReasoningConfig(_Strict):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
    summary: Literal["auto", "concise", "detailed"] | None = None


class _Body(_Strict):
    model: str
    input: list[dict[str, Any]]
    stream: Literal[True]
    store: bool = True
    instructions: str | None = None
    tools: list[_Tool] | None = None
    reasoning: _ReasoningConfig | None = None
    include: list[str] | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    prompt_cache_key: str | None = None
    top_p: float | None = None
    tool_choice: Word | FlatChoice | None = None
    parallel_tool_calls: bool | None = None
    text: TextOptions | None = None
    truncation: Literal["auto", "disabled"] | None = None
    user: str | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None


def _check_terms(request: _Body) -> None:
    form, choice = request.text.format if request.text is not None else None, request.tool_choice
    if isinstance(form, FlatSchema):
        check_schema(form)
    check_json_is_spoken_of(isinstance(form, JsonObject), f"{request.instructions} {request.input}")
    named = choice.name if isinstance(choice, FlatChoice) else choice or ""
    check_choice(named, request.parallel_tool_calls, [tool.name for tool in request.tools or ()])


class OpenAIResponsesSpeech:
    """Thinking is a reasoning item with encrypted content, which must come back as it was and be followed by something."""

    base_path = "/v1"
    content_type = "text/event-stream"

    def __init__(self, *, key: str = KEY) -> None:
        self._key = key
        self._thoughts: dict[str, list[dict[str, str]]] = {}
        self._chat = OpenAIChatSpeech(key=key)

    def check(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        if path != "/v1/responses":
            raise Refused("unknown_model", f"Unknown request URL: POST {path}.")
        check_bearer(headers, self._key)
        check_json(headers)
        request = decode(body, _Body)
        for tool in request.tools or ():
            check_tool(tool.name, tool.parameters)
        _check_terms(request)
        if request.max_output_tokens is not None and request.max_output_tokens < 16:
            raise Refused("rejected", "Invalid 'max_output_tokens': integer below minimum value.")
        items = [_item(item) for item in request.input]
        if not items:
            raise Refused("rejected", "Invalid 'input': empty array.")
        self._check_items(items)

    def _check_items(self, items: list[_Item]) -> None:
        calls = [item.call_id for item in items if isinstance(item, _Call)]
        outputs = [item.call_id for item in items if isinstance(item, _Output)]
        check_answered(calls, outputs, "No tool output found for function call, or no tool call found for an output.")
        for item, following in zip(items, [*items[1:], None], strict=True):
            match item:
                case _Call(arguments=arguments):
                    check_object(arguments)
                case _User(content=list() as content) | _Output(output=list() as content):
                    for part in content:
                        if isinstance(part, _InputImage):
                            check_data_url(part.image_url)
                case _Reasoning():
                    if self._thoughts.get(item.encrypted_content) != item.summary:
                        raise Refused("rejected", "The encrypted content could not be verified.")
                    if not isinstance(following, _Assistant | _Call | _Reasoning):
                        raise Refused("rejected", f"Item '{item.id}' was provided without its required following item.")

    def events(self, reply: Reply) -> list[bytes]:
        events = [_event("response.created", response=_response("in_progress", None))]
        for index, part in enumerate(reply.parts):
            events += self._output(index, part)
        counted = reply.counted
        sent = counted.input + counted.cache_read + counted.cache_write
        usage = {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": counted.cache_read, "cache_write_tokens": counted.cache_write},
            "output_tokens": counted.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sent + counted.output,
        }
        reason = {"length": "max_output_tokens", "refusal": "content_filter"}.get(reply.stop)
        status = "incomplete" if reason else "completed"
        response = _response(status, usage) | {"incomplete_details": {"reason": reason} if reason else None}
        return [*events, _event(f"response.{status}", response=response)]

    def _output(self, index: int, part: Words | Thought | Call) -> list[bytes]:
        item: dict[str, Any]
        match part:
            case Words(pieces=pieces):
                item = {"type": "message", "id": f"msg_{index}", "role": "assistant", "status": "completed"}
                text = {"type": "output_text", "text": "".join(pieces), "annotations": []}
                start, end = {**item, "content": []}, {**item, "content": [text]}
                name, place = "response.output_text.delta", {"content_index": 0}
            case Thought(pieces=pieces, proof=proof):
                summary = [{"type": "summary_text", "text": "".join(pieces)}] if pieces else []
                self._thoughts[proof] = summary
                item = {"type": "reasoning", "id": f"rs_{proof}"}
                start, end = {**item, "summary": []}, {**item, "summary": summary, "encrypted_content": proof}
                name, place = "response.reasoning_summary_text.delta", {"summary_index": 0}
            case Call(pieces=pieces):
                item = {"type": "function_call", "id": f"fc_{index}", "call_id": part.id, "name": part.name}
                start, end = {**item, "arguments": ""}, {**item, "arguments": part.arguments}
                name, place = "response.function_call_arguments.delta", {}
        where = {"item_id": item["id"], "output_index": index, **place}
        return [
            _event("response.output_item.added", output_index=index, item=start),
            *(_event(name, **where, delta=piece) for piece in pieces),
            _event("response.output_item.done", output_index=index, item=end),
        ]

    def unfinished(self, events: list[bytes]) -> list[bytes]:
        return events[:-2]

    def broken(self, garbage: bytes) -> bytes:
        return b"event: response.output_text.delta\ndata: " + garbage + b"\n\n"

    def failure(self, failure: Failure) -> tuple[int, bytes]:
        return self._chat.failure(failure)

    def failure_event(self, failure: Failure) -> bytes:
        error = msgspec.json.decode(self.failure(failure)[1])["error"]
        code = error["code"] or error["type"]
        return _event("response.failed", response=_response("failed", None) | {"error": {**error, "code": code}})

    def models(self, path: str, headers: Mapping[str, str]) -> bytes | None:
        return self._chat.models(path, headers)


def _item(fields: dict[str, Any]) -> _Item:
    shapes: dict[object, type[_Item]] = {
        "function_call": _Call,
        "function_call_output": _Output,
        "reasoning": _Reasoning,
        "user": _User,
        "assistant": _Assistant,
    }
    shape = shapes.get(fields.get("type") or fields.get("role"))
    if shape is None:
        raise Refused("rejected", "Invalid value for an item of 'input'.")
    try:
        return msgspec.convert(fields, type=shape)
    except msgspec.ValidationError as error:
        raise Refused("rejected", f"Invalid item in 'input': {error}") from None


def _response(status: str, usage: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": status, "model": "kit-1", "error": None, "usage": usage}


def _event(name: str, **fields: object) -> bytes:
    return sse({"type": name, "sequence_number": 0, **fields}, name)
