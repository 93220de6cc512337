"""A message comes in, a turn runs, a reply goes out; the journal tells all of it."""

import anyio
import pytest

from ostiary.contracts.content import ToolMessage
from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import BadInput, ContextOverflow, ModelUnavailable
from ostiary.contracts.events import KIND_OF, TurnEnded
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.tool import Effect, ToolResult
from ostiary.core.routing.supervisor import Supervisor
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.models import ScriptedModel, call, fail, say
from tests.journeys.engine.conftest import OpenHouse, Probe

MAIN = SessionKey("main", "main")


async def kinds(engine: Supervisor) -> list[str]:
    return [KIND_OF[type(each.event)] for each in await engine.test_store.read(MAIN)]  # type: ignore[attr-defined]


async def test_a_message_is_answered_on_the_channel_it_came_from(house: OpenHouse, channel: MemoryChannel) -> None:
    async with house(model=ScriptedModel([say("Hello ", "there.")])) as engine:
        accepted = await channel.say("hi")
        sent = await channel.until_sent(1)
        outcome = await engine.outcome(accepted.item or 0)
        assert [(each.text, each.address.chat) for each in sent] == [("Hello there.", "owner")]
        assert (outcome.status, outcome.text) == ("completed", "Hello there.")
        assert await kinds(engine) == ["turn.started", "session.prefix", "model.requested", "model.answered", "turn.ended"]


async def test_the_second_turn_sees_the_first(house: OpenHouse, channel: MemoryChannel) -> None:
    model = ScriptedModel([say("one"), say("two")])
    async with house(model=model):
        await channel.say("first")
        await channel.until_sent(1)
        await channel.say("second")
        await channel.until_sent(2)
    roles = [message.role for message in model.requests[1].messages]
    assert roles == ["user", "assistant", "user"]


async def test_a_message_delivered_twice_runs_once(house: OpenHouse, channel: MemoryChannel) -> None:
    async with house(model=ScriptedModel([say("once")])):
        message = channel.message("hi")
        first = await channel.say("hi", message=message)
        await channel.until_sent(1)
        second = await channel.say("hi", message=message)
        assert (first.status, second.status, second.item) == ("accepted", "duplicate", first.item)
        assert len(channel.sent) == 1


async def test_tool_calls_run_side_by_side_and_are_answered_in_order(house: OpenHouse, channel: MemoryChannel) -> None:
    both_running = [anyio.Event(), anyio.Event()]

    async def meet(arguments: object) -> ToolResult:
        number = arguments["n"]  # type: ignore[index]
        both_running[number].set()
        await both_running[1 - number].wait()
        return ToolResult(text=f"done {number}")

    probe = Probe(act=meet, effect=Effect.READ)
    model = ScriptedModel([call("probe", {"n": 0}).then(call("probe", {"n": 1})), say("ok")])
    with anyio.fail_after(5):
        async with house(model=model, tools=[probe]):
            await channel.say("go")
            await channel.until_sent(1)
    results = model.requests[1].messages[-1]
    assert isinstance(results, ToolMessage)
    assert [outcome.text for outcome in results.outcomes] == ["done 0", "done 1"]


async def test_calls_that_change_something_run_one_after_the_other(house: OpenHouse, channel: MemoryChannel) -> None:
    running = [0]

    async def alone(arguments: object) -> ToolResult:
        running[0] += 1
        together = running[0]
        await anyio.lowlevel.checkpoint()
        running[0] -= 1
        return ToolResult(text=f"{together} at once")

    model = ScriptedModel([call("probe", {"n": 0}).then(call("probe", {"n": 1})), say("ok")])
    async with house(model=model, tools=[Probe(act=alone)]):
        await channel.say("go")
        await channel.until_sent(1)
    results = model.requests[1].messages[-1]
    assert isinstance(results, ToolMessage)
    assert [outcome.text for outcome in results.outcomes] == ["1 at once", "1 at once"]


async def test_bad_calls_get_results_and_the_turn_goes_on(house: OpenHouse, channel: MemoryChannel) -> None:
    bad = call("nothing").then(call("probe", "{broken")).then(call("probe", {"n": "text"})).then(call("probe", {"n": 4}))
    model = ScriptedModel([bad, say("ok")])
    probe = Probe()
    async with house(model=model, tools=[probe]):
        await channel.say("go")
        await channel.until_sent(1)
    results = model.requests[1].messages[-1]
    assert isinstance(results, ToolMessage)
    assert [outcome.is_error for outcome in results.outcomes] == [True, True, True, False]
    assert probe.calls == [{"n": 4}]


async def test_a_hundred_calls_at_once_are_bounded(house: OpenHouse, channel: MemoryChannel) -> None:
    hundred = call("probe", {"n": 0})
    for n in range(1, 100):
        hundred = hundred.then(call("probe", {"n": n}))
    probe = Probe()
    model = ScriptedModel([hundred, say("ok")])
    async with house(model=model, tools=[probe]):
        await channel.say("go")
        await channel.until_sent(1)
    results = model.requests[1].messages[-1]
    assert isinstance(results, ToolMessage)
    assert len(results.outcomes) == 100
    assert len(probe.calls) == 32
    assert sum(outcome.is_error for outcome in results.outcomes) == 68


async def test_repeated_and_missing_call_ids_are_made_unique(house: OpenHouse, channel: MemoryChannel) -> None:
    model = ScriptedModel([call("probe", {"n": 1}, id="same").then(call("probe", {"n": 2}, id="same")), say("ok")])
    async with house(model=model, tools=[Probe()]):
        await channel.say("go")
        await channel.until_sent(1)
    results = model.requests[1].messages[-1]
    assert isinstance(results, ToolMessage)
    assert len({outcome.call_id for outcome in results.outcomes}) == 2


async def test_a_model_that_fails_ends_the_turn_and_the_session_goes_on(house: OpenHouse, channel: MemoryChannel) -> None:
    broken = fail(ModelUnavailable("the server is away", hint="Try again."))
    async with house(model=ScriptedModel([broken, say("back")])) as engine:
        accepted = await channel.say("hi")
        sent = await channel.until_sent(1)
        outcome = await engine.outcome(accepted.item or 0)
        assert outcome.status == "failed"
        assert outcome.error_kind == "unavailable"
        assert "The server is away. Try again." in sent[0].text
        await channel.say("again")
        assert (await channel.until_sent(2))[1].text == "back"


async def test_a_tool_that_breaks_inside_is_an_error_result(house: OpenHouse, channel: MemoryChannel) -> None:
    async def explode(arguments: object) -> ToolResult:
        raise RuntimeError("bug")

    model = ScriptedModel([call("probe"), say("I see")])
    async with house(model=model, tools=[Probe(act=explode)]):
        await channel.say("go")
        assert (await channel.until_sent(1))[0].text == "I see"


async def test_overflow_forgets_old_turns_and_says_so(house: OpenHouse, channel: MemoryChannel) -> None:
    model = ScriptedModel([say("a"), say("b"), say("c"), fail(ContextOverflow("too long")), say("d")])
    async with house(model=model):
        for number, text in enumerate(("1", "2", "3", "4"), start=1):
            await channel.say(text)
            await channel.until_sent(number)
    assert "no longer in view" in channel.sent[-1].text
    assert channel.sent[-1].text.endswith("d")
    assert len(model.requests[4].messages) < len(model.requests[3].messages)


@pytest.mark.parametrize(("text", "complaint"), [("", "empty"), ("  \n ", "empty"), ("x" * 1_000_001, "characters")])
async def test_bad_messages_are_refused_with_a_reason(
    house: OpenHouse, channel: MemoryChannel, text: str, complaint: str
) -> None:
    async with house(model=ScriptedModel([])) as engine:
        with pytest.raises(BadInput, match=complaint):
            await engine.submit(Submission(message=channel.message(text)))


async def test_control_characters_are_taken_out(house: OpenHouse, channel: MemoryChannel) -> None:
    model = ScriptedModel([say("ok")])
    async with house(model=model):
        await channel.say("a\x00b\x1b[31mc\nd")
        await channel.until_sent(1)
    assert model.requests[0].messages[0].parts[0].text == "ab[31mc\nd"  # type: ignore[union-attr]


async def test_an_endless_tool_loop_ends_at_the_step_limit(house: OpenHouse, channel: MemoryChannel) -> None:
    model = ScriptedModel(lambda request: call("probe"))
    async with house(model=model, tools=[Probe()]) as engine:
        accepted = await channel.say("go")
        outcome = await engine.outcome(accepted.item or 0)
        assert outcome.status == "failed"
        assert "steps" in outcome.reason
    assert len(model.requests) == 64


async def test_no_reply_is_silence(house: OpenHouse, channel: MemoryChannel) -> None:
    async with house(model=ScriptedModel([say("NO_REPLY")])) as engine:
        accepted = await channel.say("hi")
        outcome = await engine.outcome(accepted.item or 0)
        assert (outcome.status, outcome.text) == ("completed", "")
    assert channel.sent == []


async def test_a_turn_that_takes_too_long_is_ended(house: OpenHouse, channel: MemoryChannel) -> None:
    from ostiary.core.agent.run import RunRules

    never = anyio.Event()
    model = ScriptedModel([say("start", " end").held(never), say("next")])
    async with house(model=model, run=RunRules(timeout=0.05)) as engine:
        accepted = await channel.say("hi")
        with anyio.fail_after(5):
            outcome = await engine.outcome(accepted.item or 0)
        assert outcome.status == "timeout"
        assert "start end" in outcome.text
        events = await engine.test_store.read(MAIN)  # type: ignore[attr-defined]
        ended = events[-1].event
        assert isinstance(ended, TurnEnded)
        assert ended.partial == "start end"
