"""Short ways to write conversations down, and plain forms to compare them by."""

from collections.abc import Sequence

from ostiary.contracts.content import (
    AssistantMessage,
    Label,
    Message,
    Text,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
)

OWNER = Label(trust=Trust.OWNER)
WEB = Label(trust=Trust.UNTRUSTED, sources=("web",))


def user(text: str) -> UserMessage:
    return UserMessage(parts=(Text(text=text, label=OWNER),))


def said(text: str, *calls: ToolCall, model: str = "a/b") -> AssistantMessage:
    return AssistantMessage(parts=(*((Text(text=text, label=OWNER),) if text else ()), *calls), model=model)


def call(call_id: str, name: str = "read", arguments: str = "{}") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def results(*ids: str, text: str = "ok", name: str = "read") -> ToolMessage:
    return ToolMessage(outcomes=tuple(ToolOutcome(call_id=i, name=name, text=text, is_error=False, label=WEB) for i in ids))


def plain(messages: Sequence[Message]) -> list[object]:
    return [
        (m.role, m.outcomes if isinstance(m, ToolMessage) else m.parts, m.model if isinstance(m, AssistantMessage) else "")
        for m in messages
    ]
