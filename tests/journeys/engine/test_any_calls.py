"""Whatever a model calls and whatever the rules and people say: nothing runs without an Allow in the journal."""

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import ApprovalAnswered, ToolIntended, ToolResulted, TurnEnded
from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.core.policy.verdict import Verdict
from ostiary.kit.models import ScriptedModel, call, say
from tests.unit.core.engines import OWNER, Tool, engine

SAID = ("allow", "deny", "yes", "no", "silence", "raise", "nonsense")
NAMES = ("probe", "other", "Probe", "unknown", "probe ")
CALLS = st.lists(st.tuples(st.sampled_from(NAMES[:2]) | st.sampled_from(NAMES), st.sampled_from(SAID)), min_size=1, max_size=5)
TURNS = st.lists(CALLS, min_size=1, max_size=3)


class Rules:
    """Says of each call what the example says: by its number."""

    def __init__(self, said: list[str]) -> None:
        self._said = said

    async def decide(self, action: Action) -> Decision:
        said = self._said[int(str(action.arguments["n"]))]
        decisions: dict[str, Any] = {"allow": Allow(layer="kit"), "deny": Deny(layer="kit", reason="no"), "nonsense": "allow"}
        return decisions.get(said) or (_broken() if said == "raise" else Ask(layer="confirm", reason="well"))


def _broken() -> Decision:
    raise OSError


def script(turns: list[list[tuple[str, str]]]) -> list[Any]:
    numbered = iter(range(100))
    steps: list[Any] = []
    for calls in turns:
        first, *others = [call(name, {"n": next(numbered)}) for name, _ in calls]
        for other in others:
            first = first.then(other)
        steps.append(first)
    return [*steps, say("done")]


async def lived(home: Path, turns: list[list[tuple[str, str]]]) -> tuple[list[Tool], list[Any]]:
    said = [each for calls in turns for _, each in calls]
    tools = [Tool("probe"), Tool("other")]
    verdict = Verdict([("rules", Rules(said))])
    async with engine(home, ScriptedModel(script(turns)), tools=tools, decide=verdict.decide) as house:
        await house.channel.say("go")
        desk = house.supervisor.approvals
        assert desk is not None
        ended: list[Any] = []
        with anyio.fail_after(20):
            while not ended:
                waiting = {each.id: said[int(str(each.arguments["n"]))] for each in desk.pending}
                answers = {name: wanted for name, wanted in waiting.items() if wanted != "silence"}
                for name, wanted in answers.items():
                    with suppress(BadInput):
                        await desk.answer(name, wanted == "yes", by=OWNER)
                # Who is silent lets their time run out, once everybody else has spoken.
                await house.clock.advance(301.0 if waiting and not answers else 0.1)
                await anyio.sleep(0.0005)
                ended = await house.events(TurnEnded)
        journal = [each for kind in (ToolIntended, ToolResulted, ApprovalAnswered) for each in await house.events(kind)]
        return tools, journal


@settings(max_examples=15, deadline=None)
@given(TURNS)
def test_no_tool_runs_without_an_allow_in_the_journal(turns: list[list[tuple[str, str]]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        tools, journal = anyio.run(lived, Path(home), turns)
    ran = sorted(int(str(each["n"])) for tool in tools for each in tool.calls)
    intended = [each for each in journal if isinstance(each, ToolIntended)]
    assert sorted(json.loads(each.arguments)["n"] for each in intended) == ran
    assert all(each.layer for each in intended)
    numbered = list(enumerate(pair for calls in turns for pair in calls))
    known = {number: said for number, (name, said) in numbered if name in ("probe", "other")}
    assert {number for number, said in known.items() if said == "allow"} <= set(ran)
    assert {known[number] for number in ran} <= {"allow", "yes"}
    yes = {each.call_id for each in journal if isinstance(each, ApprovalAnswered) and each.answer == "allowed"}
    assert {each.call_id for each in intended if each.layer == "approval"} == yes
    assert len([each for each in journal if isinstance(each, ToolResulted)]) == len(numbered)
