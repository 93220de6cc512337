"""The request's shape, parsed once. What is wrong is answered with its path and what was expected."""

import re
from typing import Any, Literal

import msgspec

from ostiary.gateway.errors import ApiError


class TextPart(msgspec.Struct, tag="text", tag_field="type", frozen=True):
    text: str


class ImageUrl(msgspec.Struct, frozen=True):
    url: str


class ImagePart(msgspec.Struct, tag="image_url", tag_field="type", frozen=True):
    image_url: ImageUrl


class RefusalPart(msgspec.Struct, tag="refusal", tag_field="type", frozen=True):
    refusal: str


TextContent = str | list[TextPart]
UserContent = str | list[TextPart | ImagePart]
AnswerContent = str | list[TextPart | RefusalPart] | None


class CalledFunction(msgspec.Struct, frozen=True):
    name: str
    arguments: str = "{}"


class Call(msgspec.Struct, frozen=True):
    id: str
    function: CalledFunction


class SystemMessage(msgspec.Struct, tag="system", tag_field="role", frozen=True):
    content: TextContent


class DeveloperMessage(msgspec.Struct, tag="developer", tag_field="role", frozen=True):
    content: TextContent


class UserMessage(msgspec.Struct, tag="user", tag_field="role", frozen=True):
    content: UserContent


class AssistantMessage(msgspec.Struct, tag="assistant", tag_field="role", frozen=True):
    content: AnswerContent = None
    tool_calls: list[Call] | None = None


class ToolMessage(msgspec.Struct, tag="tool", tag_field="role", frozen=True):
    tool_call_id: str
    content: TextContent


Message = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage


class Function(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None


class Tool(msgspec.Struct, frozen=True):
    function: Function
    type: Literal["function"] = "function"


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = False


class ResponseFormat(msgspec.Struct, frozen=True):
    type: str = "text"


class Request(msgspec.Struct, frozen=True):
    """Fields that change nothing about the meaning of an answer (top_p, seed, ...) are accepted and left unread."""

    messages: list[Message]
    model: str = ""
    user: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    n: int | None = None
    stop: str | list[str] | None = None
    logprobs: bool | None = None
    response_format: ResponseFormat | None = None


_decode = msgspec.json.Decoder(Request).decode
_WHERE = re.compile(r"^(?P<what>.*?)(?: - at `\$?\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def parse(body: bytes) -> Request:
    """Raises ApiError 400 naming the field."""
    try:
        request = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        found = _WHERE.match(str(error))
        what, path = (found["what"], found["path"] or "") if found else (str(error), "")
        raise ApiError(400, f"{path or 'The body'}: {what}.", code="invalid_value", param=path) from None
    _refuse_what_cannot_be_honoured(request)
    _check_values(request)
    return request


def _refuse_what_cannot_be_honoured(request: Request) -> None:
    """An option that is silently dropped would make the answer a lie."""
    unsupported = {
        "n": request.n not in (None, 1),
        "stop": bool(request.stop),
        "logprobs": bool(request.logprobs),
        "response_format": request.response_format is not None and request.response_format.type != "text",
        "tool_choice": request.tool_choice not in (None, "auto", "none"),
    }
    for name, wanted in unsupported.items():
        if wanted:
            raise ApiError(400, f"{name}: this value is not supported.", code="unsupported_parameter", param=name)


def _check_values(request: Request) -> None:
    if not request.messages:
        raise ApiError(400, "messages: expected at least one message.", code="invalid_value", param="messages")
    for name, value in (("max_tokens", request.max_tokens), ("max_completion_tokens", request.max_completion_tokens)):
        if value is not None and value < 1:
            raise ApiError(400, f"{name}: expected a whole number of at least 1.", code="invalid_value", param=name)
    if request.temperature is not None and not 0 <= request.temperature <= 2:
        raise ApiError(400, "temperature: expected a number from 0 to 2.", code="invalid_value", param="temperature")
    seen: set[str] = set()
    for index, tool in enumerate(request.tools or ()):
        path = f"tools[{index}].function.name"
        if not _TOOL_NAME.fullmatch(tool.function.name):
            raise ApiError(400, f"{path}: expected 1 to 64 of A-Z a-z 0-9 _ -.", code="invalid_value", param=path)
        if tool.function.name in seen:
            raise ApiError(400, f"{path}: {tool.function.name!r} is there twice.", code="invalid_value", param=path)
        seen.add(tool.function.name)
