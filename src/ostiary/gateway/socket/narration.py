"""The journal's events as a chat screen is told of them."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from ostiary.contracts.content import Text, Thinking
from ostiary.contracts.events import (
    Compacted,
    Delta,
    ModelAnswered,
    ModelRequested,
    Noted,
    Recorded,
    Steered,
    ToolIntended,
    ToolResulted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)
from ostiary.contracts.model import Usage
from ostiary.core.sessions.session import add_usage
from ostiary.gateway.protocol import sessions
from ostiary.gateway.protocol.events import (
    Chat,
    ChatAnswered,
    ChatDelta,
    ChatError,
    ChatFinal,
    ChatNoted,
    ChatProgress,
    ChatResumed,
    ChatStarted,
    ChatSteered,
    ChatSummarised,
    ChatTool,
    ChatWaiting,
)
from ostiary.gateway.socket.inputs import inputs_of

TURNS = 2000


@dataclass(slots=True)
class _Turn:
    """What the later events of a turn need of the earlier ones."""

    step: int = 0
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    steps: dict[str, int] = field(default_factory=dict)

    def absorb(self, event: object) -> None:
        match event:
            case ModelRequested(step=step):
                self.step = step
            case ModelAnswered(step=step, usage=usage, model=model):
                self.step, self.model, self.usage = step, model, add_usage(self.usage, usage)
            case ToolIntended(call_id=call_id):
                self.steps[call_id] = self.step
            case _:
                pass


class Narration:
    """Follows turns. One it did not see begin is told from what `recall` gave it."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, _Turn] = OrderedDict()

    def knows(self, recorded: Recorded) -> bool:
        return not recorded.turn or recorded.turn in self._turns or isinstance(recorded.event, TurnStarted)

    def recall(self, turn: str, events: Iterable[Recorded]) -> None:
        """The turn's journal up to, but without, what is told next."""
        followed = self._followed(turn)
        for each in events:
            followed.absorb(each.event)

    def tell(self, recorded: Recorded) -> Chat | None:
        """None if it is nothing for a chat screen."""
        key, turn, event = recorded.session, recorded.turn, recorded.event
        if isinstance(event, Noted):
            note = f"note-{recorded.seq}"
            return ChatNoted(key=key, turn=note, text=event.text, at=recorded.at, by=event.by)
        if not turn:
            return None
        followed = self._followed(turn)
        followed.absorb(event)
        match event:
            case TurnStarted():
                return ChatStarted(
                    key=key,
                    turn=turn,
                    items=[each.item for each in event.inputs],
                    inputs=inputs_of(event.inputs),
                    sender=str(event.principal.user),
                    at=recorded.at,
                )
            case Steered(inputs=inputs):
                return ChatSteered(key=key, turn=turn, items=[each.item for each in inputs], inputs=inputs_of(inputs))
            case ModelAnswered():
                text, thinking = words_of(event)
                usage = usage_of(event.usage)
                return ChatAnswered(
                    key=key, turn=turn, step=event.step, text=text, thinking=thinking, model=event.model, usage=usage
                )
            case ToolIntended() | ToolResulted():
                return _tool(key, turn, event, followed)
            case TurnSuspended(waiting_for=waiting_for, call_ids=call_ids):
                return ChatWaiting(key=key, turn=turn, waiting_for=waiting_for, call_ids=list(call_ids))
            case TurnResumed():
                return ChatResumed(key=key, turn=turn)
            case Compacted(summary=summary, kept_from=kept_from):
                return ChatSummarised(key=key, turn=turn, kept_from=kept_from, summary=summary, at=recorded.at)
            case TurnEnded():
                self._turns.pop(turn, None)
                return _ended(key, turn, event, followed)
            case _:
                return None

    def _followed(self, turn: str) -> _Turn:
        followed = self._turns.get(turn)
        if followed is None:
            followed = self._turns[turn] = _Turn()
            while len(self._turns) > TURNS:
                self._turns.popitem(last=False)
        return followed


def delta_of(delta: Delta) -> ChatDelta | ChatProgress | None:
    """None for what a chat screen does not show: calls being written."""
    if delta.stream == "tool" and delta.call:
        return ChatProgress(key=delta.session, turn=delta.turn, step=delta.step, id=delta.call, text=delta.text)
    if delta.stream not in ("assistant", "thinking"):
        return None
    return ChatDelta(
        key=delta.session,
        turn=delta.turn,
        step=delta.step,
        attempt=delta.attempt,
        offset=delta.offset,
        text=delta.text,
        stream=delta.stream,
    )


def continues(earlier: ChatDelta | ChatProgress, later: ChatDelta | ChatProgress) -> bool:
    """Whether `later` is the next piece of the same answer, so that both can be sent as one."""
    if isinstance(earlier, ChatProgress) or isinstance(later, ChatProgress):
        return False
    return (
        earlier.turn == later.turn
        and earlier.step == later.step
        and earlier.attempt == later.attempt
        and earlier.stream == later.stream
        and earlier.offset + len(earlier.text) == later.offset
    )


def words_of(answered: ModelAnswered) -> tuple[str, str]:
    """What it said, and what it thought."""
    text = "".join(part.text for part in answered.parts if isinstance(part, Text))
    return text, "".join(part.text for part in answered.parts if isinstance(part, Thinking))


def usage_of(usage: Usage) -> sessions.Usage:
    return sessions.Usage(
        input=usage.input, output=usage.output, cache_read=usage.cache_read, cache_write=usage.cache_write, cost=usage.cost
    )


def _tool(key: str, turn: str, event: ToolIntended | ToolResulted, followed: _Turn) -> ChatTool:
    if isinstance(event, ToolIntended):
        return ChatTool(
            key=key,
            turn=turn,
            step=followed.step,
            id=event.call_id,
            name=event.name,
            phase="started",
            state="tool",
            arguments=event.arguments,
            fate="running",
            layer=event.layer,
            reason=event.reason or None,
        )
    return ChatTool(
        key=key,
        turn=turn,
        step=followed.steps.pop(event.call_id, followed.step),
        id=event.call_id,
        name=event.name,
        phase="ended",
        state="tool",
        fate=event.fate,
        is_error=event.is_error,
        result=event.text,
        seconds=event.seconds,
        details=dict(event.details) or None,
    )


def _ended(key: str, turn: str, event: TurnEnded, followed: _Turn) -> ChatFinal | ChatError:
    usage = usage_of(followed.usage)
    if event.status == "completed":
        return ChatFinal(key=key, turn=turn, reply=event.reply, usage=usage, model=followed.model)
    return ChatError(
        key=key,
        turn=turn,
        status=event.status,
        reply=event.reply,
        reason=event.reason,
        error_kind=event.error_kind,
        partial=event.partial,
        usage=usage,
    )
