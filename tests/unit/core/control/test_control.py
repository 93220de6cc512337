import anyio
import anyio.lowlevel
import pytest

from ostiary.contracts.control import Killed
from ostiary.contracts.errors import BadInput, Busy, StaleLease, StoreUnavailable
from ostiary.core.control.control import ControlRules
from ostiary.core.control.gatekeeper import ADMIT, WAKE, Drop
from tests.unit.core.control.parts import ME, PERSONAL, STRANGER, House, OneValue, Work, message

ALWAYS = ControlRules()
DOWN = StoreUnavailable("the disk is full")


async def test_before_the_store_has_spoken_nobody_is_heard() -> None:
    control = House(rules=ALWAYS).control()
    assert (control.state, control.may_begin, control.is_on("exec")) == ("shutdown", False, False)


async def test_the_first_start_is_dormant_in_personal_and_awake_elsewhere() -> None:
    async with House().opened() as control:
        assert control.state == "dormant"
    async with House(rules=ALWAYS).opened() as control:
        assert control.state == "awake"


async def test_waking_hears_switches_every_tool_off_and_looks_round() -> None:
    house = House()
    async with house.opened() as control:
        seen = await control.wake(ME, "/wake")
        await anyio.wait_all_tasks_blocked()
        assert (seen.state, seen.by, seen.reason, seen.switches.rows) == ("awake", "memory:owner", "/wake", ())
        assert seen.sleeps_at == house.clock.now() + 1800
        assert (house.happened, control.machine) == (["woke"], {"processors": 2})
        assert control.admits(message("hi"), ME, is_attended=False, is_command=False) == ADMIT
    assert house.store.told() == ["sleep house ok by house", "wake house ok by memory:owner"]


async def test_sleeping_stops_processes_and_switches_every_tool_off() -> None:
    house = House(processes=Work("processes", 2))
    async with house.opened() as control:
        await control.wake(ME, "/wake")
        await control.enable(["exec"], ME, seconds=None)
        assert (await control.sleep(ME, "/sleep")).processes == 2
        await anyio.wait_all_tasks_blocked()
        assert (control.state, control.is_on("exec"), control.machine) == ("dormant", False, {})
        assert house.happened == ["woke", "slept"]
        assert await control.sleep(ME, "/sleep") == Killed()


async def test_it_falls_asleep_when_nobody_says_anything() -> None:
    house = House(processes=Work("processes", 1))
    async with house.opened() as control:
        await control.wake(ME, "/wake")
        await house.clock.advance(1000)
        control.touch()
        await house.clock.advance(1799)
        assert control.state == "awake"
        await house.clock.advance(1)
        assert (control.state, house.processes.stopped) == ("dormant", ["inactive for 30 minutes"])
    assert house.store.told()[-1] == "sleep house ok by house"


async def test_it_does_not_fall_asleep_over_its_work_or_a_question() -> None:
    house = House(is_busy=True)
    async with house.opened() as control:
        await control.wake(ME, "/wake")
        await house.clock.advance(1801)
        assert control.state == "awake"
        house.is_busy, house.has_questions = False, True
        await house.clock.advance(1800)
        assert control.state == "action_pending"
        house.has_questions = False
        await house.clock.advance(1800)
        assert control.state == "dormant"


async def test_where_it_never_sleeps_nothing_is_waited_for() -> None:
    house = House(rules=ALWAYS)
    async with house.opened() as control:
        await house.clock.advance(10**6)
        assert (control.state, control.view().sleeps_at) == ("awake", 0.0)


async def test_a_machine_that_was_suspended_wakes_up_in_a_house_that_sleeps() -> None:
    house = House()
    async with house.opened() as control:
        await control.wake(ME, "/wake")
        await control.enable(["exec"], ME, seconds=None)
        house.clock.jump(1800)
        assert control.admits(message("hi", STRANGER), STRANGER, is_attended=False, is_command=False) == Drop(reason="dormant")
        assert control.admits(message("hi"), ME, is_attended=True, is_command=False) == WAKE
        seen = await control.wake(ME, "spoke")
        assert (seen.state, control.is_on("exec")) == ("awake", False)
    assert house.store.told()[-2:] == ["sleep house ok by house", "wake house ok by memory:owner"]


async def test_waking_what_is_awake_changes_nothing_but_keeps_it_awake() -> None:
    house = House()
    async with house.opened() as control:
        await control.wake(ME, "/wake")
        await control.enable(["exec"], ME, seconds=None)
        await house.clock.advance(1000)
        seen = await control.wake(ME, "/wake")
        assert control.is_on("exec")
        assert seen.sleeps_at == house.clock.now() + 1800


async def test_a_switch_is_durable_audited_and_ends_on_time() -> None:
    house = House(rules=ALWAYS)
    async with house.opened(clean=False) as control:
        await control.enable(["exec", "group:web"], ME, seconds=60.0)
        before = control.generation
        assert control.is_on("exec")
        assert control.is_on("web_fetch")
        assert not control.is_on("message")
        await house.clock.advance(60)
        assert not control.is_on("exec")
        assert control.generation != before
        await house.clock.advance(1)
    assert house.store.told()[-4:] == [
        "enable exec ok by memory:owner",
        "enable group:web ok by memory:owner",
        "disable exec expired by house",
        "disable group:web expired by house",
    ]
    async with house.opened() as control:
        assert not control.is_on("exec")


async def test_nothing_is_switched_on_in_a_house_that_sleeps() -> None:
    async with House().opened() as control:
        with pytest.raises(BadInput, match="not awake"):
            await control.enable(["exec"], ME, seconds=60.0)


async def test_disabling_holds_at_once_and_is_written_when_the_store_comes_back() -> None:
    house = House(rules=ALWAYS)
    async with house.opened(clean=False) as control:
        await control.enable(["exec"], ME, seconds=None)
        house.store.refuse = DOWN
        with pytest.raises(StoreUnavailable):
            await control.disable([], ME)
        assert not control.is_on("exec")
        await house.clock.advance(10)
        house.store.refuse = None
        await house.clock.advance(40)
    async with house.opened() as control:
        assert not control.is_on("exec")


@pytest.mark.parametrize("act", ["wake", "enable"])
async def test_what_widens_holds_only_once_it_is_written(act: str) -> None:
    house = House(rules=PERSONAL if act == "wake" else ALWAYS)
    async with house.opened() as control:
        house.store.refuse = DOWN
        with pytest.raises(StoreUnavailable):
            await (control.wake(ME, "/wake") if act == "wake" else control.enable(["exec"], ME, seconds=60.0))
        assert (control.state, control.is_on("exec")) == ("dormant" if act == "wake" else "awake", False)
        house.store.refuse = None


async def test_a_crash_resumes_the_state_and_its_switches() -> None:
    house = House()
    async with house.opened(clean=False) as control:
        await control.wake(ME, "/wake")
        await control.enable(["exec"], ME, seconds=600.0)
    house.clock.jump(300)
    async with house.opened() as control:
        assert (control.state, control.is_on("exec")) == ("awake", True)
        await house.clock.advance(300)
        assert not control.is_on("exec")


async def test_a_clean_start_is_dormant_again() -> None:
    house = House()
    async with house.opened() as control:
        await control.wake(ME, "/wake")
    async with house.opened() as control:
        assert control.state == "dormant"


async def test_a_record_that_cannot_be_read_counts_as_a_kill() -> None:
    house = House(rules=ALWAYS, work=[Work("turns", 1)])
    house.store.values["control", "state"] = b"{"
    async with house.opened() as control:
        assert (control.state, house.work[0].running) == ("shutdown", 0)
        assert (await control.wake(ME, "/wake")).state == "awake"


async def test_a_kill_stops_everything_and_tells_what() -> None:
    house = House(rules=ALWAYS, work=[Work("turns", 2), Work("sends", 3)], processes=Work("processes", 1))
    async with house.opened() as control:
        killed = await control.kill(ME, "/kill")
        assert killed == Killed(turns=2, sends=3, processes=1, seconds=killed.seconds)
        assert (control.state, control.may_begin) == ("shutdown", False)
        await anyio.wait_all_tasks_blocked()
    assert house.store.told()[-2:] == ["kill house begun by memory:owner", "kill house ok by memory:owner"]
    assert house.store.audits[-1].detail["turns"] == 2


async def test_the_kill_is_written_before_anything_is_stopped() -> None:
    house = House(rules=ALWAYS, work=[Work("turns", 1)])
    async with house.opened() as control:
        seen: list[list[str]] = []
        house.store.on_commit = lambda number: seen.append(list(house.work[0].stopped))
        await control.kill(ME, "/kill")
        assert seen[0] == []
        assert control.may_begin is False


async def test_nothing_begins_from_the_first_moment_of_a_kill_even_if_the_store_hangs() -> None:
    house = House(rules=ALWAYS, work=[Work("turns", 1)])
    async with house.opened() as control:
        house.store.hold = anyio.Event()
        killed = await control.kill(ME, "/kill")
        assert (killed.turns, killed.unfinished) == (1, ("record",))
        assert not control.may_begin
        house.store.hold.set()
        await anyio.wait_all_tasks_blocked()
        assert control.view().unfinished == ()
    assert "kill house begun by memory:owner" in house.store.told()


async def test_a_kill_that_the_store_refuses_is_written_as_soon_as_it_can_be() -> None:
    house = House(rules=ALWAYS, work=[Work("turns", 1)])
    async with house.opened(clean=False) as control:
        house.store.refuse = DOWN
        assert (await control.kill(ME, "/kill")).unfinished == ("record",)
        house.store.refuse = None
        await house.clock.advance(2)
        assert control.view().unfinished == ()
    async with house.opened() as control:
        assert control.state == "shutdown"


async def test_what_did_not_stop_is_named_and_stopped_again_until_it_has() -> None:
    stubborn = Work("processes", 2, refuse=RuntimeError("no"))
    house = House(rules=ALWAYS, work=[stubborn])
    async with house.opened() as control:
        assert (await control.kill(ME, "/kill")).unfinished == ("processes",)
        with pytest.raises(Busy, match="processes"):
            await control.wake(ME, "/wake")
        assert control.state == "shutdown"
        stubborn.refuse = None
        await house.clock.advance(5)
        assert (control.view().unfinished, stubborn.running) == ((), 0)
        assert (await control.wake(ME, "/wake")).state == "awake"


async def test_waking_after_a_kill_first_stops_what_came_in_between() -> None:
    late = Work("turns", 0)
    house = House(rules=ALWAYS, work=[late])
    async with house.opened() as control:
        await control.kill(ME, "/kill")
        late.running = 1
        await control.wake(ME, "/wake")
        assert late.running == 0


async def test_a_start_after_a_kill_stops_what_the_store_still_calls_under_way() -> None:
    house = House(rules=ALWAYS)
    async with house.opened(clean=False) as control:
        await control.kill(ME, "/kill")
    house.work = [Work("turns", 3)]
    control = house.control()
    await control.load()
    assert await control.finish_kill() == Killed(turns=3)
    assert control.state == "shutdown"


async def test_a_house_that_was_not_killed_takes_its_turns_up() -> None:
    house = House(rules=ALWAYS, work=[Work("turns", 3)])
    control = house.control()
    await control.load()
    assert (await control.finish_kill(), house.work[0].running) == (None, 3)


async def test_a_kill_wins_over_a_waking_that_is_being_written() -> None:
    house = House()
    refused: list[str] = []
    async with house.opened() as control:
        house.store.hold = anyio.Event()
        async with anyio.create_task_group() as group:

            async def wake() -> None:
                with pytest.raises(Busy):
                    await control.wake(ME, "/wake")
                refused.append("wake")

            group.start_soon(wake)
            await anyio.wait_all_tasks_blocked()
            await control.kill(ME, "/kill")
            house.store.hold.set()
        await anyio.wait_all_tasks_blocked()
        assert (control.state, refused) == ("shutdown", ["wake"])
    async with house.opened() as control:
        assert control.state == "shutdown"


async def test_who_hangs_up_does_not_tear_a_kill() -> None:
    house = House(rules=ALWAYS, work=[Work("turns", 1)])
    async with house.opened() as control:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await control.kill(ME, "/kill")
        assert (control.state, house.work[0].running) == ("shutdown", 0)


async def test_a_hook_that_breaks_ends_nothing() -> None:
    house = House()
    async with house.opened() as control:
        house._probe = _broken  # type: ignore[method-assign]
        await control.wake(ME, "/wake")
        await anyio.wait_all_tasks_blocked()
        assert (control.state, house.happened, control.machine) == ("awake", ["woke"], {})


async def _broken() -> dict[str, object]:
    raise RuntimeError("no")


async def test_another_process_that_took_over_ends_the_keeping_of_time() -> None:
    house = House()
    with pytest.RaisesGroup(StaleLease):
        async with house.opened(clean=False) as control:
            await control.wake(ME, "/wake")
            house.store.refuse = StaleLease("another holds it")
            await house.clock.advance(1800)
            await anyio.sleep_forever()


async def test_a_clock_that_jumps_between_two_lives_does_not_break_the_record() -> None:
    store = OneValue()
    house = House(store=store)
    async with house.opened(clean=False) as control:
        await control.wake(ME, "/wake")
        await control.enable(["exec"], ME, seconds=600.0)
        generation = control.generation
    house.clock.jump(-(10**6))
    async with house.opened() as control:
        await control.disable([], ME)
        assert control.generation > generation
