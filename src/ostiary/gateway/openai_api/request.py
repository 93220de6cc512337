"""The request's shape, parsed once. What is wrong is answered with its path and what was expected."""

from typing import Any, Literal

import msgspec

from ostiary.contracts.model import AnswerForm
from ostiary.gateway.openai_api.options import (
    Function,
    NamedSchema,
    check_options,
    check_stops,
    check_tools,
    decoded,
    form_of,
    refuse_unsupported,
    wrong,
)


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


class Tool(msgspec.Struct, frozen=True):
    function: Function
    type: Literal["function"] = "function"


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = False


class ResponseFormat(msgspec.Struct, frozen=True):
    type: str = "text"
    json_schema: NamedSchema | None = None


class Request(msgspec.Struct, frozen=True):
    """Fields that change nothing about the meaning of an answer (top_p, seed, ...) are accepted and left unread."""

    messages: list[Message]
    model: str = ""
    user: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    n: int | None = None
    stop: str | list[str] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    logit_bias: dict[str, float] | None = None
    response_format: ResponseFormat | None = None
    modalities: list[str] | None = None
    functions: list[Any] | None = None
    function_call: Any = None
    web_search_options: Any = None


_decode = msgspec.json.Decoder(Request).decode


def parse(body: bytes) -> Request:
    """Raises ApiError 400 naming the field."""
    request = decoded(_decode, body)
    # An option that is silently dropped would make the answer a lie.
    refuse_unsupported(
        {
            "n": (request.n not in (None, 1), "only one answer is given"),
            "logprobs": (bool(request.logprobs or request.top_logprobs), "the probabilities of tokens are not known here"),
            "logit_bias": (bool(request.logit_bias), "tokens are not weighted here"),
            "modalities": (request.modalities not in (None, ["text"]), "only text is given"),
            "functions": (bool(request.functions or request.function_call), "use tools"),
            "web_search_options": (request.web_search_options is not None, "an agent's own tools search"),
        }
    )
    if not request.messages:
        raise wrong("messages", "expected at least one message")
    check_options(
        temperature=request.temperature,
        token_limits={"max_tokens": request.max_tokens, "max_completion_tokens": request.max_completion_tokens},
        effort=("reasoning_effort", request.reasoning_effort),
    )
    check_tools(
        [(f"tools[{index}].function", tool.function) for index, tool in enumerate(request.tools or ())],
        choice=request.tool_choice,
    )
    chat_form(request)
    check_stops(request.stop)
    return request


def chat_form(request: Request) -> AnswerForm | None:
    """Raises ApiError 400."""
    wanted = request.response_format
    path = "response_format.json_schema" if wanted is not None and wanted.type == "json_schema" else "response_format"
    return form_of(path, wanted.type, wanted.json_schema) if wanted is not None else None
