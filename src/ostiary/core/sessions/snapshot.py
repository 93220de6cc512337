"""A session as it was after one of its events, as plain data: opening goes on from there instead of from the beginning.

A snapshot may be thrown away at any time, and one that cannot be read counts as thrown away. It is taken only between turns.
"""

from collections.abc import Mapping
from typing import Protocol, TypeVar

from ostiary.contracts.content import Label, Message
from ostiary.contracts.events import (
    ApprovalAnswered,
    ApprovalAsked,
    ModelAnswered,
    PrefixPinned,
    ToolIntended,
    ToolResulted,
    TurnEnded,
    TurnStarted,
)
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import Usage
from ostiary.contracts.records import dataclass
from ostiary.core.sessions.session import Session, Turn

SCHEMA = "fold-2"
"""Another one whenever the same events fold to something else."""

EVERY = 256
_CHARACTERS_PER_EVENT = 2000
T = TypeVar("T")


class Codec(Protocol):
    """Dataclasses of contracts and of the kind below, to bytes and back. `decode` raises StoreRefused for what does not fit."""

    def encode(self, value: object) -> bytes: ...

    def decode(self, cls: type[T], packed: bytes) -> T: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    turn: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenTurn:
    """A turn that is over."""

    id: str
    started: TurnStarted
    started_at: float
    items: tuple[int, ...]
    step: int
    requested: bool
    answer: ModelAnswered | None
    intents: tuple[ToolIntended, ...]
    results: tuple[ToolResulted, ...]
    asked: tuple[ApprovalAsked, ...]
    answers: tuple[ApprovalAnswered, ...]
    ended: TurnEnded | None
    usage: Usage
    texts: tuple[str, ...]
    failed_tool: str
    answered_by_client: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    seq: int
    messages: tuple[Message, ...]
    marks: tuple[Mark, ...]
    settings: Mapping[str, str]
    title: str
    last_turn: FrozenTurn | None
    prefix: PrefixPinned | None
    usage: Usage
    turns: int
    model: str
    created_at: float
    updated_at: float
    last_input_at: float
    label: Label
    digest: str
    characters: int
    summary: str
    compactions: int
    renewed: int
    answered_at: float


_PLAIN = (
    "seq",
    "title",
    "prefix",
    "usage",
    "turns",
    "model",
    "created_at",
    "updated_at",
    "last_input_at",
    "label",
    "digest",
    "characters",
    "summary",
    "compactions",
    "renewed",
    "answered_at",
)
_PLAIN_OF_TURN = ("id", "started", "started_at", "step", "requested", "answer", "ended", "usage", "failed_tool")


def is_due(session: Session, saved: int) -> bool:
    """Enough has happened since event `saved` that reading it again costs more than writing the whole state down."""
    return session.turn is None and session.seq - saved >= max(EVERY, session.characters // _CHARACTERS_PER_EVENT)


def freeze(session: Session) -> Frozen:
    """The session must be between turns."""
    assert session.turn is None
    return Frozen(
        messages=tuple(session.messages),
        marks=tuple(Mark(turn=turn, index=index) for turn, index in session.marks),
        settings=dict(session.settings),
        last_turn=_freeze_turn(session.last_turn) if session.last_turn is not None else None,
        **{name: getattr(session, name) for name in _PLAIN},
    )


def thaw(key: SessionKey, frozen: Frozen) -> Session:
    session = Session(key)
    for name in _PLAIN:
        setattr(session, name, getattr(frozen, name))
    session.messages = list(frozen.messages)
    session.marks = [(mark.turn, mark.index) for mark in frozen.marks]
    session.settings = dict(frozen.settings)
    session.last_turn = _thaw_turn(frozen.last_turn) if frozen.last_turn is not None else None
    return session


def _freeze_turn(turn: Turn) -> FrozenTurn:
    return FrozenTurn(
        items=tuple(turn.items),
        texts=tuple(turn.texts),
        answered_by_client=tuple(sorted(turn.answered_by_client)),
        **{name: getattr(turn, name) for name in _PLAIN_OF_TURN},
        intents=tuple(turn.intents.values()),
        results=tuple(turn.results.values()),
        asked=tuple(turn.asked.values()),
        answers=tuple(turn.answers.values()),
    )


def _thaw_turn(frozen: FrozenTurn) -> Turn:
    return Turn(
        items=list(frozen.items),
        texts=list(frozen.texts),
        answered_by_client=set(frozen.answered_by_client),
        **{name: getattr(frozen, name) for name in _PLAIN_OF_TURN},
        intents={each.call_id: each for each in frozen.intents},
        results={each.call_id: each for each in frozen.results},
        asked={each.call_id: each for each in frozen.asked},
        answers={each.call_id: each for each in frozen.answers},
    )
