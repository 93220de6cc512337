"""Time and ids that tests hold in their hand."""

import heapq
from itertools import count

import anyio
import anyio.lowlevel


class ManualClock:
    """Stands still until `advance`; sleepers wake in the order of their deadlines."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now
        self._monotonic = 1000.0
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._order = count()

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        woken = anyio.Event()
        heapq.heappush(self._sleepers, (self._monotonic + seconds, next(self._order), woken))
        await woken.wait()

    async def advance(self, seconds: float) -> None:
        """Let time pass; whoever was due has run up to its next wait when this returns."""
        until = self._monotonic + seconds
        while self._sleepers and self._sleepers[0][0] <= until:
            due, _, woken = heapq.heappop(self._sleepers)
            self._now += due - self._monotonic
            self._monotonic = due
            woken.set()
            await anyio.wait_all_tasks_blocked()
        self._now += until - self._monotonic
        self._monotonic = until
        await anyio.wait_all_tasks_blocked()

    def jump(self, seconds: float) -> None:
        """Move the wall clock only, as an NTP correction or a suspended laptop does."""
        self._now += seconds


class CountingIds:
    """`turn_1`, `turn_2`, ... so that expected values can be written down."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def new(self, kind: str) -> str:
        self._next[kind] = self._next.get(kind, 0) + 1
        return f"{kind}_{self._next[kind]}"
