"""Every kind of document write, struck dead in the middle of many of its writes to the disk: all of the unit is there or none."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import open_store
from ostiary.adapters.store.sqlite.verify import verify
from ostiary.kit.clock import ManualClock
from tests.crash.vault_child import ACKNOWLEDGED, BEFORE, KEY, NOTES, UNITS

STRIKES = 12
State = dict[tuple[str, int], tuple[str, bool, bytes | None]]


class Striker:
    """The process that forks those to be struck."""

    def __init__(self, folder: Path) -> None:
        library = folder / "strike.so"
        source = Path(__file__).with_name("strike.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
        environ = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.vault_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )

    def run(self, home: Path, unit: str, strike: int) -> tuple[int, int]:
        """The wait status, and how many writes were made if it was not struck."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"home": str(home), "unit": unit, "strike": strike}) + "\n")
        self._process.stdin.flush()
        status, passed = json.loads(self._process.stdout.readline())
        return status, passed

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def striker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Striker]:
    made = Striker(tmp_path_factory.mktemp("strike"))
    yield made
    made.close()


@pytest.fixture
async def before(tmp_path: Path) -> Path:
    """A house with some documents, closed."""
    home = tmp_path / "before"
    async with open_store(home / "store.db", KEY, clock=ManualClock()) as store:
        await store.commit(BEFORE)
    return home


async def state_of(home: Path) -> State:
    """Everything a reader can learn of the documents."""
    state: State = {}
    async with open_store(home / "store.db", KEY, clock=ManualClock()) as store:
        for _, version in await store.documents.changes(0):
            found = await store.documents.get(NOTES, version.path, version=version.version)
            state[version.path, version.version] = (version.digest, version.erased, None if found is None else found[1])
    return state


def strikes(passed: int) -> list[int]:
    """The first and the last write, and some between them."""
    return sorted({1 + place * (passed - 1) // (STRIKES - 1) for place in range(STRIKES)})


@pytest.mark.parametrize("unit", UNITS)
async def test_a_unit_that_is_struck_dead_is_there_whole_or_not_at_all(
    before: Path, tmp_path: Path, striker: Striker, unit: str
) -> None:
    old = await state_of(before)
    after = tmp_path / "after"
    shutil.copytree(before, after)
    status, passed = striker.run(after, unit, 0)
    new = await state_of(after)
    assert (status, old == new) == (0, False)
    outcomes = []
    for strike in strikes(passed):
        home = tmp_path / str(strike)
        shutil.copytree(before, home)
        status, _ = striker.run(home, unit, strike)
        assert (strike, os.WTERMSIG(status)) == (strike, signal.SIGKILL)
        found = await state_of(home)
        assert (strike, found in (old, new)) == (strike, True)
        # What was acknowledged is never undone.
        assert (strike, found == new or not (home / ACKNOWLEDGED).exists()) == (strike, True)
        assert (strike, verify(home / "store.db", KEY).problems) == (strike, ())
        outcomes.append(found == new)
        shutil.rmtree(home)
    assert outcomes[0] is False


@pytest.mark.parametrize("unit", UNITS)
async def test_what_a_strike_prevented_can_be_done_afterwards(before: Path, tmp_path: Path, striker: Striker, unit: str) -> None:
    after = tmp_path / "after"
    shutil.copytree(before, after)
    _, passed = striker.run(after, unit, 0)
    striker.run(before, unit, passed // 4 + 1)
    async with open_store(before / "store.db", KEY, clock=ManualClock()) as store:
        assert len(await store.commit(UNITS[unit])) == len(UNITS[unit])
        await store.sweep(ManualClock().now() + 7200)
    assert await state_of(before) == await state_of(after)
    assert verify(before / "store.db", KEY).problems == ()
