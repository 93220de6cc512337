"""Reads what the engine shows, in batches, from a bounded queue: a turn never waits for it."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from ostiary.contracts.events import Recorded
from ostiary.core.routing.feed import Watcher

BATCH_SECONDS = 0.1


class Observer(Protocol):
    def take(self, recorded: Recorded) -> None: ...

    def lost(self) -> None:
        """Some events were missed: the queue was full."""
        ...


async def observe(
    watch: Callable[[], AbstractAsyncContextManager[Watcher]],
    observers: Sequence[Observer],
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Until cancelled. It sleeps between batches, so that a streamed answer wakes it ten times a second and not at each word."""
    while True:
        async with watch() as watcher:
            try:
                while not watcher.ended:
                    await watcher.wait()
                    _take(watcher, observers)
                    await sleep(BATCH_SECONDS)
            finally:
                # What came while it slept, also when it is asked to end.
                _take(watcher, observers)
        for observer in observers:
            observer.lost()


def _take(watcher: Watcher, observers: Sequence[Observer]) -> None:
    for shown in watcher.take_ready():
        if isinstance(shown, Recorded):
            for observer in observers:
                observer.take(shown)
