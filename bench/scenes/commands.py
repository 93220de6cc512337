"""The command line as a person waits for it: from starting the process to its end."""

import time
from collections.abc import Iterator
from pathlib import Path

from bench.processes import Broken
from bench.rows import Row
from bench.stage import ANSWER, Stage


def commands(stage: Stage) -> Iterator[Row]:
    rounds = 3 if stage.quick else 10
    with stage.model() as model:
        home = stage.home(model)
        with stage.gateway(home) as gateway:
            stage.turn(gateway)
            stage.say("ostiary --version")
            versions = tuple(_timed(stage, home, "--version") for _ in range(rounds))
            yield Row("version", "`ostiary --version`", "s", versions)
            stage.say("ostiary agent")
            _check(stage.command(home, "agent", "--message", "hi"))
            yield Row(
                "agent",
                "`ostiary agent --message hi`, gateway running",
                "s",
                tuple(_timed(stage, home, "agent", "--message", "hi") for _ in range(rounds)),
            )


def _timed(stage: Stage, home: Path, *words: str) -> float:
    begun = time.perf_counter()
    stage.command(home, *words)
    return time.perf_counter() - begun


def _check(said: str) -> None:
    if ANSWER not in said:
        raise Broken(f"`ostiary agent` answered {said[:200]!r}")
