"""The observer hears every event, cannot delay a turn, and knows when it missed something."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from ostiary.contracts.events import Delta, Recorded
from ostiary.core.routing.feed import Feed, Watcher
from ostiary.gateway.ops.observer import observe
from tests.unit.gateway.ops.events import ENDED, STARTED, at


class Heard:
    def __init__(self, wanted: int) -> None:
        self.events: list[Recorded] = []
        self.lost_count = 0
        self.done = anyio.Event()
        self.was_lost = anyio.Event()
        self._wanted = wanted

    def take(self, recorded: Recorded) -> None:
        self.events.append(recorded)
        if len(self.events) == self._wanted:
            self.done.set()

    def lost(self) -> None:
        self.lost_count += 1
        self.was_lost.set()


class House:
    """A feed, and how often it was opened."""

    def __init__(self) -> None:
        self.feed = Feed()
        self.opened = anyio.Event()
        self.watcher: Watcher | None = None

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[Watcher]:
        with self.feed.watch("", backlog=4) as watcher:
            self.watcher = watcher
            self.opened.set()
            yield watcher


async def no_sleep(seconds: float) -> None:
    await anyio.lowlevel.checkpoint()


async def test_events_are_heard_and_deltas_are_not() -> None:
    house, heard = House(), Heard(2)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(observe, house.watch, [heard], no_sleep)
            await house.opened.wait()
            house.feed.publish([at(1.0, STARTED)])
            house.feed.show(Delta(session="s", turn="t", step=1, attempt=1, offset=0, text="x", stream="assistant"))
            house.feed.publish([at(2.0, ENDED)])
            await heard.done.wait()
            group.cancel_scope.cancel()
    assert [each.event for each in heard.events] == [STARTED, ENDED]


async def test_an_observer_that_is_behind_loses_events_and_goes_on() -> None:
    house, heard, stuck = House(), Heard(1000), anyio.Event()

    async def until_freed(seconds: float) -> None:
        await stuck.wait()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(observe, house.watch, [heard], until_freed)
            await house.opened.wait()
            house.opened = anyio.Event()
            # Publishing never waits, although nobody reads.
            for number in range(50):
                house.feed.publish([at(float(number), STARTED)])
            stuck.set()
            await heard.was_lost.wait()
            await house.opened.wait()
            before = len(heard.events)
            house.feed.publish([at(99.0, ENDED)])
            while len(heard.events) == before:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    assert heard.lost_count == 1
    assert heard.events[-1].event == ENDED
