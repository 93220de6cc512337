"""How much of a conversation is sent: the last N turns of the person, cut where no tool call is open."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from ostiary.contracts.content import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from ostiary.contracts.messages import ChatKind, UserId
from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLimits:
    """Turns to keep; None sets no limit, 0 keeps the newest turn only. A person's own limit beats the channel's."""

    direct: int | None = None
    group: int | None = None
    by_person: Mapping[str, int] = field(default_factory=dict)

    def limit_for(self, sender: UserId, chat_kind: ChatKind) -> int | None:
        if chat_kind is not ChatKind.DIRECT:
            return self.group
        return self.by_person.get(sender.stable_id, self.direct) if sender.stable_id else self.direct


def keep_last_turns(messages: Sequence[Message], turns: int | None) -> Sequence[Message]:
    """The newest messages holding at least the last `turns` turns of the person; the same object if nothing is cut.

    A cut falls only before a person's message at which every tool call has been answered, so pairs stay together."""
    if turns is None:
        return messages
    wanted = max(turns, 1)
    cuts = _clean_cuts(messages)
    starts = [index for index, message in enumerate(messages) if isinstance(message, UserMessage)]
    if len(starts) <= wanted:
        return messages
    oldest = starts[-wanted]
    cut = max((index for index in cuts if index <= oldest), default=0)
    return messages[cut:] if cut else messages


def _clean_cuts(messages: Sequence[Message]) -> list[int]:
    """Where a person's message stands with no call before it that is answered after it."""
    called = {
        part.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for part in message.parts
        if isinstance(part, ToolCall)
    }
    waiting: set[str] = set()
    cuts: list[int] = []
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, ToolMessage):
            waiting |= {outcome.call_id for outcome in message.outcomes} & called
        elif isinstance(message, AssistantMessage):
            waiting -= {part.id for part in message.parts if isinstance(part, ToolCall)}
        elif not waiting:
            cuts.append(index)
    return cuts
