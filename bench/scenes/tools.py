"""A turn in which the model calls a tool: two requests, a verdict, a call, more commits."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from bench.processes import Broken
from bench.rows import Row
from bench.stage import Ran, Stage, get
from bench.stats import median

_WARM = 5
_DONE = "The tool has answered."


def _turns(stage: Stage) -> int:
    return 40 if stage.quick else 100


def tool_turns(
    stage: Stage, tool: str, arguments: str = "{}", rules: Mapping[str, object] | None = None, plain: list[Ran] | None = None
) -> Iterator[Ran]:
    """Rounds of turns with one call each; into `plain` go rounds without a call on a gateway beside it. Raises Broken."""
    turns = _turns(stage)
    with ExitStack() as stack:
        model = stack.enter_context(stage.scripted_model(tool, arguments))
        gateway = stack.enter_context(stage.gateway(stage.home(model, rules=rules)))
        silent = stack.enter_context(stage.scripted_model())
        beside = stack.enter_context(stage.gateway(stage.home(silent, rules=rules))) if plain is not None else None
        stage.load(gateway, sessions=1, turns=_WARM, prefix="warm", expect=_DONE)
        for number in range(stage.rounds):
            stage.say(f"turns with {tool} {number + 1}/{stage.rounds}")
            if beside is not None and plain is not None:
                plain.append(stage.load(beside, sessions=1, turns=turns, prefix=f"plain{number}", expect=_DONE))
            yield stage.load(gateway, sessions=1, turns=turns, prefix=f"tool{number}", expect=_DONE)
        asked = json.loads(get(model.removesuffix("/v1") + "/count"))
    expected = 2 * (_WARM + turns * stage.rounds)
    if asked["requests"] != expected or asked["refused"]:
        raise Broken(f"{asked} instead of {expected} requests: the tool was not called in every turn")


def tools(stage: Stage) -> Iterator[Row]:
    rounds = list(tool_turns(stage, "session_status"))
    note = f"session_status, {_turns(stage)} turns in one session"
    yield Row("tool_cpu", "CPU per turn with one tool call", "ms", tuple(ran.cpu_ms for ran in rounds), note)
    yield Row("tool_p50", "wall time of a turn with one tool call, p50", "ms", tuple(1000 * median(ran.all) for ran in rounds))
