"""How much every session used, by day and model: read from its journal once, then only what was added."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio

from ostiary.contracts.events import ModelAnswered, ModelSpent, Recorded
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import Usage
from ostiary.contracts.store import SessionRecord, Store
from ostiary.core.sessions.session import add_usage

SESSIONS = 5000
_PAGE = 1000
_EVENTS = 100_000

Bucket = tuple[str, str]


@dataclass(slots=True)
class Counted:
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    last_turn: str = ""

    def add(self, turn: str, usage: Usage) -> None:
        self.usage = add_usage(self.usage, usage)
        if turn != self.last_turn:
            self.turns, self.last_turn = self.turns + 1, turn


@dataclass(slots=True)
class _Tally:
    """A session's use by day and model, up to `seq`."""

    seq: int = 0
    buckets: dict[Bucket, Counted] = field(default_factory=dict)

    def take(self, recorded: Recorded) -> None:
        self.seq = recorded.seq
        if isinstance(recorded.event, ModelAnswered | ModelSpent):
            bucket = (day_of(recorded.at), recorded.event.model)
            self.buckets.setdefault(bucket, Counted()).add(recorded.turn, recorded.event.usage)


class Tallies:
    """By session, bounded; a session that was deleted and begun again is counted anew."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Tally] = OrderedDict()
        self._lock = anyio.Lock()

    async def bring_up_to_date(self, store: Store, records: tuple[SessionRecord, ...]) -> bool:
        """Gives whether everything was looked at; what is left is for the next time."""
        left = _EVENTS
        async with self._lock:
            for record in records:
                tally = self._of(record)
                while tally.seq < record.last_seq:
                    if left <= 0:
                        return False
                    page = await store.read(record.key, after=tally.seq, limit=_PAGE)
                    for recorded in page:
                        tally.take(recorded)
                    left -= len(page)
                    if not page:
                        break
        return True

    def of(self, key: SessionKey) -> Mapping[Bucket, Counted]:
        tally = self._known.get(str(key))
        return tally.buckets if tally is not None else {}

    def _of(self, record: SessionRecord) -> _Tally:
        name = str(record.key)
        tally = self._known.get(name)
        if tally is None or tally.seq > record.last_seq:
            tally = self._known[name] = _Tally()
        self._known.move_to_end(name)
        while len(self._known) > SESSIONS:
            self._known.popitem(last=False)
        return tally


def day_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
