"""Tool calls: judged in order, run side by side, answered in order, each exactly once, whatever the tool does."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from tests.unit.core.engines import MAIN, OWNER, Tool, engine

from ostiary.contracts.content import Label, ToolMessage, Trust
from ostiary.contracts.errors import ToolError
from ostiary.contracts.events import ToolIntended, ToolResulted, TurnEnded
from ostiary.contracts.policy import Action, Allow, Decision, Deny
from ostiary.contracts.store import Put
from ostiary.contracts.tool import Effect, ToolResult
from ostiary.core.agent.tool_results import ToolLimits, cap_text
from ostiary.core.policy.verdict import Verdict
from ostiary.kit.models import ScriptedModel, Step, call, say

SECRET = Label(trust=Trust.OWNER, sources=("vault",), private=True)


def several(count: int) -> Step:
    step = call("probe", {"n": 0})
    for number in range(1, count):
        step = step.then(call("probe", {"n": number}))
    return step


def returning(result: Any) -> Callable[[Mapping[str, object]], Awaitable[Any]]:
    async def act(arguments: Mapping[str, object]) -> Any:
        return result

    return act


async def results_of(tmp_path: Path, step: Step, **parts: Any) -> list[ToolResulted]:
    model = ScriptedModel([step, say("done")])
    async with engine(tmp_path, model, **parts) as house:
        await house.channel.say("go")
        await house.channel.until_sent(1)
        results: list[ToolResulted] = await house.events(ToolResulted)
    return results


async def test_calls_run_side_by_side_and_are_answered_in_their_order(tmp_path: Path) -> None:
    entered: list[object] = []
    first_may_end = anyio.Event()

    async def act(arguments: Mapping[str, object]) -> ToolResult:
        entered.append(arguments["n"])
        if arguments["n"] == 0:
            await first_may_end.wait()
        else:
            first_may_end.set()
        return ToolResult(text=f"r{arguments['n']}")

    model = ScriptedModel([several(3), say("done")])
    async with engine(tmp_path, model, tools=[Tool(act=act, effect=Effect.READ)]) as house:
        await house.channel.say("go")
        await house.channel.until_sent(1)
    answers = model.requests[1].messages[-1]
    assert isinstance(answers, ToolMessage)
    assert [outcome.text for outcome in answers.outcomes] == ["r0", "r1", "r2"]
    assert entered == [0, 1, 2]


async def test_no_more_run_at_once_than_allowed_and_all_of_them_run(tmp_path: Path) -> None:
    now, most = [0], [0]

    async def act(arguments: object) -> ToolResult:
        now[0] += 1
        most[0] = max(most[0], now[0])
        await anyio.wait_all_tasks_blocked()
        now[0] -= 1
        return ToolResult(text="ok")

    tool = Tool(act=act, effect=Effect.READ)
    results = await results_of(tmp_path, several(7), tools=[tool], limits=ToolLimits(parallel=3))
    assert (most[0], len(tool.calls), len(results)) == (3, 7, 7)


async def test_a_hundred_calls_at_once_are_cut_at_the_limit_and_each_answered(tmp_path: Path) -> None:
    tool = Tool()
    results = await results_of(tmp_path, several(100), tools=[tool])
    fates = [each.fate for each in results]
    assert (len(tool.calls), fates.count("done"), fates.count("refused")) == (32, 32, 68)
    assert len({each.call_id for each in results}) == 100


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (call("nothing_of_that_name"), "There is no tool"),
        (call("probe", "{not json"), "Wrong arguments"),
        (call("probe", {"unknown": 1}), "Wrong arguments"),
        (call("probe", {"n": "seven"}), "Wrong arguments"),
        (call("probe", "[" * 5000), "Wrong arguments"),
    ],
    ids=["unknown tool", "broken", "unknown key", "wrong type", "deeply nested"],
)
async def test_a_call_that_makes_no_sense_is_refused_with_what_would(tmp_path: Path, step: Step, words: str) -> None:
    tool = Tool()
    (result,) = await results_of(tmp_path, step, tools=[tool])
    assert (tool.calls, result.fate, result.is_error) == ([], "refused", True)
    assert words in result.text


@pytest.mark.parametrize("given", [None, "text", ToolResult(text=cast(str, None))], ids=["nothing", "bare text", "no text"])
async def test_a_tool_that_gives_no_result_is_at_fault_and_the_turn_goes_on(tmp_path: Path, given: object) -> None:
    (result,) = await results_of(tmp_path, call("probe"), tools=[Tool(act=returning(given))])
    assert (result.is_error, "fault of the tool" in result.text) == (True, True)


async def test_a_tools_own_error_is_what_the_model_reads(tmp_path: Path) -> None:
    async def act(arguments: object) -> ToolResult:
        raise ToolError("there is no such file")

    (result,) = await results_of(tmp_path, call("probe"), tools=[Tool(act=act)])
    assert (result.text, result.is_error, result.fate) == ("there is no such file", True, "done")


async def test_a_tool_that_never_returns_is_stopped_in_time(tmp_path: Path) -> None:
    async def act(arguments: object) -> ToolResult:
        await anyio.sleep_forever()
        raise AssertionError

    (result,) = await results_of(tmp_path, call("probe"), tools=[Tool(act=act)], limits=ToolLimits(seconds=0.02))
    assert (result.fate, "took longer" in result.text) == ("interrupted", True)


async def test_a_tool_that_swallows_the_stop_cannot_keep_its_turn_alive(tmp_path: Path) -> None:
    running, never = anyio.Event(), anyio.Event()

    async def act(arguments: object) -> ToolResult:
        running.set()
        try:
            await never.wait()
        except BaseException:
            return ToolResult(text="I do not stop")
        raise AssertionError

    async with engine(tmp_path, ScriptedModel([call("probe"), say("never")]), tools=[Tool(act=act)]) as house:
        await house.channel.say("go")
        await running.wait()
        stopped = await house.supervisor.stop(MAIN, by=OWNER)
        (result,) = await house.events(ToolResulted)
        (ended,) = await house.events(TurnEnded)
    assert (stopped.turns, result.fate, ended.status) == (1, "interrupted", "aborted")


async def test_a_tool_that_fails_while_it_is_stopped_leaves_the_turn_stopped_not_failed(tmp_path: Path) -> None:
    running, never = anyio.Event(), anyio.Event()

    async def act(arguments: object) -> ToolResult:
        running.set()
        try:
            await never.wait()
        finally:
            raise RuntimeError("while cleaning up")

    async with engine(tmp_path, ScriptedModel([call("probe"), say("never")]), tools=[Tool(act=act)]) as house:
        await house.channel.say("go")
        await running.wait()
        await house.supervisor.stop(MAIN, by=OWNER)
        (ended,) = await house.events(TurnEnded)
    assert ended.status == "aborted"


async def test_nothing_runs_that_the_verdict_did_not_allow(tmp_path: Path) -> None:
    async def decide(action: Action) -> Decision:
        return Deny(layer="rule", reason="not today")

    tool = Tool()
    (result,) = await results_of(tmp_path, call("probe"), tools=[tool], decide=decide)
    assert (tool.calls, result.fate) == ([], "refused")
    assert "rule" in result.text


async def test_a_policy_that_hangs_is_a_no_and_the_turn_goes_on(tmp_path: Path) -> None:
    class Hangs:
        async def decide(self, action: Action) -> Decision:
            await anyio.sleep_forever()
            raise AssertionError

    verdict = Verdict([("slow", Hangs())], judge=lambda action: Allow(layer="judge"), seconds=0.02)
    tool = Tool()
    (result,) = await results_of(tmp_path, call("probe"), tools=[tool], decide=verdict.decide)
    assert (tool.calls, "did not answer" in result.text) == ([], True)


async def test_the_verdict_sees_the_label_of_everything_read_so_far(tmp_path: Path) -> None:
    labels: list[Label] = []

    async def decide(action: Action) -> Decision:
        labels.append(action.label)
        return Allow(layer="kit")

    web = Tool("web", untrusted=True)
    vault = Tool("vault", act=returning(ToolResult(text="s3cret", label=SECRET)))
    model = ScriptedModel([call("web"), call("vault"), call("web"), say("done")])
    async with engine(tmp_path, model, tools=[web, vault], decide=decide) as house:
        await house.channel.say("go")
        await house.channel.until_sent(1)
    assert [(label.trust, label.private) for label in labels] == [
        (Trust.OWNER, False),
        (Trust.UNTRUSTED, False),
        (Trust.UNTRUSTED, True),
    ]
    assert {"tool:web", "tool:vault", "vault"} <= set(labels[2].sources)


async def test_the_intent_is_durable_before_the_effect(tmp_path: Path) -> None:
    seen: list[list[str]] = []
    model = ScriptedModel([call("probe", id="c1"), say("done")])
    house_of: list[Any] = []

    async def act(arguments: object) -> ToolResult:
        seen.append([each.call_id for each in await house_of[0].events(ToolIntended)])
        return ToolResult(text="ok")

    async with engine(tmp_path, model, tools=[Tool(act=act)]) as house:
        house_of.append(house)
        await house.channel.say("go")
        await house.channel.until_sent(1)
    assert seen == [["c1"]]


async def test_equal_or_missing_call_ids_are_made_unique(tmp_path: Path) -> None:
    step = call("probe", id="same").then(call("probe", id="same"))
    tool = Tool()
    results = await results_of(tmp_path, step, tools=[tool])
    assert (len({each.call_id for each in results}), len(tool.calls)) == (2, 2)


async def test_details_that_cannot_be_kept_do_not_cost_the_result(tmp_path: Path) -> None:
    odd = ToolResult(text="fine", details={"set": {1, 2}, "object": object()})
    (result,) = await results_of(tmp_path, call("probe"), tools=[Tool(act=returning(odd))])
    assert (result.text, result.fate) == ("fine", "done")


async def test_halves_of_characters_in_a_result_do_not_cost_the_turn(tmp_path: Path) -> None:
    (result,) = await results_of(tmp_path, call("probe"), tools=[Tool(act=returning(ToolResult(text="a\ud800b")))])
    assert (result.text[0], result.text[-1], result.fate) == ("a", "b", "done")


async def test_halves_of_characters_in_details_do_not_cost_the_result(tmp_path: Path) -> None:
    odd = ToolResult(text="fine", details={"path": "a\ud800b"})
    (result,) = await results_of(tmp_path, call("probe"), tools=[Tool(act=returning(odd))])
    assert (result.text, result.fate, result.details["path"]) == ("fine", "done", "a?b")


@pytest.mark.parametrize(
    ("effect", "words"), [(Effect.WRITE, "Nothing was changed"), (Effect.EXECUTE, "It has run, but the files it changed")]
)
async def test_files_that_somebody_else_wrote_first_are_told_as_what_they_are(tmp_path: Path, effect: Effect, words: str) -> None:
    write = Put(collection="c", path="a.txt", content=b"x", at=0.0, author="o", expect_version=7)
    given = ToolResult(text="exit 0", writes=(write,), label=SECRET)
    tool = Tool(act=returning(given), effect=effect)
    (result,) = await results_of(tmp_path, call("probe"), tools=[tool])
    assert (words in result.text, result.is_error, len(tool.calls)) == (True, True, 1)


async def test_a_secret_is_taken_out_of_refusals_too(tmp_path: Path) -> None:
    async def decide(action: Action) -> Decision:
        return Deny(layer="kit", reason="hunter2hunter2 is not for you")

    redact = lambda text: text.replace("hunter2hunter2", "[redacted]")  # noqa: E731 - the guard of this test
    (result,) = await results_of(tmp_path, call("probe"), tools=[Tool()], decide=decide, redact=redact)
    assert result.text == "Refused by kit: [redacted] is not for you."


async def test_call_ids_that_look_like_ours_or_differ_in_halves_of_characters_are_unique_too(tmp_path: Path) -> None:
    step = call("probe", id="a\ud800").then(call("probe", id="a?")).then(call("probe", id="call_turn-1_1_1"))
    tool = Tool()
    results = await results_of(tmp_path, step, tools=[tool])
    assert (len({each.call_id for each in results}), len(tool.calls)) == (3, 3)


@pytest.mark.parametrize("length", [0, 10, 100, 101, 5000])
def test_a_long_result_keeps_head_and_tail_and_says_what_is_missing(length: int) -> None:
    text = "x" * length
    capped = cap_text(text, 100)
    assert capped == text if length <= 100 else f"{length - 100} characters left out" in capped
    assert len(capped) < 200


async def test_halves_of_characters_in_an_answer_do_not_cost_the_turn(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([say("half \ud83d of a face")])) as house:
        await house.channel.say("hi")
        sent = await house.channel.until_sent(1)
        (ended,) = await house.events(TurnEnded)
    assert (sent[0].text, ended.status) == ("half ? of a face", "completed")


@pytest.mark.parametrize(
    ("effect", "words"), [(Effect.WRITE, "Nothing was changed"), (Effect.EXECUTE, "It has run, but the files it changed")]
)
async def test_a_file_that_the_store_cannot_hold_costs_the_call_and_not_the_turn(
    tmp_path: Path, effect: Effect, words: str
) -> None:
    first = Put(collection="c", path="a.txt", content=b"x", at=0.0, author="o")
    twins = ToolResult(text="exit 0", writes=(first, Put(collection="c", path="A.txt", content=b"x", at=0.0, author="o")))
    (result,) = await results_of(tmp_path, call("probe"), tools=[Tool(act=returning(twins), effect=effect)])
    assert (words in result.text, "many disks cannot hold both" in result.text, result.is_error) == (True, True, True)
