"""The shape of `POST /v1/responses`, parsed once and told in the words of a chat request, so that both go one way."""

from typing import Any

import msgspec

from ostiary.gateway.openai_api.options import (
    Function,
    NamedSchema,
    check_options,
    check_tools,
    decoded,
    form_of,
    refuse_unsupported,
    wrong,
)
from ostiary.gateway.openai_api.request import (
    AssistantMessage,
    Call,
    CalledFunction,
    DeveloperMessage,
    ImagePart,
    ImageUrl,
    Message,
    Request,
    ResponseFormat,
    SystemMessage,
    TextPart,
    Tool,
    ToolMessage,
    UserMessage,
)

_MOST_METADATA = 16
_TEXT_PARTS = ("input_text", "output_text", "text", "summary_text")


class Part(msgspec.Struct, frozen=True):
    type: str
    text: str = ""
    refusal: str = ""
    image_url: str | None = None
    file_id: str | None = None


class Item(msgspec.Struct, frozen=True):
    """Every kind of item in one: a message may leave out its type, so no tag tells them apart before they are read."""

    type: str = "message"
    role: str = ""
    content: str | list[Part] | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = "{}"
    output: str | list[Part] | None = None


class ToolItem(msgspec.Struct, frozen=True):
    type: str
    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Reasoning(msgspec.Struct, frozen=True):
    effort: str | None = None


class TextFormat(msgspec.Struct, frozen=True):
    type: str = "text"
    name: str = ""
    schema: dict[str, Any] | None = None
    description: str | None = None
    strict: bool | None = None


class TextOptions(msgspec.Struct, frozen=True):
    format: TextFormat | None = None


class ResponsesRequest(msgspec.Struct, frozen=True):
    """Fields that change nothing about the meaning of an answer (top_p, truncation, include, ...) are left unread."""

    input: str | list[Item]
    model: str = ""
    instructions: str | None = None
    previous_response_id: str | None = None
    user: str | None = None
    stream: bool | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None
    tools: list[ToolItem] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning: Reasoning | None = None
    text: TextOptions | None = None
    background: bool | None = None
    conversation: Any = None
    prompt: Any = None
    max_tool_calls: int | None = None
    top_logprobs: int | None = None


_decode = msgspec.json.Decoder(ResponsesRequest).decode


def parse(body: bytes) -> ResponsesRequest:
    """Raises ApiError 400 naming the field."""
    request = decoded(_decode, body)
    refuse_unsupported(
        {
            "background": (bool(request.background), "hanging up cancels nothing anyway"),
            "conversation": (request.conversation is not None, "use previous_response_id or user"),
            "prompt": (request.prompt is not None, "prompts are not kept here"),
            "max_tool_calls": (request.max_tool_calls is not None, "an agent's steps are limited by its configuration"),
            "top_logprobs": (bool(request.top_logprobs), "the probabilities of tokens are not known here"),
        }
    )
    for index, tool in enumerate(request.tools or ()):
        refuse_unsupported({f"tools[{index}].type": (tool.type != "function", "an agent has its own tools; give functions")})
    effort = request.reasoning.effort if request.reasoning else None
    check_options(
        temperature=request.temperature,
        token_limits={"max_output_tokens": request.max_output_tokens},
        effort=("reasoning.effort", effort),
    )
    functions = [(f"tools[{index}]", _function(tool)) for index, tool in enumerate(request.tools or ())]
    check_tools(functions, choice=request.tool_choice)
    _format(request)
    _check_metadata(request.metadata or {})
    return request


def as_chat(request: ResponsesRequest) -> Request:
    """The same request as a chat: one message for each item, so that paths in errors stay true. Raises ApiError 400."""
    items = [Item(role="user", content=request.input)] if isinstance(request.input, str) else request.input
    if not items:
        raise wrong("input", "expected a text or at least one item")
    return Request(
        messages=[_message(item, f"input[{index}]") for index, item in enumerate(items)],
        model=request.model,
        user=request.user,
        stream=request.stream,
        tools=[Tool(function=_function(tool)) for tool in request.tools or ()],
        tool_choice=request.tool_choice,
        parallel_tool_calls=request.parallel_tool_calls,
        response_format=_format(request),
        max_completion_tokens=request.max_output_tokens,
        temperature=request.temperature,
        reasoning_effort=request.reasoning.effort if request.reasoning else None,
    )


def _format(request: ResponsesRequest) -> ResponseFormat | None:
    """As a chat request has it. Raises ApiError 400."""
    wanted = request.text.format if request.text else None
    if wanted is None:
        return None
    schema = NamedSchema(name=wanted.name, schema=wanted.schema, description=wanted.description, strict=wanted.strict)
    form_of("text.format", wanted.type, schema)
    return ResponseFormat(type=wanted.type, json_schema=schema)


def _message(item: Item, path: str) -> Message:
    match item.type:
        case "message":
            return _spoken(item, path)
        case "function_call":
            _need(item.call_id, f"{path}.call_id")
            call = Call(id=item.call_id, function=CalledFunction(name=item.name, arguments=item.arguments))
            return AssistantMessage(tool_calls=[call])
        case "function_call_output":
            _need(item.call_id, f"{path}.call_id")
            if item.output is None:
                raise wrong(f"{path}.output", "expected a text or a list of text parts")
            return ToolMessage(tool_call_id=item.call_id, content=_texts(item.output, f"{path}.output"))
        case "reasoning":
            # A client that sends back what it was given; what the model thought is not believed from outside.
            return AssistantMessage()
        case _:
            raise wrong(f"{path}.type", f"{item.type[:40]!r} is not supported; give message, function_call, function_call_output")


def _spoken(item: Item, path: str) -> Message:
    if item.content is None:
        raise wrong(f"{path}.content", "expected a text or a list of parts")
    match item.role:
        case "user":
            return UserMessage(content=item.content if isinstance(item.content, str) else _user_parts(item.content, path))
        case "assistant":
            return AssistantMessage(content=_texts(item.content, f"{path}.content"))
        case "system":
            return SystemMessage(content=_texts(item.content, f"{path}.content"))
        case "developer":
            return DeveloperMessage(content=_texts(item.content, f"{path}.content"))
        case _:
            raise wrong(f"{path}.role", "expected user, assistant, system or developer")


def _user_parts(parts: list[Part], path: str) -> list[TextPart | ImagePart]:
    taken: list[TextPart | ImagePart] = []
    for index, part in enumerate(parts):
        if part.type == "input_image":
            if part.image_url is None:
                raise wrong(f"{path}.content[{index}].image_url", "expected a data: URL; files are not kept here")
            taken.append(ImagePart(image_url=ImageUrl(url=part.image_url)))
        else:
            taken.append(_text(part, f"{path}.content[{index}]"))
    return taken


def _texts(content: str | list[Part], path: str) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(_text(part, f"{path}[{index}]").text for index, part in enumerate(content))


def _text(part: Part, path: str) -> TextPart:
    if part.type == "refusal":
        return TextPart(text=part.refusal)
    if part.type not in _TEXT_PARTS:
        raise wrong(f"{path}.type", f"{part.type[:40]!r} is not supported here")
    return TextPart(text=part.text)


def _function(tool: ToolItem) -> Function:
    return Function(name=tool.name, description=tool.description, parameters=tool.parameters)


def _need(value: str, path: str) -> None:
    if not value:
        raise wrong(path, "is missing")


def _check_metadata(metadata: dict[str, str]) -> None:
    if len(metadata) > _MOST_METADATA or any(len(name) > 64 or len(value) > 512 for name, value in metadata.items()):
        raise wrong("metadata", "expected up to 16 texts of at most 512 characters, under names of at most 64")
