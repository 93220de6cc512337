"""The machine's own clock and chance."""

import pytest

from ostiary.assembly import machine
from ostiary.assembly.machine import SortableIds, SystemClock


def test_ids_are_unique_and_sort_by_the_time_of_making() -> None:
    ids = SortableIds()
    made = [ids.new("turn") for _ in range(5000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(each.startswith("turn_") and each.isascii() and len(each) == 27 for each in made)


def test_ids_keep_sorting_when_the_clock_jumps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = SortableIds()
    first = ids.new("turn")
    monkeypatch.setattr(machine.time, "time_ns", lambda: 1_000_000_000)
    assert ids.new("turn") > first


async def test_a_sleep_of_less_than_nothing_returns() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(-5)
    assert clock.monotonic() >= before
    assert clock.now() > 1_700_000_000
