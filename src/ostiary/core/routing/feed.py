"""What screens see: committed events and the deltas between them, fanned out without ever delaying a turn."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager

import anyio

from ostiary.contracts.events import Delta, Recorded, Reset, Shown

BACKLOG = 1000


class Watcher:
    """A bounded queue. When it is full the deltas in it go first; if events alone fill it, the watcher is ended."""

    def __init__(self, backlog: int = BACKLOG) -> None:
        self._queue: deque[Shown] = deque()
        self._backlog = backlog
        self._arrived = anyio.Event()
        self.lost_deltas = 0
        self.ended = False

    def put(self, shown: Shown) -> None:
        if self.ended:
            return
        if len(self._queue) >= self._backlog:
            kept: deque[Shown] = deque(each for each in self._queue if isinstance(each, Recorded))
            self.lost_deltas += len(self._queue) - len(kept)
            self._queue = kept
            if len(kept) >= self._backlog:
                self.ended = True
        self._queue.append(shown)
        self._arrived.set()

    def end(self) -> None:
        self.ended = True
        self._arrived.set()

    def take_ready(self) -> list[Shown]:
        """Everything that waits, without waiting: lets a door join small deltas into one write."""
        ready = list(self._queue)
        self._queue.clear()
        return ready

    async def wait(self) -> None:
        """Until something is there or the watcher ended."""
        if not self._queue and not self.ended:
            self._arrived = anyio.Event()
            await self._arrived.wait()

    def __aiter__(self) -> AsyncIterator[Shown]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[Shown]:
        while True:
            await self.wait()
            while self._queue:
                yield self._queue.popleft()
            if self.ended:
                return


class Feed:
    """Watchers by session, and those who watch everything."""

    def __init__(self) -> None:
        self.began_anew: Callable[[], None] = lambda: None
        """Called after each commit in which a conversation began afresh."""
        self._watchers: dict[str, set[Watcher]] = {}
        self._all: set[Watcher] = set()
        self._of_events: set[Watcher] = set()

    @contextmanager
    def watch(self, session: str, *, deltas: bool = True, backlog: int = BACKLOG) -> Iterator[Watcher]:
        """`session` empty watches every session, and then without `deltas` its events alone."""
        watcher = Watcher(backlog)
        group = self._watchers.setdefault(session, set()) if session else self._all if deltas else self._of_events
        group.add(watcher)
        try:
            yield watcher
        finally:
            watcher.end()
            group.discard(watcher)
            if session and not group:
                self._watchers.pop(session, None)

    def is_watched(self, session: str) -> bool:
        """Whether somebody looks on while an answer is written: a delta that nobody sees need not be made."""
        return bool(self._all) or session in self._watchers

    def publish(self, events: Iterable[Recorded]) -> None:
        for event in events:
            self._put(event)
            for watcher in self._of_events:
                watcher.put(event)
            if isinstance(event.event, Reset):
                self.began_anew()

    def show(self, delta: Delta) -> None:
        self._put(delta)

    def _put(self, shown: Shown) -> None:
        for watcher in self._watchers.get(shown.session, ()):
            watcher.put(shown)
        for watcher in self._all:
            watcher.put(shown)
