"""The pen: one writer, memory never ahead of the disk, a small cache."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import Conflict, StoreUnavailable
from ostiary.contracts.events import Noted, Recorded, Reset, SettingChanged, Shown
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.store import Append, SetValue, Write
from ostiary.core.routing.feed import Feed
from ostiary.core.sessions.pen import Sessions
from ostiary.core.sessions.session import SYSTEM_LABEL
from ostiary.kit.models import ScriptedModel, call
from ostiary.kit.models import say as scripted
from tests.unit.core.engines import MAIN, Engine, engine


def setting(value: str) -> SettingChanged:
    return SettingChanged(name="model", value=value, by="owner")


async def write(house: Engine, value: str) -> None:
    async with house.sessions.pen(MAIN) as pen:
        pen.add(setting(value))
        await pen.commit()


async def test_what_is_added_counts_at_once_and_lasts_once_committed(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        async with house.sessions.pen(MAIN) as pen:
            pen.add(setting("x"))
            assert pen.session.settings == {"model": "x"}
            assert pen.unsaved
            await pen.commit()
            assert not pen.unsaved
        assert [each.event for each in await house.store.read(MAIN)] == [setting("x")]


async def test_what_is_never_committed_is_undone(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        async with house.sessions.pen(MAIN) as pen:
            pen.add(setting("x"))
        assert (await house.sessions.get(MAIN)).settings == {}
        with pytest.raises(RuntimeError):
            await add_and_raise(house)
        assert (await house.sessions.get(MAIN)).settings == {}


async def add_and_raise(house: Engine) -> None:
    async with house.sessions.pen(MAIN) as pen:
        pen.add(setting("x"))
        raise RuntimeError


async def test_a_refused_commit_leaves_memory_as_the_journal_has_it(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        await write(house, "before")

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            raise StoreUnavailable("the disk is full")

        house.store.before = refuse
        with pytest.raises(StoreUnavailable):
            await write(house, "after")
        house.store.before = None
        assert (await house.sessions.get(MAIN)).settings == {"model": "before"}
        await write(house, "again")
        assert (await house.sessions.get(MAIN)).settings == {"model": "again"}


async def test_a_pen_made_stale_by_another_writer_is_refused_and_then_reads_again(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        await write(house, "mine")
        await house.store.commit([Append(session=MAIN, turn="", at=0.0, event=setting("theirs"))])
        with pytest.raises(Conflict):
            await write(house, "mine again")
        assert (await house.sessions.get(MAIN)).settings == {"model": "theirs"}


async def test_two_writers_of_one_session_take_turns_and_two_sessions_do_not_wait_for_each_other(tmp_path: Path) -> None:
    order: list[str] = []
    other_is_in = anyio.Event()
    async with engine(tmp_path, ScriptedModel([])) as house:

        async def use(name: str) -> None:
            async with house.sessions.pen(MAIN):
                order.append(f"{name} in")
                await other_is_in.wait()
                await anyio.wait_all_tasks_blocked()
                order.append(f"{name} out")

        async with anyio.create_task_group() as group:
            group.start_soon(use, "a")
            group.start_soon(use, "b")
            await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(5):
                async with house.sessions.pen(SessionKey("main", "other")):
                    other_is_in.set()
        assert house.sessions.locks == {}
    assert order == ["a in", "a out", "b in", "b out"]


async def test_a_writer_who_gave_up_waiting_for_the_pen_leaves_no_lock(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        async with house.sessions.pen(MAIN), anyio.create_task_group() as group:
            group.start_soon(write, house, "never")
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert house.sessions.locks == {}
        assert (await house.sessions.get(MAIN)).settings == {}


async def test_a_journal_that_cannot_be_read_leaves_the_pen_free(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        house.store.reads_fail = StoreUnavailable("locked")
        with pytest.raises(StoreUnavailable):
            await write(house, "x")
        house.store.reads_fail = None
        await write(house, "y")
        assert house.sessions.locks == {}


async def test_a_cancelled_commit_is_written_whole_and_memory_agrees(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        async with anyio.create_task_group() as group:

            async def cancel(number: int, writes: Sequence[Write]) -> None:
                group.cancel_scope.cancel()

            house.store.before = cancel
            group.start_soon(write, house, "x")
        house.store.before = None
        remembered = (await house.sessions.get(MAIN)).settings
        house.sessions.forget(MAIN)
        assert remembered == (await house.sessions.get(MAIN)).settings


async def test_screens_and_followers_are_told_after_the_commit_and_only_then(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        done: list[str] = []
        with house.sessions.feed.watch(str(MAIN)) as watcher:
            async with house.sessions.pen(MAIN) as pen:
                pen.add(Reset(reason="x"))
                pen.also(SetValue(space="s", key="k", value=b"v"))
                pen.then(lambda: done.append("then"))
                assert (watcher.take_ready(), done) == ([], [])
                assert await pen.commit() == (0,)
            shown: list[Shown] = watcher.take_ready()
        assert [each.event for each in shown if isinstance(each, Recorded)] == [Reset(reason="x")]
        assert (done, await house.store.value("s", "k")) == (["then"], b"v")


async def test_the_least_recently_used_sessions_leave_memory_but_never_one_that_is_being_written(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        sessions = Sessions(store=house.store, feed=Feed(), clock=house.clock, limit=3)
        async with sessions.pen(MAIN):
            for number in range(6):
                await sessions.get(SessionKey("main", f"s{number}"))
            assert len(sessions) == 3
            assert sessions.peek(MAIN) is not None
            assert sessions.peek(SessionKey("main", "s0")) is None


def note(characters: int) -> Noted:
    return Noted(text="x" * characters, by="owner", label=SYSTEM_LABEL)


async def say(sessions: Sessions, key: SessionKey, characters: int) -> None:
    async with sessions.pen(key) as pen:
        pen.add(note(characters))
        await pen.commit()


def named(number: int) -> SessionKey:
    return SessionKey("main", f"s{number}")


async def test_sessions_leave_memory_when_their_text_together_is_too_long(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        sessions = Sessions(store=house.store, feed=Feed(), clock=house.clock, characters=1000)
        for number in range(5):
            await say(sessions, named(number), 400)
        await sessions.get(named(4))
        assert [sessions.peek(named(number)) is not None for number in range(5)] == [False, False, False, True, True]
        assert 800 <= sessions.characters <= 1000


async def test_what_was_written_counts_and_what_was_forgotten_does_not(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        sessions = house.sessions
        await say(sessions, MAIN, 100)
        await say(sessions, MAIN, 200)
        assert sessions.characters == (await sessions.get(MAIN)).characters >= 300
        sessions.forget(MAIN)
        assert sessions.characters == 0


async def test_one_session_too_long_for_the_rule_is_still_kept_while_it_is_the_newest(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        sessions = Sessions(store=house.store, feed=Feed(), clock=house.clock, characters=100)
        await say(sessions, MAIN, 5000)
        assert await sessions.get(MAIN) is await sessions.get(MAIN)
        await sessions.get(named(1))
        assert sessions.peek(MAIN) is None


async def test_a_session_whose_turn_runs_is_not_evicted(tmp_path: Path) -> None:
    hold = anyio.Event()
    model = ScriptedModel([scripted("done").held(hold)])
    async with engine(tmp_path, model) as house:
        house.sessions._limit = 1
        accepted = await house.supervisor.submit(Submission(message=house.channel.message("go")))
        await house.until(lambda: len(model.requests) == 1)
        running = house.sessions.peek(MAIN)
        for number in range(5):
            await house.sessions.get(named(number))
        assert running is not None
        assert house.sessions.peek(MAIN) is running
        hold.set()
        await house.supervisor.outcome(accepted.item or 0)
        await house.settle(lambda: house.lanes.running == 0)
        await house.sessions.get(named(0))
        assert house.sessions.peek(MAIN) is None


class SlowReads:
    """A store whose next read, once done, is handed over only when the test says so."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.hold: anyio.Event | None = None
        self.has_read = anyio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def read(self, session: SessionKey, **more: Any) -> Any:
        hold, self.hold = self.hold, None
        events = await self._inner.read(session, **more)
        if hold is not None:
            self.has_read.set()
            await hold.wait()
        return events


async def test_a_slow_reader_does_not_bring_back_what_was_written_over_and_forgotten(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        store, hold = SlowReads(house.store), anyio.Event()
        sessions = Sessions(store=store, feed=Feed(), clock=house.clock)
        sessions.lease = house.sessions.lease
        store.hold = hold
        found: list[int] = []

        async def read() -> None:
            found.append((await sessions.get(MAIN)).seq)

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(read)
                await store.has_read.wait()
                await say(sessions, MAIN, 10)
                sessions.forget(MAIN)
                hold.set()
        await say(sessions, MAIN, 10)
        assert (found, (await sessions.get(MAIN)).seq) == ([1], 2)
        assert sessions._loads == {}


async def test_a_session_forgotten_while_it_is_written_is_read_again_afterwards(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        async with house.sessions.pen(MAIN) as pen:
            house.sessions.forget(MAIN)
            await house.sessions.get(MAIN)
            pen.add(setting("x"))
            await pen.commit()
        assert (await house.sessions.get(MAIN)).settings == {"model": "x"}
        await write(house, "y")


async def test_a_call_of_its_own_leaves_memory_when_it_is_answered(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([scripted("done")])) as house:
        key = SessionKey("main", "call:1")
        accepted = await house.supervisor.submit(Submission(message=house.channel.message("go"), session=key))
        outcome = await house.supervisor.outcome(accepted.item or 0)
        await house.settle(lambda: house.lanes.seat_of(key) is None)
        assert (outcome.text, house.sessions.peek(key)) == ("done", None)
        assert (await house.supervisor.outcome(accepted.item or 0)).text == "done"


async def test_a_call_that_waits_for_its_client_stays_in_memory(tmp_path: Path) -> None:
    client = ToolSchema(name="client", description="Runs at the caller's.", parameters={"type": "object", "properties": {}})
    async with engine(tmp_path, ScriptedModel([call("client", id="c1")])) as house:
        key = SessionKey("main", "call:1")
        message = house.channel.message("go")
        await house.supervisor.submit(Submission(message=message, session=key, client_tools=(client,)))
        await house.settle(lambda: house.lanes.parked == 1 and house.lanes.running == 0)
        assert house.sessions.peek(key) is not None
