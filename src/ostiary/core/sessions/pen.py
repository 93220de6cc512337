"""The one way a session's journal is written, and the cache of open sessions.

Whoever holds a session's pen adds events; they take effect in the fold at once and become durable together at `commit`.
If that fails the fold is thrown away and made again from the journal, so memory never runs ahead of the disk.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType

import anyio
import anyio.to_thread

from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import OstiaryError, StaleLease
from ostiary.contracts.events import Event, Recorded
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Append, Lease, SaveSnapshot, Store, Write
from ostiary.core.routing.feed import Feed
from ostiary.core.sessions.session import Session, fold
from ostiary.core.sessions.snapshot import SCHEMA, Codec, Frozen, freeze, is_due, thaw

log = logging.getLogger("ostiary.sessions")

OPEN_SESSIONS = 512
FOLDED_AT_ONCE = 2000
OPEN_CHARACTERS = 64_000_000


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
        self._sessions.wrote(self.session)
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


@dataclass(slots=True, eq=False)
class Load:
    """A journal being read. Stale once the session was written and forgotten meanwhile: what was read is the past."""

    is_stale: bool = False


class Sessions:
    """Open sessions by key, the most recently used kept in memory: at most `limit`, and `characters` of text in all.

    One that is being written or has a turn running stays, whatever its size. With a `codec` long ones open from a snapshot."""

    def __init__(
        self,
        *,
        store: Store,
        feed: Feed,
        clock: Clock,
        limit: int = OPEN_SESSIONS,
        characters: int = OPEN_CHARACTERS,
        codec: Codec | None = None,
    ) -> None:
        self.store = store
        self.codec = codec
        self._saved: dict[SessionKey, int] = {}
        self.feed = feed
        self.clock = clock
        self.lease: Lease | None = None
        self._open: OrderedDict[SessionKey, Session] = OrderedDict()
        self._sizes: dict[SessionKey, int] = {}
        self._loads: dict[SessionKey, set[Load]] = {}
        self._kept: set[SessionKey] = set()
        self.locks: dict[SessionKey, Queued] = {}
        self._limit = limit
        self._most_characters = characters
        self.characters = 0

    def __len__(self) -> int:
        return len(self._open)

    async def write(self, writes: Sequence[Write], *, expect: dict[str, int] | None = None) -> tuple[int, ...]:
        return await self.store.commit(writes, fence=self.lease, expect=expect)

    async def get(self, key: SessionKey) -> Session:
        """The fold as it stands. Read it; to change it take the pen."""
        while (session := self._open.get(key)) is None:
            load = Load()
            loads = self._loads.setdefault(key, set())
            loads.add(load)
            try:
                loaded, saved = await self._load(key)
            finally:
                loads.discard(load)
                if not loads:
                    self._loads.pop(key, None)
            if not load.is_stale and key not in self._open:
                session = self._open[key] = loaded
                self._saved[key] = saved
                self._measure(session)
        self._open.move_to_end(key)
        self._shrink(key)
        return session

    async def _load(self, key: SessionKey) -> tuple[Session, int]:
        """The fold as the store has it, and the event up to which a snapshot holds it."""
        begun = await self._thawed(key)
        events = await self.store.read(key, after=begun.seq if begun is not None else 0)
        saved = begun.seq if begun is not None else 0
        # A long history is folded beside the loop: everybody else would wait for it.
        if len(events) > FOLDED_AT_ONCE:
            return await anyio.to_thread.run_sync(fold, key, events, begun), saved
        return fold(key, events, begun), saved

    async def _thawed(self, key: SessionKey) -> Session | None:
        if self.codec is None:
            return None
        snapshot = await self.store.snapshot(key)
        if snapshot is None or snapshot.schema != SCHEMA:
            return None
        try:
            session = thaw(key, self.codec.decode(Frozen, snapshot.state))
        except OstiaryError as error:
            log.warning("the snapshot of %s is of no use: %s", key, error)
            return None
        return session if session.seq == snapshot.seq else None

    async def save(self, key: SessionKey) -> bool:
        """Write a snapshot if it is worth one by now. A store that does not take it loses nothing. Raises StaleLease."""
        session = self._open.get(key)
        if self.codec is None or session is None or not is_due(session, self._saved.get(key, 0)):
            return False
        async with self.pen(key) as pen:
            session = pen.session
            if not is_due(session, self._saved.get(key, 0)):
                return False
            try:
                state = self.codec.encode(freeze(session))
                await self.write([SaveSnapshot(session=key, seq=session.seq, schema=SCHEMA, state=state)])
            except StaleLease:
                raise
            except OstiaryError as error:
                log.warning("no snapshot of %s: %s", key, error)
                return False
            self._saved[key] = session.seq
        return True

    def peek(self, key: SessionKey) -> Session | None:
        """The fold if it is open, without loading it."""
        return self._open.get(key)

    def pen(self, key: SessionKey) -> "Holding":
        """One writer at a time per session; leaving with an error or with uncommitted events drops the fold."""
        return Holding(self, key)

    def wrote(self, session: Session) -> None:
        """A pen's unit is durable: whatever else was read of the session is the past."""
        if self._open.get(session.key) is session:
            self._measure(session)
        else:
            self.forget(session.key)

    def forget(self, key: SessionKey) -> None:
        for load in self._loads.get(key, ()):
            load.is_stale = True
        self._open.pop(key, None)
        self._saved.pop(key, None)
        self.characters -= self._sizes.pop(key, 0)

    @contextmanager
    def kept(self, key: SessionKey) -> Iterator[None]:
        """While its turn runs a session stays in memory once it is there."""
        self._kept.add(key)
        try:
            yield
        finally:
            self._kept.discard(key)

    def _measure(self, session: Session) -> None:
        self.characters += session.characters - self._sizes.get(session.key, 0)
        self._sizes[session.key] = session.characters

    def _shrink(self, newest: SessionKey) -> None:
        while len(self._open) > self._limit or self.characters > self._most_characters:
            oldest = next((key for key in self._open if key not in self.locks and key not in self._kept and key != newest), None)
            if oldest is None:
                return
            self.forget(oldest)


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
