"""A turn to be run: what begins it, what bounds it, and how its beginning is recorded."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Protocol

import anyio

from ostiary.contracts.events import Reset, TurnInput, TurnStarted
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import Address
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import InboxItem, MarkInbox, MarkTurn, OutboxItem
from ostiary.core.agent.pruning import PruningRules
from ostiary.core.agent.room import CompactionRules
from ostiary.core.agent.showing import Shown
from ostiary.core.agent.tool_calls import Plan
from ostiary.core.routing.streaming import BlockStream, Progress
from ostiary.core.routing.typing_signs import TypingSigns
from ostiary.core.sessions.pen import Pen
from ostiary.core.sessions.session import Session, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRules:
    """`steps` bounds the model calls of one turn; `client_seconds` is how long a client may take to answer its calls.

    Beyond `history_messages` older turns are summarised, or where that is off no longer sent; beyond `history_turns` of a channel
    they are no longer sent (0: no such limit). `context_tokens` is as much of a model's window as is used (0: all of it)."""

    timeout: float = 600.0
    steps: int = 64
    trims: int = 3
    client_seconds: float = 600.0
    thinking: str = "off"
    history_messages: int = 0
    history_turns: Mapping[str, int] = field(default_factory=dict)
    context_tokens: int = 0
    compaction: CompactionRules = field(default_factory=CompactionRules)
    pruning: PruningRules = field(default_factory=PruningRules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What begins a turn: accepted messages of one principal and place, and what was dropped before them."""

    items: tuple[InboxItem, ...]
    inputs: tuple[TurnInput, ...]
    dropped: tuple[InboxItem, ...] = ()
    summary_of_dropped: str = ""
    reset_reason: str = ""


@dataclass(slots=True)
class Job:
    """One turn being run. `batch` is None once the turn's start is recorded.

    `answers` is the channel's id of the message being answered, `tagged` the one that the answer names instead. `told` is what
    has left of the step under way, None as long as nobody looked. `signs` show that somebody types. `answer` is the one being
    written, `writing` its step and attempt. `compactions` counts the summaries made for it, `must_compact`
    and `must_shorten` that the model refused a request as too long."""

    key: SessionKey
    turn: str
    lane: str
    batch: Batch | None
    steer: Callable[[], list[tuple[InboxItem, TurnInput]]]
    unsteer: Callable[[Sequence[InboxItem]], None] = lambda items: None
    generation: int = 0
    scope: anyio.CancelScope | None = None
    stop_reason: str = ""
    answer: Shown | None = None
    notices: list[str] = field(default_factory=list)
    plan: Plan | None = None
    trims: int = 0
    compactions: int = 0
    must_compact: bool = False
    must_shorten: bool = False
    has_flushed: bool = False
    spent: float = 0.0
    answers: str = ""
    tagged: str = ""
    told: Progress | None = None
    signs: TypingSigns | None = None
    writing: tuple[int, int] = (0, 0)

    @property
    def shown(self) -> str:
        """The answer being written as far as it is there and may be seen."""
        return self.answer.text if self.answer is not None else ""

    def stop(self, reason: str) -> None:
        self.stop_reason = reason
        if self.scope is not None:
            self.scope.cancel()


class Outgoing(Protocol):
    """Where replies leave the house."""

    def pushes(self, address: Address) -> bool:
        """False where the answer is fetched: then nothing else here has any effect."""
        ...

    def rows_for(
        self, session: Session, turn: Turn, reply: str, *, answers: str = "", tagged: str = "", block: int | None = None
    ) -> list[OutboxItem]:
        """`block` counts the blocks of a streamed answer; None is a whole reply."""
        ...

    def send(self, rows: list[OutboxItem]) -> None: ...

    def stream(self, session: Session, turn: Turn, progress: Progress) -> BlockStream | None: ...

    def typing(self, item: InboxItem) -> AbstractAsyncContextManager[TypingSigns] | None: ...


def begin(pen: Pen, job: Job, batch: Batch) -> None:
    first = batch.items[0]
    if batch.reset_reason:
        pen.add(Reset(reason=batch.reset_reason))
    pen.add(
        TurnStarted(
            inputs=batch.inputs,
            principal=first.principal,
            reply_to=first.reply_to,
            lane=job.lane,
            generation=job.generation,
            instructions=first.instructions,
            context=first.context,
            client_tools=first.client_tools,
            directives=first.directives,
            summary_of_dropped=batch.summary_of_dropped,
        ),
        turn=job.turn,
    )
    pen.also(
        MarkInbox(ids=tuple(item.id for item in batch.items), state="claimed", turn=job.turn),
        MarkTurn(turn=job.turn, session=job.key, lane=job.lane, state="running"),
    )
    if batch.dropped:
        pen.also(MarkInbox(ids=tuple(item.id for item in batch.dropped), state="done", turn=job.turn))


def is_one_call(key: SessionKey) -> bool:
    """A stateless request's conversation: its caller brings the whole history next time and never returns to this one."""
    return key.scope.startswith("call:")
