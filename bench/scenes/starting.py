"""From nothing to ready, to the first answer; and what it weighs then."""

import time
from collections.abc import Iterator

from bench.machine import memory as memory_of
from bench.machine import settle
from bench.rows import Row
from bench.stage import Stage


def starting(stage: Stage) -> Iterator[Row]:
    ready, first, fresh = [], [], []
    rounds = 2 if stage.quick else 5
    with stage.model() as model:
        for number in range(rounds):
            stage.say(f"first start {number + 1}/{rounds}")
            home = stage.home(model)
            with stage.gateway(home) as gateway:
                fresh.append(gateway.ready_after)
                stage.turn(gateway)
                first.append(time.perf_counter() - gateway.began)
        for number in range(rounds):
            stage.say(f"start {number + 1}/{rounds}")
            with stage.gateway(home) as gateway:
                ready.append(gateway.ready_after)
    yield Row("ready", "process start to ready", "s", tuple(ready))
    yield Row("first_start", "the same with an empty state directory", "s", tuple(fresh), "makes keys, store and files")
    yield Row("first_turn", "start to first finished turn, from empty", "s", tuple(first))


def memory(stage: Stage) -> Iterator[Row]:
    idle, used, proportional = [], [], []
    with stage.model() as model:
        for number in range(stage.rounds):
            stage.say(f"memory {number + 1}/{stage.rounds}")
            with stage.gateway(stage.home(model)) as gateway:
                settle(gateway.pid)
                rss, pss = memory_of(gateway.pid)
                idle.append(rss)
                proportional.append(pss)
                stage.load(gateway, sessions=1, turns=50, prefix="memory")
                used.append(memory_of(gateway.pid)[0])
    note = f"RSS of the whole tree; PSS {min(proportional):.0f} MB"
    yield Row("memory_idle", "memory, idle", "MB", tuple(idle), note)
    yield Row("memory_50", "memory after 50 turns", "MB", tuple(used))
