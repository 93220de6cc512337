"""The house dies once at every place between two durable steps; the next life finishes the work, once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.scenario import SESSIONS, World, Zygote

Rounds = tuple[tuple[tuple[tuple[str, str], ...], str], ...]
# Who speaks and what their message makes the model do; a round begins when the one before it is answered.
WHOLE: Rounds = ((SESSIONS[1:3], "look,spend"), (SESSIONS[:3], ""))
STREAMED: Rounds = ((SESSIONS[3:], "spend"),)
ASKED: Rounds = ((SESSIONS[2:3], "look,pay"), (SESSIONS[:1], "pay"))


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


def run(home: Path, zygote: Zygote, kill_at: int, rounds: Rounds) -> tuple[World, int]:
    world = World(home, zygote)
    with world.open():
        for place, (sessions, plan) in enumerate(rounds):
            for channel, sender in sessions:
                world.say(channel, sender, plan)
            if place == 0:
                world.begin(kill_at)
                world.until_ready()
            world.until_answered()
        passed = world.stop()
        world.check_not_repeated()
        world.remember()
        world.check_whole()
        world.check_journal()
    return world, passed


@pytest.mark.parametrize("rounds", [WHOLE, STREAMED, ASKED], ids=["whole replies", "replies in blocks", "asked first"])
def test_every_kill_point_loses_and_repeats_nothing(
    tmp_path: Path, zygote: Zygote, capsys: pytest.CaptureFixture[str], rounds: Rounds
) -> None:
    (tmp_path / "whole").mkdir()
    whole, passed = run(tmp_path / "whole", zygote, 0, rounds)
    assert whole.violations == []
    struck: dict[str, int] = {}
    wrong: list[str] = []
    for point in range(1, passed + 1):
        home = tmp_path / str(point)
        home.mkdir()
        world, _ = run(home, zygote, point, rounds)
        killed = world.ledger.of("killed")
        name = str(killed[0].fields["at"]) if killed else "not reached"
        struck[name] = struck.get(name, 0) + 1
        wrong += [f"{name} ({point}): {violation}" for violation in world.violations]
    with capsys.disabled():
        print(f"\n{passed} kill points:", ", ".join(f"{name} {number}" for name, number in sorted(struck.items())))
    assert wrong == []
    assert sum(number for name, number in struck.items() if name != "not reached") >= passed * 0.8
