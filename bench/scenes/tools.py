"""A turn in which the model calls a tool: two requests, a verdict, a call, more commits."""

import json
from collections.abc import Iterator

from bench.processes import Broken
from bench.rows import Row
from bench.stage import Ran, Stage, get
from bench.stats import median

_WARM = 5


def tools(stage: Stage) -> Iterator[Row]:
    turns = 40 if stage.quick else 100
    rounds: list[Ran] = []
    with stage.scripted_model("session_status") as model, stage.gateway(stage.home(model)) as gateway:
        expect = "The tool has answered."
        stage.load(gateway, sessions=1, turns=_WARM, prefix="warm", expect=expect)
        for number in range(stage.rounds):
            stage.say(f"turns with a tool {number + 1}/{stage.rounds}")
            rounds.append(stage.load(gateway, sessions=1, turns=turns, prefix=f"tool{number}", expect=expect))
        asked = json.loads(get(model.removesuffix("/v1") + "/count"))["requests"]
    expected = 2 * (_WARM + turns * stage.rounds)
    if asked != expected:
        raise Broken(f"the model was asked {asked} times, not {expected}: the tool was not called in every turn")
    note = f"session_status, {turns} turns in one session"
    yield Row("tool_cpu", "CPU per turn with one tool call", "ms", tuple(ran.cpu_ms for ran in rounds), note)
    yield Row("tool_p50", "wall time of a turn with one tool call, p50", "ms", tuple(1000 * median(ran.all) for ran in rounds))
