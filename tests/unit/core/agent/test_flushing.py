"""Before a summary the model may write down what must be remembered: once, unseen, and judged like any call."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.unit.core.agent.test_compacting import chatter, is_summary, talk, text_of
from tests.unit.core.engines import MAIN, Tool, engine

from ostiary.assembly.prompts import load_words
from ostiary.contracts.errors import ModelUnavailable
from ostiary.contracts.events import ApprovalAsked, Compacted, ModelAnswered, ToolResulted, TurnEnded
from ostiary.contracts.model import ModelFacts, ModelRef, ModelRequest
from ostiary.contracts.policy import Action, Allow, Ask, Decision
from ostiary.contracts.store import DeleteSession
from ostiary.contracts.tool import ToolResult
from ostiary.core.agent.room import CompactionRules, FlushRules
from ostiary.core.agent.run import RunRules
from ostiary.kit.house import OneModel
from ostiary.kit.models import ScriptedModel, Step, call, fail, say

FLUSH = load_words("flush")
RULES = RunRules(
    compaction=CompactionRules(mode="default", prompt=load_words("compaction"), flush=FlushRules(prompt=FLUSH, soft=100))
)
SMALL = OneModel(ModelFacts(ref=ModelRef("kit", "scripted"), context_window=4000, max_tokens=200))
TALK = tuple(f"turn {number} " + "blah " * 100 for number in range(14))


def is_flush(request: ModelRequest) -> bool:
    return text_of(request).endswith(FLUSH)


def remembering(flush: Step) -> ScriptedModel:
    def answer(request: ModelRequest) -> Step:
        if is_summary(request):
            return say("A summary.")
        return flush if is_flush(request) else chatter(request)

    return ScriptedModel(answer)


async def test_what_must_be_remembered_is_written_once_before_the_summary_and_nobody_sees_it(tmp_path: Path) -> None:
    memory = Tool("memory_write")
    model = remembering(say("Noted.").then(call("memory_write", {"n": 1})).then(call("memory_write", {"n": 2})))
    async with engine(tmp_path, model, catalogue=SMALL, run=RULES, tools=[memory]) as house:
        await talk(house, *TALK)
        journal = [each.event for each in await house.store.read(MAIN)]
        session = await house.sessions.get(MAIN)
    written = next(place for place, event in enumerate(journal) if isinstance(event, ToolResulted))
    summarised = next(place for place, event in enumerate(journal) if isinstance(event, Compacted))
    assert written < summarised
    assert memory.calls == [{"n": 1}, {"n": 2}] * sum(map(is_flush, model.requests))
    assert sum(map(is_flush, model.requests)) in (session.compactions, session.compactions + 1)
    assert all("Noted" not in each.text for each in house.channel.sent)
    assert len(house.channel.sent) == len(TALK)
    assert {event.status for event in journal if isinstance(event, TurnEnded)} == {"completed"}


@pytest.mark.parametrize("flush", [say("NO_REPLY"), say("I will answer you."), fail(ModelUnavailable("away")), call("other")])
async def test_a_model_with_nothing_to_write_down_leaves_no_trace_and_is_not_asked_again(tmp_path: Path, flush: Step) -> None:
    model, memory = remembering(flush), Tool("memory_write")
    async with engine(tmp_path, model, catalogue=SMALL, run=RULES, tools=[memory, Tool("other")]) as house:
        await talk(house, *TALK)
        answers: list[ModelAnswered] = await house.events(ModelAnswered)
        session = await house.sessions.get(MAIN)
    assert (len(answers), memory.calls) == (len(TALK), [])
    assert session.compactions == 1
    assert sum(map(is_flush, model.requests)) == 1
    assert [each.text for each in house.channel.sent] == [chatter(model.requests[0]).parts[0].text.strip()] * len(TALK)  # type: ignore[union-attr]


async def test_once_per_cycle_also_after_a_restart(tmp_path: Path) -> None:
    model = remembering(say("NO_REPLY"))
    rules = replace(RULES, compaction=replace(RULES.compaction, flush=FlushRules(prompt=FLUSH, soft=400)))
    near = (*TALK[:11], "nearly there")
    async with engine(tmp_path, model, catalogue=SMALL, run=rules, tools=[Tool("memory_write")]) as house:
        for text in near:
            await talk(house, text)
    asked = sum(map(is_flush, model.requests))
    async with engine(tmp_path, model, catalogue=SMALL, run=rules, tools=[Tool("memory_write")], start=50) as house:
        seen = {house.channel.message("").id for _ in near}
        await talk(house, f"short {len(seen)}")
        compacted = await house.events(Compacted)
    assert (asked, compacted) == (1, [])
    assert sum(map(is_flush, model.requests)) == 1


async def test_nobody_is_asked_about_what_is_to_be_remembered_after_a_crash_in_the_middle_of_it(tmp_path: Path) -> None:
    async def asks(action: Action) -> Decision:
        return Ask(layer="kit", reason="sure?") if action.arguments.get("n") == 2 else Allow(layer="kit")

    begun = anyio.Event()

    async def never(arguments: object) -> ToolResult:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    model = remembering(call("memory_write", {"n": 1}).then(call("memory_write", {"n": 2})))
    house: Any = {"catalogue": SMALL, "run": RULES, "decide": asks}
    async with (
        engine(tmp_path, model, tools=[Tool("memory_write", act=never)], **house) as first,
        anyio.create_task_group() as group,
    ):
        group.start_soon(talk, first, *TALK)
        with anyio.fail_after(5):
            await begun.wait()
        group.cancel_scope.cancel()
    async with engine(tmp_path, model, tools=[Tool("memory_write")], start=50, **house) as second:
        await second.channel.until_sent(1)
        asked = await second.events(ApprovalAsked)
        results: list[ToolResulted] = await second.events(ToolResulted)
    assert asked == []
    assert [each.fate for each in results] == ["interrupted", "refused"]


async def test_without_the_tool_nobody_is_asked(tmp_path: Path) -> None:
    model = remembering(say("NO_REPLY"))
    async with engine(tmp_path, model, catalogue=SMALL, run=RULES) as house:
        await talk(house, *TALK)
    assert not any(map(is_flush, model.requests))
    assert any(map(is_summary, model.requests))


async def test_what_would_need_a_persons_yes_is_refused_in_silence(tmp_path: Path) -> None:
    async def asks(action: Action) -> Decision:
        return Ask(layer="kit", reason="sure?") if action.tool.name == "memory_write" else Allow(layer="kit")

    memory = Tool("memory_write")
    model = remembering(call("memory_write", {"n": 1}).then(call("memory_write", {"n": 2})))
    async with engine(tmp_path, model, catalogue=SMALL, run=RULES, tools=[memory], decide=asks) as house:
        await talk(house, *TALK)
        results: list[ToolResulted] = await house.events(ToolResulted)
        asked = await house.events(ApprovalAsked)
    assert (memory.calls, asked) == ([], [])
    assert {each.fate for each in results} == {"refused"}
    assert len(house.channel.sent) == len(TALK)


async def test_the_tool_is_known_by_the_name_that_a_posture_gives_it(tmp_path: Path) -> None:
    memory, model = Tool("vault_memory_write"), remembering(call("vault_memory_write", {"n": 1}))
    async with engine(tmp_path, model, catalogue=SMALL, run=RULES, tools=[memory]) as house:
        await talk(house, *TALK)
    assert memory.calls


async def test_a_conversation_begun_again_under_the_same_name_is_asked_anew(tmp_path: Path) -> None:
    model = remembering(say("NO_REPLY"))
    async with engine(tmp_path, model, catalogue=SMALL, run=RULES, tools=[Tool("memory_write")]) as house:
        await talk(house, *TALK)
        before = sum(map(is_flush, model.requests))
        await house.store.commit([DeleteSession(key=MAIN)])
        house.sessions.forget(MAIN)
        house.clock.jump(60.0)
        await talk(house, *TALK)
    assert sum(map(is_flush, model.requests)) == 2 * before
