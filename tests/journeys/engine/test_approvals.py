"""A call that a person must allow waits for them, durably, and means exactly what they saw."""

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from ostiary.contracts.errors import BadInput, NotAllowed
from ostiary.contracts.events import ApprovalAnswered, ApprovalAsked, ToolIntended, ToolResulted
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.contracts.tool import ToolContext
from ostiary.core.approvals.desk import Approvals, PendingApproval
from ostiary.core.routing.supervisor import Supervisor
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.clock import ManualClock
from ostiary.kit.models import ScriptedModel, call, say
from tests.journeys.engine.conftest import OpenHouse, Probe, pass_time, until
from tests.unit.core.engines import Tool, engine

MAIN = SessionKey("main", "main")
OWNER = Principal(user=UserId(channel="memory", stable_id="owner"), role="owner")
STRANGER = Principal(user=UserId(channel="memory", stable_id="mallory"), role="external")


async def ask_first(action: Action) -> Decision:
    return Ask(layer="confirm", reason="it changes something")


async def waiting(engine: Supervisor, count: int = 1) -> tuple[PendingApproval, ...]:
    desk = desk_of(engine)
    await until(lambda: len(desk.pending) >= count and engine.status()["waiting"] == 1)
    return desk.pending


def desk_of(engine: Supervisor) -> Approvals:
    assert engine.approvals is not None
    return engine.approvals


async def events(engine: Supervisor, kind: type) -> list[Any]:
    recorded = await engine.test_store.read(MAIN)  # type: ignore[attr-defined]
    return [each.event for each in recorded if isinstance(each.event, kind)]


class Bound(Probe):
    """A probe that is bound to what `state` says."""

    def __init__(self) -> None:
        super().__init__()
        self.state = {"file:a.txt": "one"}

    async def bind(self, arguments: Mapping[str, object], context: ToolContext) -> Mapping[str, str]:
        return dict(self.state)


async def test_a_call_that_needs_a_yes_waits_and_then_runs_with_the_real_result(house: OpenHouse, channel: MemoryChannel) -> None:
    probe, model = Probe(), ScriptedModel([call("probe", {"n": 1}), say("done")])
    async with house(model=model, tools=[probe], decide=ask_first) as engine:
        await channel.say("do it")
        (pending,) = await waiting(engine)
        assert probe.calls == []
        assert "n: 1" in channel.sent[0].text
        assert channel.sent[0].choices == (f"/confirm {pending.id}", f"/deny {pending.id}")
        await desk_of(engine).answer(pending.id, True, by=OWNER)
        sent = await channel.until_sent(2)
        assert (probe.calls, sent[1].text) == ([{"n": 1}], "done")
        (intent,) = await events(engine, ToolIntended)
        assert (intent.layer, intent.reason) == ("approval", f"memory:owner allowed {pending.id}")


async def test_a_no_is_told_to_the_model_and_nothing_runs(house: OpenHouse, channel: MemoryChannel) -> None:
    probe, model = Probe(), ScriptedModel([call("probe", {"n": 1}), say("as you wish")])
    async with house(model=model, tools=[probe], decide=ask_first) as engine:
        await channel.say("do it")
        (pending,) = await waiting(engine)
        await desk_of(engine).answer(pending.id, False, by=OWNER, note="Not today.")
        await channel.until_sent(2)
        (result,) = await events(engine, ToolResulted)
        assert probe.calls == []
        assert (result.fate, result.text.startswith("Refused: memory:owner said no. Not today.")) == ("refused", True)


async def test_nobody_else_s_yes_counts(house: OpenHouse, channel: MemoryChannel) -> None:
    probe, model = Probe(), ScriptedModel([call("probe"), say("done")])
    async with house(model=model, tools=[probe], decide=ask_first) as engine:
        await channel.say("do it")
        (pending,) = await waiting(engine)
        with pytest.raises(NotAllowed):
            await desk_of(engine).answer(pending.id, True, by=STRANGER)
        assert (probe.calls, len(desk_of(engine).pending)) == ([], 1)


async def test_an_answer_counts_once(house: OpenHouse, channel: MemoryChannel) -> None:
    probe, model = Probe(), ScriptedModel([call("probe"), say("done")])
    async with house(model=model, tools=[probe], decide=ask_first) as engine:
        await channel.say("do it")
        (pending,) = await waiting(engine)
        await desk_of(engine).answer(pending.id, False, by=OWNER)
        with pytest.raises(BadInput, match="answered already: denied by memory:owner"):
            await desk_of(engine).answer(pending.id, True, by=OWNER)
        await channel.until_sent(2)
        assert probe.calls == []


async def test_silence_is_a_refusal_and_the_turn_goes_on(house: OpenHouse, channel: MemoryChannel, clock: ManualClock) -> None:
    probe, model = Probe(), ScriptedModel([call("probe"), say("I could not")])
    async with house(model=model, tools=[probe], decide=ask_first) as engine:
        await channel.say("do it")
        (pending,) = await waiting(engine)
        await pass_time(clock, lambda: len(channel.sent) == 2)
        (answered,) = await events(engine, ApprovalAnswered)
        assert (probe.calls, answered.answer, answered.by) == ([], "expired", "")
        with pytest.raises(BadInput, match="expired"):
            await desk_of(engine).answer(pending.id, True, by=OWNER)


@pytest.mark.parametrize(("seconds", "counts"), [(299.999, True), (300.0, False)])
async def test_a_yes_counts_up_to_the_end_of_five_minutes_and_not_at_it(tmp_path: Path, seconds: float, counts: bool) -> None:
    tool = Tool()
    async with engine(tmp_path, ScriptedModel([call("probe"), say("done")]), tools=[tool], decide=ask_first) as house:
        await house.channel.say("do it")
        desk = desk_of(house.supervisor)
        await house.until(lambda: bool(desk.pending))
        (pending,) = desk.pending
        # The hand moves and nobody is woken: the answer is there before anybody noticed that its time is over.
        house.clock.jump(seconds - (house.clock.now() - pending.asked_at))
        refusal = nullcontext() if counts else pytest.raises(BadInput, match="not answered in time")
        with refusal:
            await desk.answer(pending.id, True, by=OWNER)
        await house.until(lambda: any(each.text == "done" for each in house.channel.sent))
        assert len(tool.calls) == int(counts)


async def test_a_question_survives_a_restart_and_is_answered_there(house: OpenHouse, channel: MemoryChannel) -> None:
    probe = Probe()
    async with house(model=ScriptedModel([call("probe", {"n": 7})]), tools=[probe], decide=ask_first) as engine:
        await channel.say("do it")
        (before,) = await waiting(engine)
    async with house(model=ScriptedModel([say("done")]), tools=[probe], decide=ask_first) as engine:
        (after,) = await waiting(engine)
        assert (after.id, after.arguments, after.asked) == (before.id, {"n": 7}, before.asked)
        await desk_of(engine).answer(after.id, True, by=OWNER)
        await channel.until_sent(2)
        assert probe.calls == [{"n": 7}]


async def test_a_yes_to_something_that_changed_meanwhile_is_asked_again(house: OpenHouse, channel: MemoryChannel) -> None:
    probe, model = Bound(), ScriptedModel([call("probe"), say("done")])
    async with house(model=model, tools=[probe], decide=ask_first) as engine:
        await channel.say("do it")
        (first,) = await waiting(engine)
        probe.state["file:a.txt"] = "two"
        await desk_of(engine).answer(first.id, True, by=OWNER)
        await channel.until_sent(2)
        (second,) = await waiting(engine)
        assert (probe.calls, second.id == first.id, second.asked.digest == first.asked.digest) == ([], False, False)
        await desk_of(engine).answer(second.id, True, by=OWNER)
        await channel.until_sent(3)
        assert len(probe.calls) == 1


async def test_rules_that_turned_to_no_beat_an_earlier_yes(house: OpenHouse, channel: MemoryChannel) -> None:
    probe, model = Probe(), ScriptedModel([call("probe"), say("done")])
    said: list[Decision] = [Ask(layer="confirm", reason="careful"), Deny(layer="tools", reason="not any more")]

    async def decide(action: Action) -> Decision:
        return said.pop(0)

    async with house(model=model, tools=[probe], decide=decide) as engine:
        await channel.say("do it")
        (pending,) = await waiting(engine)
        await desk_of(engine).answer(pending.id, True, by=OWNER)
        await channel.until_sent(2)
        (result,) = await events(engine, ToolResulted)
        assert (probe.calls, result.text) == ([], "Refused by tools: not any more.")


async def test_siblings_that_are_allowed_do_not_wait(house: OpenHouse, channel: MemoryChannel) -> None:
    asking, free = Probe("asking"), Probe("free")
    model = ScriptedModel([call("asking").then(call("free")), say("done")])

    async def decide(action: Action) -> Decision:
        return Ask(layer="confirm", reason="careful") if action.tool.name == "asking" else Allow(layer="kit")

    async with house(model=model, tools=[asking, free], decide=decide) as engine:
        await channel.say("do both")
        (pending,) = await waiting(engine)
        assert (len(free.calls), len(asking.calls)) == (1, 0)
        await desk_of(engine).answer(pending.id, True, by=OWNER)
        await channel.until_sent(2)
        assert (len(free.calls), len(asking.calls)) == (1, 1)


async def test_several_questions_are_answered_one_by_one(house: OpenHouse, channel: MemoryChannel) -> None:
    probe = Probe()
    model = ScriptedModel([call("probe", {"n": 1}).then(call("probe", {"n": 2})), say("done")])
    async with house(model=model, tools=[probe], decide=ask_first) as engine:
        await channel.say("do both")
        one, two = await waiting(engine, 2)
        await desk_of(engine).answer(two.id, True, by=OWNER)
        await until(lambda: probe.calls == [{"n": 2}])
        await desk_of(engine).answer(one.id, False, by=OWNER)
        await channel.until_sent(3)
        assert probe.calls == [{"n": 2}]


async def test_a_grant_answers_like_calls_until_it_ends(house: OpenHouse, channel: MemoryChannel, clock: ManualClock) -> None:
    probe = Probe()
    again = call("probe", {"n": 1})
    model = ScriptedModel([again, say("one"), again, say("two"), call("probe", {"n": 2}), say("three")])
    async with house(model=model, tools=[probe], decide=ask_first) as engine:
        await channel.say("do it")
        (pending,) = await waiting(engine)
        await desk_of(engine).answer(pending.id, True, by=OWNER, pattern=pending.asked.offers[0], seconds=3600)
        await channel.until_sent(2)
        await channel.say("again")
        await channel.until_sent(3)
        assert len(probe.calls) == 2
        await channel.say("another")
        (other,) = await waiting(engine)
        assert (len(probe.calls), other.arguments) == (2, {"n": 2})


async def test_what_taint_asks_no_grant_answers(house: OpenHouse, channel: MemoryChannel) -> None:
    probe, again = Probe(), call("probe")
    model = ScriptedModel([again, say("one")])

    async def decide(action: Action) -> Decision:
        return Ask(layer="confirm", reason="careful", others=(Ask(layer="taint", reason="a web page may be behind this"),))

    async with house(model=model, tools=[probe], decide=decide) as engine:
        await channel.say("do it")
        (pending,) = await waiting(engine)
        assert pending.asked.offers == ()
        assert pending.asked.reason == "careful. a web page may be behind this"
        with pytest.raises(BadInput, match="only be allowed once"):
            await desk_of(engine).answer(pending.id, True, by=OWNER, pattern="exactly this", seconds=60)


async def test_a_new_message_of_the_same_person_withdraws_the_question(house: OpenHouse, channel: MemoryChannel) -> None:
    probe = Probe()
    model = ScriptedModel([call("probe"), say("left it"), say("hello again")])
    async with house(model=model, tools=[probe], decide=ask_first) as engine:
        await channel.say("do it")
        await waiting(engine)
        await channel.say("never mind, hello")
        sent = await channel.until_sent(3)
        (answered,) = await events(engine, ApprovalAnswered)
        assert ([each.text for each in sent[1:]], answered.answer, probe.calls) == (["left it", "hello again"], "withdrawn", [])


async def test_stopping_takes_the_question_back(house: OpenHouse, channel: MemoryChannel) -> None:
    probe, model = Probe(), ScriptedModel([call("probe")])
    async with house(model=model, tools=[probe], decide=ask_first) as engine:
        await channel.say("do it")
        (pending,) = await waiting(engine)
        stopped = await engine.stop(MAIN, by=OWNER)
        assert (stopped.turns, desk_of(engine).pending, probe.calls) == (1, (), [])
        (asked,) = await events(engine, ApprovalAsked)
        (answered,) = await events(engine, ApprovalAnswered)
        assert (asked.approval, answered.answer) == (pending.id, "withdrawn")
