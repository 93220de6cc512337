"""The pen: one writer, memory never ahead of the disk, a small cache."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from ostiary.contracts.errors import Conflict, StoreUnavailable
from ostiary.contracts.events import Recorded, Reset, SettingChanged, Shown
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Append, SetValue, Write
from ostiary.core.routing.feed import Feed
from ostiary.core.sessions.pen import Sessions
from ostiary.kit.models import ScriptedModel
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
