"""A real process, really killed or really refused by the kernel; then the file is opened again."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import SqliteStore, open_reader, open_store
from ostiary.adapters.store.sqlite.verify import verify
from ostiary.contracts.errors import StoreRefused
from ostiary.contracts.events import SettingChanged
from ostiary.kit.clock import ManualClock
from tests.conformance.store.words import MAIN, setting
from tests.unit.adapters.store.conftest import KEY

_ROOT = Path(__file__).parents[5]


def child(task: str, path: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"}
    command = [sys.executable, "-m", "tests.unit.adapters.store.sqlite.child", task, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def written_then_killed(path: Path, units: int) -> list[int]:
    """SIGKILL right after the last acknowledgement; gives where the log ended after each unit."""
    with child("write", path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ends = []
        for _ in range(units):
            process.stdin.write("\n")
            process.stdin.flush()
            ends.append(json.loads(process.stdout.readline())[1])
        process.kill()
    return ends


def cut(log: Path, end: int) -> None:
    os.truncate(log, end + 6000)


def flip(log: Path, end: int) -> None:
    content = bytearray(log.read_bytes())
    content[end + 5000] ^= 1
    log.write_bytes(content)


def scramble(log: Path, end: int) -> None:
    content = log.read_bytes()
    log.write_bytes(content[:end] + os.urandom(len(content) - end))


async def settings_in(store: SqliteStore) -> list[str]:
    return [one.event.value for one in await store.read(MAIN) if isinstance(one.event, SettingChanged)]


async def test_every_acknowledged_unit_outlives_a_kill(path: Path) -> None:
    written_then_killed(path, 12)
    async with open_store(path, KEY, clock=ManualClock()) as store:
        assert await settings_in(store) == [str(n) for n in range(1, 13)]
        assert await store.verify(MAIN) == ""
        assert await store.commit([setting("13")]) == (13,)


@pytest.mark.parametrize("tear", [cut, flip, scramble])
async def test_a_torn_tail_of_the_log_loses_only_the_unit_that_was_being_written(
    path: Path, tear: Callable[[Path, int], None]
) -> None:
    ends = written_then_killed(path, 6)
    tear(Path(f"{path}-wal"), ends[-2])
    async with open_store(path, KEY, clock=ManualClock()) as store:
        assert await settings_in(store) == ["1", "2", "3", "4", "5"]
        assert sorted(await store.values("s")) == ["1", "2", "3", "4", "5"]
        assert await store.verify(MAIN) == ""
        assert await store.commit([setting("again")]) == (6,)
    async with open_store(path, KEY, clock=ManualClock()) as store:
        assert await settings_in(store) == ["1", "2", "3", "4", "5", "again"]


async def test_a_reader_reads_what_a_killed_process_left(path: Path) -> None:
    written_then_killed(path, 3)
    async with open_reader(path, KEY) as reader:
        assert len(await reader.read(MAIN)) == 3


async def test_a_second_process_is_told_who_holds_the_store_and_may_read_beside_it(path: Path) -> None:
    with child("write", path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())[0] == 1
        with pytest.raises(StoreRefused, match=f"in use by another process \\(pid {process.pid}\\)"):
            async with open_store(path, KEY, clock=ManualClock()):
                pass
        async with open_reader(path, KEY) as reader:
            assert len(await reader.read(MAIN)) == 1
        assert verify(path, KEY).problems == ()
        process.stdin.close()


async def test_a_disk_without_room_refuses_the_unit_whole_and_the_store_goes_on_afterwards(path: Path) -> None:
    with child("fill", path) as process:
        said, _ = process.communicate(timeout=60)
    assert json.loads(said) == ["written", "StoreUnavailable", "StoreUnavailable", "written"]
    async with open_store(path, KEY, clock=ManualClock()) as store:
        assert await settings_in(store) == ["before", "after"]
        assert sorted(await store.values("s")) == ["after", "before"]
        assert await store.verify(MAIN) == ""
