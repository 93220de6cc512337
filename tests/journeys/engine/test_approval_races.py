"""Questions under attack: answers, messages, rules, stops and failing commits that come at the worst moment."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ostiary.contracts.errors import BadInput, StoreUnavailable
from ostiary.contracts.events import ApprovalAnswered, ApprovalAsked, ToolIntended, ToolResulted, TurnEnded
from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.contracts.store import Write
from ostiary.contracts.tool import ToolResult
from ostiary.core.agent.tool_hooks import BEFORE, ToolHooks
from ostiary.core.approvals import desk as approvals
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.clock import ManualClock
from ostiary.kit.models import ScriptedModel, call, say
from tests.journeys.engine.conftest import OpenHouse, Probe, pass_time, until
from tests.journeys.engine.test_approvals import MAIN, OWNER, ask_first, desk_of, events, waiting
from tests.unit.core.engines import Engine, Tool, engine

TAINT = Ask(layer="taint", reason="a web page may be behind this")


async def test_what_is_said_while_a_sibling_runs_withdraws_the_question_as_soon_as_it_would_wait(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    finish = anyio.Event()

    async def act(arguments: Mapping[str, object]) -> ToolResult:
        await finish.wait()
        return ToolResult(text="done")

    asking, slow = Probe("asking"), Probe("slow", act=act)
    model = ScriptedModel([call("asking").then(call("slow")), say("left it"), say("hello")])

    async def decide(action: Action) -> Decision:
        return Ask(layer="confirm", reason="careful") if action.tool.name == "asking" else Allow(layer="kit")

    async with house(model=model, tools=[asking, slow], decide=decide) as running:
        await channel.say("do both")
        await until(lambda: len(slow.calls) == 1)
        await clock.advance(2.0)
        await channel.say("never mind")
        finish.set()
        await pass_time(clock, lambda: len(channel.sent) == 3)
        (answered,) = await events(running, ApprovalAnswered)
        assert ([each.text for each in channel.sent[1:]], answered.answer, asking.calls) == (
            ["left it", "hello"],
            "withdrawn",
            [],
        )


async def test_nobody_else_withdraws_a_question_not_even_when_the_conversation_left_memory(
    house: OpenHouse, channel: MemoryChannel
) -> None:
    probe, model = Probe(), ScriptedModel([call("probe"), say("done"), say("hello guest")])
    async with house(model=model, tools=[probe], decide=ask_first) as running:
        await channel.say("do it", chat="room")
        await until(lambda: len(desk_of(running).pending) == 1 and running.status()["waiting"] == 1)
        (pending,) = desk_of(running).pending
        running._sessions.forget(pending.session)
        await channel.say("forget about it", sender="mallory", chat="room")
        assert desk_of(running).pending == (pending,)
        await desk_of(running).answer(pending.id, True, by=OWNER)
        await channel.until_sent(3)
        assert len(probe.calls) == 1


@pytest.mark.parametrize("later", [Deny(layer="tools", reason="not any more"), Allow(layer="kit")])
async def test_a_question_that_the_rules_have_decided_meanwhile_is_nobody_s_any_more(
    house: OpenHouse, channel: MemoryChannel, later: Decision
) -> None:
    probe = Probe()
    model = ScriptedModel([call("probe", {"n": 1}).then(call("probe", {"n": 2})), say("done")])
    now: dict[object, Decision] = {}

    async def decide(action: Action) -> Decision:
        return now.get(action.arguments["n"], Ask(layer="confirm", reason="careful"))

    async with house(model=model, tools=[probe], decide=decide) as running:
        await channel.say("do both")
        _, two = await waiting(running, 2)
        now[1] = later
        await desk_of(running).answer(two.id, True, by=OWNER)
        await channel.until_sent(3)
        assert desk_of(running).pending == ()
        answers = {each.call_id: each.answer for each in await events(running, ApprovalAnswered)}
        assert sorted(answers.values()) == ["allowed", "withdrawn"]


async def test_a_turn_that_cannot_go_on_leaves_no_question_behind(house: OpenHouse, channel: MemoryChannel) -> None:
    probe = Probe()
    async with house(
        model=ScriptedModel([call("probe", {"n": 1}).then(call("probe", {"n": 2}))]), tools=[probe], decide=ask_first
    ) as running:
        await channel.say("do both")
        one, _ = await waiting(running, 2)

        def choose(*args: object, **more: object) -> object:
            raise BadInput("there is no such model")

        running._lanes._runner._asking._catalogue.choose = choose  # type: ignore[method-assign, assignment]
        await desk_of(running).answer(one.id, True, by=OWNER)
        await until(lambda: desk_of(running).pending == ())
        (ended,) = await events(running, TurnEnded)
        assert (ended.status, probe.calls) == ("failed", [])


async def test_a_yes_to_one_layer_is_none_to_another_that_asks_later(house: OpenHouse, channel: MemoryChannel) -> None:
    probe, model = Probe(), ScriptedModel([call("probe"), say("done")])
    said: list[Decision] = [Ask(layer="confirm", reason="careful")]

    async def decide(action: Action) -> Decision:
        return said[-1]

    async with house(model=model, tools=[probe], decide=decide) as running:
        await channel.say("do it")
        (first,) = await waiting(running)
        said.append(Ask(layer="confirm", reason="careful", others=(TAINT,)))
        await desk_of(running).answer(first.id, True, by=OWNER)
        await channel.until_sent(2)
        (second,) = await waiting(running)
        assert (probe.calls, second.asked.layers) == ([], ("confirm", "taint"))
        await desk_of(running).answer(second.id, True, by=OWNER)
        await channel.until_sent(3)
        assert len(probe.calls) == 1


async def test_a_wider_yes_answers_like_questions_that_wait_already(house: OpenHouse, channel: MemoryChannel) -> None:
    probe = Probe()
    model = ScriptedModel([call("probe", {"n": 1}).then(call("probe", {"n": 1})), say("done")])
    async with house(model=model, tools=[probe], decide=ask_first) as running:
        await channel.say("do both")
        one, _ = await waiting(running, 2)
        await desk_of(running).answer(one.id, True, by=OWNER, pattern=one.asked.offers[0], seconds=60)
        await channel.until_sent(3)
        assert (len(probe.calls), desk_of(running).pending) == (2, ())


async def test_of_two_answers_at_once_one_counts(house: OpenHouse, channel: MemoryChannel) -> None:
    probe, model = Probe(), ScriptedModel([call("probe"), say("done")])
    heard: list[str] = []

    async def answer(allow: bool) -> None:
        try:
            heard.append((await desk_of(running).answer(pending.id, allow, by=OWNER)).answer)
        except BadInput:
            heard.append("too late")

    async with house(model=model, tools=[probe], decide=ask_first) as running:
        await channel.say("do it")
        (pending,) = await waiting(running)
        async with anyio.create_task_group() as group:
            group.start_soon(answer, False)
            group.start_soon(answer, True)
        await channel.until_sent(2)
        assert (heard, probe.calls) == (["denied", "too late"], [])


async def test_after_a_restart_people_are_shown_what_a_hook_made_of_the_call(house: OpenHouse, channel: MemoryChannel) -> None:
    async def doubled(seen: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"arguments": {"n": 70}}

    probe, hooks = Probe(), ToolHooks(lambda event: [doubled] if event == BEFORE else [])
    async with house(model=ScriptedModel([call("probe", {"n": 7})]), tools=[probe], decide=ask_first, hooks=hooks) as running:
        await channel.say("do it")
        await waiting(running)
    async with house(model=ScriptedModel([say("done")]), tools=[probe], decide=ask_first, hooks=hooks) as running:
        (again,) = await waiting(running)
        assert again.arguments == {"n": 70}
        await desk_of(running).answer(again.id, True, by=OWNER)
        await channel.until_sent(2)
        assert probe.calls == [{"n": 70}]


async def test_a_hook_cannot_change_a_call_behind_the_back_of_who_allowed_it(house: OpenHouse, channel: MemoryChannel) -> None:
    held: list[dict[str, object]] = []

    async def keeps(seen: Mapping[str, Any]) -> Mapping[str, Any]:
        held.append({"n": 1})
        return {"arguments": held[-1]}

    async def decide(action: Action) -> Decision:
        for each in held:
            each["n"] = 666
        return Allow(layer="kit")

    probe, model = Probe(), ScriptedModel([call("probe"), say("done")])
    hooks = ToolHooks(lambda event: [keeps] if event == BEFORE else [])
    async with house(model=model, tools=[probe], decide=decide, hooks=hooks):
        await channel.say("do it")
        await channel.until_sent(1)
    assert probe.calls == [{"n": 1}]


@pytest.mark.parametrize("given", [{"n": float("nan")}, {"n": object()}, {"n": "\ud800"}, ["n"]])
async def test_what_a_hook_gives_must_be_plain_data(house: OpenHouse, channel: MemoryChannel, given: object) -> None:
    async def odd(seen: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"arguments": given}

    probe, model = Probe(), ScriptedModel([call("probe"), say("done")])
    hooks = ToolHooks(lambda event: [odd] if event == BEFORE else [])
    async with house(model=model, tools=[probe], hooks=hooks) as running:
        await channel.say("do it")
        await channel.until_sent(1)
        (result,) = await events(running, ToolResulted)
    assert (probe.calls, result.text) == ([], "Refused by hook: a hook gave arguments that are no plain data.")


async def test_questions_come_back_in_the_order_they_were_asked(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    probe, people = Probe(), ("ann", "bob", "cyd", "dan")
    async with house(
        model=ScriptedModel([call("probe", {"n": n}) for n in range(4)]), tools=[probe], decide=ask_first
    ) as running:
        for number, person in enumerate(people, 1):
            await channel.say("do it", sender=person, chat=f"room {person}")
            await until(lambda number=number: running.status()["waiting"] == number)  # type: ignore[misc]
            await clock.advance(1.0)
        before = [each.id for each in desk_of(running).pending]
    async with house(model=ScriptedModel([]), tools=[probe], decide=ask_first) as running:
        assert [each.id for each in desk_of(running).pending] == before


async def test_more_questions_than_anybody_reads_are_refused(
    house: OpenHouse, channel: MemoryChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "MOST_PENDING", 1)
    probe, model = Probe(), ScriptedModel([call("probe"), call("probe"), say("no")])
    async with house(model=model, tools=[probe], decide=ask_first) as running:
        await channel.say("do it")
        await waiting(running)
        await channel.say("and here", sender="owner", chat="room")
        sent = await channel.until_sent(2)
        assert (sent[1].text, len(desk_of(running).pending), probe.calls) == ("no", 1, [])


async def test_a_grant_stays_if_its_end_cannot_be_written(tmp_path: Path) -> None:
    probe, model = Tool(), ScriptedModel([call("probe"), say("done")])
    async with engine(tmp_path, model, tools=[probe], decide=ask_first) as house:
        desk = await asked(house)
        (pending,) = desk.pending
        await desk.answer(pending.id, True, by=OWNER, pattern=pending.asked.offers[0], seconds=60)
        (grant,) = desk.grants
        covered: list[object] = []

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            covered.extend(desk.grants)
            raise StoreUnavailable("the disk is full")

        await house.channel.until_sent(2)
        house.store.before = refuse
        with pytest.raises(StoreUnavailable):
            await desk.revoke(grant.id, by=OWNER)
        house.store.before = None
        assert (covered, desk.grants) == ([], (grant,))
        await desk.revoke(grant.id, by=OWNER)
        assert desk.grants == ()


async def test_every_grant_is_taken_back_at_once_and_none_returns(tmp_path: Path) -> None:
    probe, model = Tool(), ScriptedModel([call("probe"), say("done")])
    async with engine(tmp_path, model, tools=[probe], decide=ask_first) as house:
        desk = await asked(house)
        (pending,) = desk.pending
        await desk.answer(pending.id, True, by=OWNER, pattern=pending.asked.offers[0], seconds=60)
        await house.channel.until_sent(2)
        assert (await desk.revoke_all("/kill"), await desk.revoke_all("/kill"), desk.grants) == (1, 0, ())
        assert await house.store.values(approvals.GRANTS) == {}


async def asked(house: Engine) -> approvals.Approvals:
    desk = house.supervisor.approvals
    assert desk is not None
    await house.channel.say("do it")
    await house.settle(lambda: len(desk.pending) == 1 and house.supervisor.status()["waiting"] == 1)
    return desk


@pytest.mark.parametrize("failing", range(1, 9))
async def test_whichever_commit_fails_the_approved_call_is_made_once_and_never_before_the_yes(
    tmp_path: Path, failing: int
) -> None:
    """One commit after the message is accepted fails once; the answer is given until it is taken."""
    allowed: list[str] = []
    early: list[str] = []

    async def act(arguments: Mapping[str, object]) -> ToolResult:
        early.extend(["called before it was allowed"] * (not allowed))
        return ToolResult(text="paid")

    probe = Tool(act=act)

    def script(request: Any) -> Any:
        return say("done") if any(message.role == "tool" for message in request.messages) else call("probe", {"n": 1})

    async with engine(tmp_path, ScriptedModel([script] * 6), tools=[probe], decide=ask_first) as house:
        desk = house.supervisor.approvals
        assert desk is not None
        seen = [0]

        async def once(number: int, writes: Sequence[Write]) -> None:
            seen[0] += 1
            if seen[0] == failing:
                raise StoreUnavailable("for a moment")

        async def agree() -> None:
            for pending in desk.pending:
                allowed.append(pending.id)
                try:
                    await desk.answer(pending.id, True, by=OWNER)
                except (StoreUnavailable, BadInput):
                    continue

        await house.channel.say("do it")
        house.store.before = once
        with anyio.fail_after(10):
            while not any(each.text == "done" for each in house.channel.sent):
                await agree()
                await house.clock.advance(1.0)
                await anyio.sleep(0.0005)
        results = await house.events(ToolResulted)
        intents, questions = await house.events(ToolIntended), await house.events(ApprovalAsked)
        assert (early, len(probe.calls), desk.pending, len(questions)) == ([], 1, (), 1)
        assert (len(intents), [each.fate in ("done", "interrupted") for each in results]) == (1, [True])
        assert await house.store._inner.verify(MAIN) == ""


async def test_time_runs_out_for_a_question_while_its_turn_still_works(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    finish = anyio.Event()

    async def act(arguments: Mapping[str, object]) -> ToolResult:
        await finish.wait()
        return ToolResult(text="done")

    asking, slow = Probe("asking"), Probe("slow", act=act)
    model = ScriptedModel([call("asking").then(call("slow")), say("too late")])

    async def decide(action: Action) -> Decision:
        return Ask(layer="confirm", reason="careful") if action.tool.name == "asking" else Allow(layer="kit")

    async with house(model=model, tools=[asking, slow], decide=decide) as running:
        await channel.say("do both")
        await until(lambda: len(slow.calls) == 1)
        (pending,) = desk_of(running).pending
        await clock.advance(301.0)
        with pytest.raises(BadInput, match="not answered in time"):
            await desk_of(running).answer(pending.id, True, by=OWNER)
        finish.set()
        await pass_time(clock, lambda: len(channel.sent) == 2)
        (answered,) = await events(running, ApprovalAnswered)
        assert (answered.answer, asking.calls) == ("expired", [])


@pytest.mark.parametrize("rival", ["a new message", "the deadline"])
async def test_an_answer_at_the_last_moment_counts_against_what_comes_right_behind_it(tmp_path: Path, rival: str) -> None:
    """The yes is being written when the rival comes; it is durable first, so the call is made and the turn is not torn."""
    writing, go_on = anyio.Event(), anyio.Event()

    async def hold(number: int, writes: Sequence[Write]) -> None:
        if any(isinstance(getattr(write, "event", None), ApprovalAnswered) for write in writes):
            writing.set()
            await go_on.wait()

    probe, model = Tool(), ScriptedModel([call("probe"), say("paid"), say("hello")])
    async with engine(tmp_path, model, tools=[probe], decide=ask_first) as house, anyio.create_task_group() as group:
        desk = await asked(house)
        (pending,) = desk.pending
        house.store.before = hold
        group.start_soon(lambda: desk.answer(pending.id, True, by=OWNER))
        await writing.wait()
        rivals = {"a new message": lambda: house.channel.say("never mind"), "the deadline": lambda: house.clock.advance(301.0)}
        await rivals[rival]()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        go_on.set()
        await house.until(lambda: any(each.text == "paid" for each in house.channel.sent))
        (ended, *_) = await house.events(TurnEnded)
        assert (len(probe.calls), ended.status) == (1, "completed")
