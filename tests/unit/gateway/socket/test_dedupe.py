import anyio
import pytest

from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.socket.dedupe import KEPT_SECONDS, Once
from tests.unit.gateway.socket.room import Memory


class Act:
    def __init__(self) -> None:
        self.done = 0
        self.error: Exception | None = None
        self.hold = anyio.Event()
        self.hold.set()

    async def __call__(self) -> bytes:
        await self.hold.wait()
        self.done += 1
        if self.error is not None:
            raise self.error
        return b"result %d" % self.done


def once() -> Once:
    return Once(Memory(), lambda: 1000.0)


async def test_the_same_key_and_params_get_the_first_result() -> None:
    act, door = Act(), once()
    first = await door.do("me", "key-1234", b"p", act)
    assert (await door.do("me", "key-1234", b"p", act), act.done) == (first, 1)


async def test_the_same_key_with_other_params_is_a_conflict() -> None:
    act, door = Act(), once()
    await door.do("me", "key-1234", b"p", act)
    with pytest.raises(MethodError, match="something else"):
        await door.do("me", "key-1234", b"q", act)


async def test_keys_of_different_callers_have_nothing_to_do_with_each_other() -> None:
    act, door = Act(), once()
    await door.do("me", "key-1234", b"p", act)
    await door.do("you", "key-1234", b"q", act)
    assert act.done == 2


async def test_what_failed_may_be_tried_again() -> None:
    act, door = Act(), once()
    act.error = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        await door.do("me", "key-1234", b"p", act)
    act.error = None
    assert await door.do("me", "key-1234", b"p", act) == b"result 2"


async def test_a_second_request_waits_for_the_first_that_is_at_work() -> None:
    act, door = Act(), once()
    act.hold = anyio.Event()
    results: list[bytes] = []

    async def ask() -> None:
        results.append(await door.do("me", "key-1234", b"p", act))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert results == []
            act.hold.set()
    assert (results, act.done) == ([b"result 1", b"result 1"], 1)


async def test_it_is_kept_for_a_day() -> None:
    expiries: list[float] = []

    class Watched(Memory):
        async def keep(self, *args: object, expires_at: float) -> None:
            expiries.append(expires_at)

    await Once(Watched(), lambda: 1000.0).do("me", "key-1234", b"p", Act())
    assert expiries == [1000.0 + KEPT_SECONDS]
    assert KEPT_SECONDS == 24 * 3600
