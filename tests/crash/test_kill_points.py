"""The house dies once at every place between two durable steps; the next life finishes the work, once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.scenario import SESSIONS, World, Zygote

PLAN = "look,spend"


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


def run(home: Path, zygote: Zygote, kill_at: int) -> tuple[World, int]:
    world = World(home, zygote)
    with world.open():
        for channel, sender in SESSIONS[1:]:
            world.say(channel, sender, PLAN)
        world.begin(kill_at)
        world.until_ready()
        world.until_answered()
        for channel, sender in SESSIONS:
            world.say(channel, sender, "")
        world.until_answered()
        passed = world.stop()
        world.check_not_repeated()
        world.remember()
        world.check_whole()
        world.check_journal()
    return world, passed


def test_every_kill_point_loses_and_repeats_nothing(tmp_path: Path, zygote: Zygote, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "whole").mkdir()
    whole, passed = run(tmp_path / "whole", zygote, 0)
    assert whole.violations == []
    struck: dict[str, int] = {}
    wrong: list[str] = []
    for point in range(1, passed + 1):
        home = tmp_path / str(point)
        home.mkdir()
        world, _ = run(home, zygote, point)
        killed = world.ledger.of("killed")
        name = str(killed[0].fields["at"]) if killed else "not reached"
        struck[name] = struck.get(name, 0) + 1
        wrong += [f"{name} ({point}): {violation}" for violation in world.violations]
    with capsys.disabled():
        print(f"\n{passed} kill points:", ", ".join(f"{name} {number}" for name, number in sorted(struck.items())))
    assert wrong == []
    assert sum(number for name, number in struck.items() if name != "not reached") >= passed * 0.8
