"""The body Anthropic messages accepts, and the rules that a shape alone does not say."""

from typing import Any, Literal

import msgspec

from ostiary.kit.model_servers.server import Refused
from ostiary.kit.model_servers.strict import check_image, check_tool

_MAX_CACHE_POINTS = 4


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class CachePoint(_Strict):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class Text(_Strict, tag="text", tag_field="type"):
    text: str
    cache_control: CachePoint | None = None


class _Source(_Strict):
    type: Literal["base64"]
    media_type: str
    data: str


class Image(_Strict, tag="image", tag_field="type"):
    source: _Source
    cache_control: CachePoint | None = None


class ToolResult(_Strict, tag="tool_result", tag_field="type"):
    tool_use_id: str
    content: str | list[Text | Image] = ""
    is_error: bool = False
    cache_control: CachePoint | None = None


class ToolUse(_Strict, tag="tool_use", tag_field="type"):
    id: str
    name: str
    input: dict[str, Any]
    cache_control: CachePoint | None = None


class Thinking(_Strict, tag="thinking", tag_field="type"):
    thinking: str
    signature: str


class RedactedThinking(_Strict, tag="redacted_thinking", tag_field="type"):
    data: str


class Question(_Strict, tag="user", tag_field="role"):
    content: str | list[Text | Image | ToolResult]

    def blocks(self) -> list[Text | Image | ToolResult]:
        return [Text(text=self.content)] if isinstance(self.content, str) else self.content


class Answer(_Strict, tag="assistant", tag_field="role"):
    content: str | list[Text | ToolUse | Thinking | RedactedThinking]

    def blocks(self) -> list[Text | ToolUse | Thinking | RedactedThinking]:
        return [Text(text=self.content)] if isinstance(self.content, str) else self.content


class _Tool(_Strict):
    name: str
    input_schema: dict[str, Any]
    description: str = ""
    cache_control: CachePoint | None = None


class _ThinkingConfig(_Strict):
    type: Literal["enabled", "disabled", "adaptive", "between_tools"]
    budget_tokens: int | None = None
    display: Literal["summarized", "omitted"] | None = None


class _OutputFormat(_Strict):
    type: Literal["json_schema"]
    schema: dict[str, Any]


class _ToolChoice(_Strict):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class _OutputConfig(_Strict):
    format: _OutputFormat | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None


class Body(_Strict):
    model: str
    max_tokens: int
    messages: list[Question | Answer]
    stream: Literal[True]
    system: str | list[Text] | None = None
    tools: list[_Tool] | None = None
    temperature: float | None = None
    thinking: _ThinkingConfig | None = None
    output_config: _OutputConfig | None = None
    stop_sequences: list[str] | None = None
    tool_choice: _ToolChoice | None = None
    top_k: int | None = None
    top_p: float | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None


def check_body(body: Body) -> None:
    """Raises Refused. Turns of tool calls and signatures are the server's to check: it knows what it gave out."""
    if not body.messages or not isinstance(body.messages[0], Question):
        raise Refused("roles", "messages: first message must use the user role")
    for before, after in zip(body.messages, body.messages[1:], strict=False):
        if type(before) is type(after):
            raise Refused("roles", 'messages: roles must alternate between "user" and "assistant"')
    for tool in body.tools or ():
        check_tool(tool.name, tool.input_schema)
    points = [tool.cache_control for tool in body.tools or ()]
    points += [block.cache_control for block in body.system or () if isinstance(block, Text)]
    for message in body.messages:
        for block in message.blocks():
            _check_block(block)
            points.append(getattr(block, "cache_control", None))
    count = sum(point is not None for point in points)
    if count > _MAX_CACHE_POINTS:
        raise Refused("rejected", f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")
    _check_thinking(body)
    _check_choice(body)


def _check_block(block: Text | Image | ToolResult | ToolUse | Thinking | RedactedThinking) -> None:
    match block:
        case Text(text=text):
            if not text.strip():
                raise Refused("rejected", "messages: text content blocks must contain non-whitespace text")
        case Image(source=source):
            check_image(source.media_type, source.data)
        case ToolResult(content=list() as content):
            for inner in content:
                _check_block(inner)


def _check_thinking(body: Body) -> None:
    config = body.thinking
    if config is None:
        return
    if config.type == "enabled":
        if config.budget_tokens is None or config.budget_tokens < 1024:
            raise Refused("thinking", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if config.budget_tokens >= body.max_tokens:
            raise Refused("thinking", "`max_tokens` must be greater than `thinking.budget_tokens`")
    if config.type in ("enabled", "adaptive") and body.temperature not in (None, 1):
        raise Refused("thinking", "`temperature` may only be set to 1 when thinking is enabled")


def _check_choice(body: Body) -> None:
    choice = body.tool_choice
    if choice is None:
        return
    names = [tool.name for tool in body.tools or ()]
    if not names:
        raise Refused("rejected", "tool_choice may only be specified while providing tools.")
    if (choice.name is not None) != (choice.type == "tool") or choice.name not in (None, *names):
        raise Refused("rejected", f"tool_choice: tool '{choice.name}' not found in provided tools")
    if choice.type == "none" and choice.disable_parallel_tool_use is not None:
        raise Refused("rejected", "tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted")
    thinks = body.thinking is not None and body.thinking.type in ("enabled", "adaptive")
    if thinks and choice.type in ("any", "tool"):
        raise Refused("thinking", "Thinking may not be enabled when tool_choice forces tool use.")
