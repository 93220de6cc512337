"""A cancelled commit finishes, tells its caller what became of it, and lets the cancellation strike afterwards."""

from collections.abc import Sequence

import anyio
import anyio.lowlevel
import pytest

from ostiary.contracts.errors import Conflict
from ostiary.contracts.store import Write
from tests.conformance.store.conftest import AnyStore
from tests.conformance.store.words import MAIN, setting


class Caller:
    """Commits under a cancellation that comes when the commit is under way; remembers how far it got."""

    def __init__(self, store: AnyStore) -> None:
        self._store = store
        self.given: tuple[int, ...] | None = None
        self.raised: Exception | None = None
        self.went_on = False

    async def commit(self, scope: anyio.CancelScope, writes: Sequence[Write], expect: dict[str, int] | None = None) -> None:
        with scope:
            try:
                self.given = await self._store.commit(writes, expect=expect)
            except Conflict as error:
                self.raised = error
            await anyio.lowlevel.checkpoint()
            self.went_on = True


async def cancelled_meanwhile(caller: Caller, writes: Sequence[Write], expect: dict[str, int] | None = None) -> None:
    scope = anyio.CancelScope()
    async with anyio.create_task_group() as group:
        group.start_soon(caller.commit, scope, writes, expect)
        # Once around: the commit has begun and waits for the disk.
        await anyio.lowlevel.checkpoint()
        scope.cancel()


async def test_a_cancelled_commit_is_finished_and_gives_its_numbers(store: AnyStore) -> None:
    caller = Caller(store)
    await cancelled_meanwhile(caller, [setting("a"), setting("b")])
    assert caller.given == (1, 2)
    assert [one.seq for one in await store.read(MAIN)] == [1, 2]


async def test_the_cancellation_strikes_at_the_callers_next_wait(store: AnyStore) -> None:
    caller = Caller(store)
    await cancelled_meanwhile(caller, [setting("a")])
    assert (caller.given, caller.went_on) == ((1,), False)


async def test_a_cancelled_commit_that_is_refused_says_so(store: AnyStore) -> None:
    caller = Caller(store)
    await cancelled_meanwhile(caller, [setting("a")], expect={str(MAIN): 7})
    assert isinstance(caller.raised, Conflict)
    assert await store.read(MAIN) == ()


@pytest.mark.parametrize("others", [1, 8])
async def test_cancelling_one_commit_disturbs_none_beside_it(store: AnyStore, others: int) -> None:
    caller, scope = Caller(store), anyio.CancelScope()
    kept = [Caller(store) for _ in range(others)]
    async with anyio.create_task_group() as group:
        group.start_soon(caller.commit, scope, [setting("cancelled")])
        for each in kept:
            group.start_soon(each.commit, anyio.CancelScope(), [setting("kept")])
        await anyio.lowlevel.checkpoint()
        scope.cancel()
    assert [each.went_on for each in kept] == [True] * others
    assert len(await store.read(MAIN)) == others + 1
