import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from ostiary.assembly.config.load import Loaded, load
from ostiary.assembly.config.watch import Live, watch
from ostiary.contracts.errors import ConfigInvalid
from ostiary.kit.clock import ManualClock


class Watched:
    """A file being watched, and everything the watch has said about it."""

    def __init__(self, home: Path, clock: ManualClock) -> None:
        self.path = home / "ostiary.json5"
        self.clock = clock
        self.said: list[Loaded | ConfigInvalid] = []
        self._stamp = 1_000_000_000

    def write(self, text: str) -> None:
        self.path.write_text(text)
        self.path.chmod(0o600)
        self._stamp += 10
        os.utime(self.path, ns=(self._stamp, self._stamp))

    async def after(self, seconds: int) -> list[Loaded | ConfigInvalid]:
        before = len(self.said)
        await self.clock.advance(seconds)
        return self.said[before:]


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    world = Watched(tmp_path, ManualClock())
    world.write("{gateway: {port: 1}}")

    async def listen() -> None:
        async for change in watch(tmp_path, {}, clock=world.clock, current=load(tmp_path, {})):
            world.said.append(change)

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        yield world
        group.cancel_scope.cancel()


def ports(said: list[Loaded | ConfigInvalid]) -> list[object]:
    return [(each.generation, each.config.gateway.port) if isinstance(each, Loaded) else "invalid" for each in said]


async def test_an_unchanged_file_says_nothing(watched: Watched) -> None:
    assert await watched.after(5) == []


async def test_a_touched_file_says_nothing(watched: Watched) -> None:
    watched.write("{gateway: {port: 1}}")
    assert await watched.after(5) == []


async def test_a_good_edit_is_a_new_generation(watched: Watched) -> None:
    watched.write("{gateway: {port: 2}}")
    assert ports(await watched.after(1)) == [(2, 2)]
    watched.write("{gateway: {port: 3}}")
    assert ports(await watched.after(3)) == [(3, 3)]


async def test_a_bad_edit_is_reported_once_and_the_next_good_one_taken(watched: Watched) -> None:
    watched.write("{gateway: {port: 'x'}}")
    assert ports(await watched.after(5)) == ["invalid"]
    watched.write("{gateway: {port: 4}}")
    assert ports(await watched.after(2)) == [(2, 4)]


async def test_a_half_written_file_is_not_reported(watched: Watched) -> None:
    watched.write("")
    assert await watched.after(1) == []
    watched.write("{gateway: {port: 5}}")
    assert ports(await watched.after(1)) == [(2, 5)]


async def test_a_file_that_disappears_is_reported_and_defaults_do_not_take_its_place(watched: Watched) -> None:
    watched.path.unlink()
    (problem,) = await watched.after(4)
    assert isinstance(problem, ConfigInvalid)
    assert "is gone" in str(problem)


async def test_a_file_replaced_by_renaming_is_noticed(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "new").write_text("{gateway: {port: 6}}")
    (tmp_path / "new").replace(watched.path)
    assert ports(await watched.after(1)) == [(2, 6)]


async def test_a_bad_edit_taken_back_clears_the_problem(watched: Watched, tmp_path: Path) -> None:
    live = Live(load(tmp_path, {}))
    watched.write("{")
    (problem,) = await watched.after(3)
    assert live.take(problem) is False
    assert live.problem is not None
    assert live.current.config.gateway.port == 1
    watched.write("{gateway: {port: 1}}")
    (back,) = await watched.after(3)
    assert live.take(back) is False
    assert live.problem is None


async def test_a_good_generation_is_kept_as_the_last_good_one(watched: Watched, tmp_path: Path) -> None:
    watched.write("{gateway: {port: 9}}")
    await watched.after(1)
    watched.write("{gateway: {")
    await watched.after(3)
    assert (tmp_path / "ostiary.json5.last-good").read_text() == "{gateway: {port: 9}}"
