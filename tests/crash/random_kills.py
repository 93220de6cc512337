"""Kills at random moments, counted only when they strike mid-turn; now and then with a full disk or a torn log."""

import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.scenario import PLANS, SESSIONS, World, Zygote

LONGEST_LIFE = 0.12


@dataclass
class Report:
    kills: int = 0
    missed: int = 0
    torn: int = 0
    full: int = 0
    refused: int = 0
    messages: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        phases = ", ".join(f"{name} {number}" for name, number in sorted(self.phases.items()))
        return (
            f"{self.kills} kills mid-turn ({self.missed} more struck an idle house), {self.torn} with a torn log, "
            f"{self.full} on a full disk; {self.messages} messages; by phase: {phases}"
        )


def build_full_disk(folder: Path) -> Path:
    """Compile the library that makes the disk full on demand."""
    library = folder / "full_disk.so"
    source = Path(__file__).with_name("full_disk.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return library


def run(
    home: Path, kills: int, *, seed: int, torn: float = 0.0, full: float = 0.0, progress: Callable[[Report], None] | None = None
) -> Report:
    """Kill until `kills` struck mid-turn; then let everything finish and give the account."""
    chance = random.Random(seed)
    report = Report()
    flag = home / "full"
    environ = {"OSTIARY_TEST_FULL": str(flag)}
    zygote = Zygote(preload=str(build_full_disk(home)) if full else "", environ=environ)
    world = World(home, zygote, pause=0.002)
    try:
        with world.open():
            world.begin()
            world.until_ready()
            world.acknowledge()
            while report.kills < kills:
                _one_life(world, chance, report, flag, full=full, torn=torn)
                if progress is not None:
                    progress(report)
            flag.unlink(missing_ok=True)
            for channel, sender in SESSIONS:
                world.say(channel, sender, "look")
            world.until_answered()
            world.stop()
            world.check_not_repeated()
            world.remember()
            world.check_whole()
            world.check_journal()
    finally:
        zygote.close()
    report.messages = len(world.messages)
    report.violations = world.violations
    return report


def _one_life(world: World, chance: random.Random, report: Report, flag: Path, *, full: float, torn: float) -> None:
    waiting = Counter((message.channel, message.sender) for message in world.open_messages)
    for channel, sender in SESSIONS:
        while waiting[channel, sender] < 2:
            world.say(channel, sender, chance.choice(PLANS))
            waiting[channel, sender] += 1
    world.tell()
    fills = chance.random() < full
    world.look(chance.uniform(0.0, LONGEST_LIFE))
    if fills:
        world.until_ready()
        flag.touch()
        world.look(chance.uniform(0.0, LONGEST_LIFE))
        if chance.random() < 0.5:
            flag.unlink()
            world.look(chance.uniform(0.0, LONGEST_LIFE))
    world.tell()
    struck = world.kill()
    flag.unlink(missing_ok=True)
    if chance.random() < torn and world.tear_log(chance):
        report.torn += 1
    phase = world.next_life()
    if struck:
        report.kills += 1
        report.full += fills
        report.phases[phase] += 1
    else:
        report.missed += 1


def main() -> None:
    import argparse
    import tempfile

    parser = argparse.ArgumentParser(description="Kill the house at random moments and check that nothing is lost or repeated.")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)

    def tell(report: Report) -> None:
        if report.kills % 50 == 0:
            print(f"\r{report.kills} of {options.kills} kills", end="", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        report = run(Path(folder), options.kills, seed=options.seed, torn=0.25, full=0.1, progress=tell)
    print(f"\r{report}")
    for violation in report.violations:
        print(f"WRONG: {violation}")
    raise SystemExit(1 if report.violations else 0)
