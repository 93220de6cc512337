from collections.abc import Mapping

import anyio

from ostiary.contracts.control import Killed
from ostiary.contracts.errors import StoreUnavailable
from ostiary.core.control.kill import Sweep, stop_parts
from tests.unit.core.control.parts import Work


class Both:
    """A part that counts two kinds of things."""

    name = "turns"

    async def stop_all(self, reason: str) -> Mapping[str, int]:
        return {"turns": 2, "queued": 3}


async def test_every_part_is_stopped_for_the_same_reason_and_counted() -> None:
    parts = [Work("processes", 2), Work("sends", 1), Both()]
    async with anyio.create_task_group() as group:
        sweep = await stop_parts(parts, "/kill", group=group)
    assert sweep.told(0.25) == Killed(turns=2, queued=3, processes=2, sends=1, seconds=0.25)
    assert [part.stopped for part in parts[:2]] == [["/kill"], ["/kill"]]  # type: ignore[union-attr]


async def test_a_part_that_fails_is_named_and_the_others_stop() -> None:
    parts = [Work("processes", 2, refuse=RuntimeError("no")), Work("turns", 1), Work("jobs", refuse=StoreUnavailable("no"))]
    async with anyio.create_task_group() as group:
        sweep = await stop_parts(parts, "/kill", group=group)
    assert sweep.unfinished == ("jobs", "processes")
    assert sweep.counts == {"turns": 1}


async def test_a_part_that_is_late_is_named_and_given_up() -> None:
    slow, quick = Work("processes", 2, hold=anyio.Event()), Work("turns", 1)
    async with anyio.create_task_group() as group:
        sweep = await stop_parts([slow, quick], "/kill", group=group, seconds=0.01)
    assert (sweep.unfinished, sweep.counts, slow.stopped) == (("processes",), {"turns": 1}, [])


async def test_a_part_that_is_deaf_does_not_hold_up_the_answer() -> None:
    release = anyio.Event()
    deaf = Work("processes", 2, hold=release, is_deaf=True)
    async with anyio.create_task_group() as group:
        sweep = await stop_parts([deaf], "/kill", group=group, seconds=0.01)
        assert sweep.unfinished == ("processes",)
        release.set()
    assert deaf.stopped == ["/kill"]


async def test_parts_are_stopped_side_by_side() -> None:
    first, second = Work("turns", 1, hold=anyio.Event()), Work("sends", 1)
    async with anyio.create_task_group() as group:

        async def release_when_the_other_is_reached() -> None:
            await second.reached.wait()
            assert first.hold is not None
            first.hold.set()

        group.start_soon(release_when_the_other_is_reached)
        with anyio.fail_after(5):
            sweep = await stop_parts([first, second], "/kill", group=group, seconds=5.0)
    assert sweep.unfinished == ()


async def test_nothing_to_stop_is_an_empty_sweep() -> None:
    async with anyio.create_task_group() as group:
        assert (await stop_parts([], "/kill", group=group)).is_empty


def test_a_later_sweep_adds_what_it_found_and_knows_what_is_left() -> None:
    whole = Sweep({"turns": 1}, ("sends",))
    whole.add(Sweep({"turns": 1, "sends": 2}, ()))
    assert whole.told(0.0) == Killed(turns=2, sends=2)
