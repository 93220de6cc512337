"""The one way a session's journal is written, and the cache of open sessions.

Whoever holds a session's pen adds events; they take effect in the fold at once and become durable together at `commit`.
If that fails the fold is thrown away and made again from the journal, so memory never runs ahead of the disk.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.events import Event, Recorded
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Append, Lease, Store, Write
from ostiary.core.routing.feed import Feed
from ostiary.core.sessions.session import Session, fold

OPEN_SESSIONS = 512


@dataclass(slots=True)
class Pen:
    """Good inside `async with sessions.pen(key)`. What is added and never committed is undone."""

    session: Session
    _sessions: "Sessions"
    _base: int
    _recorded: list[Recorded] = field(default_factory=list)
    _also: list[Write] = field(default_factory=list)
    _then: list[Callable[[], None]] = field(default_factory=list)

    def add(self, event: Event, *, turn: str = "") -> None:
        recorded = Recorded(
            session=self.session.name, seq=self.session.seq + 1, turn=turn, at=self._sessions.clock.now(), event=event
        )
        self.session.apply(recorded)
        self._recorded.append(recorded)

    def also(self, *writes: Write) -> None:
        """Other writes of the same unit: the inbox, the outbox, blobs."""
        self._also.extend(writes)

    def then(self, action: Callable[[], None]) -> None:
        """Do this once the unit is durable."""
        self._then.append(action)

    @property
    def unsaved(self) -> bool:
        return bool(self._recorded or self._also)

    async def commit(self) -> tuple[int, ...]:
        """Durable when it returns; gives the numbers of the `also` writes, in order.

        The store finishes a commit before it lets a cancellation through, so fold and journal stay in step."""
        key = self.session.key
        recorded, also = self._recorded, self._also
        appends: list[Write] = [Append(session=key, turn=each.turn, at=each.at, event=each.event) for each in recorded]
        numbers = await self._sessions.write([*also, *appends], expect={self.session.name: self._base} if recorded else None)
        self._recorded, self._also, self._base = [], [], self.session.seq
        self._sessions.feed.publish(recorded)
        actions, self._then = self._then, []
        for action in actions:
            action()
        return numbers[: len(also)]


@dataclass(slots=True)
class Queued:
    """Who holds a session's pen, and how many hold it or wait for it."""

    lock: anyio.Lock
    users: int = 0


class Sessions:
    """Open sessions by key, the most recently used kept in memory."""

    def __init__(self, *, store: Store, feed: Feed, clock: Clock, limit: int = OPEN_SESSIONS) -> None:
        self.store = store
        self.feed = feed
        self.clock = clock
        self.lease: Lease | None = None
        self._open: OrderedDict[SessionKey, Session] = OrderedDict()
        self.locks: dict[SessionKey, Queued] = {}
        self._limit = limit

    def __len__(self) -> int:
        return len(self._open)

    async def write(self, writes: Sequence[Write], *, expect: dict[str, int] | None = None) -> tuple[int, ...]:
        return await self.store.commit(writes, fence=self.lease, expect=expect)

    async def get(self, key: SessionKey) -> Session:
        """The fold as it stands. Read it; to change it take the pen."""
        session = self._open.get(key)
        if session is None:
            loaded = fold(key, await self.store.read(key))
            session = self._open.setdefault(key, loaded)
            self._shrink()
        else:
            self._open.move_to_end(key)
        return session

    def peek(self, key: SessionKey) -> Session | None:
        """The fold if it is open, without loading it."""
        return self._open.get(key)

    def pen(self, key: SessionKey) -> "Holding":
        """One writer at a time per session; leaving with an error or with uncommitted events drops the fold."""
        return Holding(self, key)

    def forget(self, key: SessionKey) -> None:
        self._open.pop(key, None)

    def _shrink(self) -> None:
        while len(self._open) > self._limit:
            oldest = next((key for key in self._open if key not in self.locks), None)
            if oldest is None:
                return
            del self._open[oldest]


class Holding:
    """`async with sessions.pen(key) as pen`."""

    __slots__ = ("_key", "_pen", "_sessions")

    def __init__(self, sessions: Sessions, key: SessionKey) -> None:
        self._sessions = sessions
        self._key = key
        self._pen: Pen | None = None

    async def __aenter__(self) -> Pen:
        locks, key = self._sessions.locks, self._key
        held = locks.get(key)
        if held is None:
            held = locks[key] = Queued(anyio.Lock(fast_acquire=True))
        held.users += 1
        try:
            await held.lock.acquire()
            try:
                session = await self._sessions.get(key)
            except BaseException:
                held.lock.release()
                raise
        except BaseException:
            self._leave(held)
            raise
        self._pen = Pen(session, self._sessions, session.seq)
        return self._pen

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        held = self._sessions.locks[self._key]
        if self._pen is not None and self._pen.unsaved:
            self._sessions.forget(self._key)
        held.lock.release()
        self._leave(held)

    def _leave(self, held: Queued) -> None:
        held.users -= 1
        if not held.users:
            del self._sessions.locks[self._key]
