"""What a new life of the engine takes up from the journal of the last one."""

import anyio
import anyio.lowlevel

from ostiary.contracts.content import Label, Text, ToolMessage, ToolOutcome, Trust
from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import StoreUnavailable
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.tool import ToolResult
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.clock import ManualClock
from ostiary.kit.models import ScriptedModel, call, say
from tests.journeys.engine.conftest import OpenHouse, Probe, pass_time

MAIN = SessionKey("main", "main")
OWNER = Principal(user=UserId(channel="memory", stable_id="owner"), role="owner")
LABEL = Label(trust=Trust.OWNER, sources=("client",))


async def test_a_turn_cut_in_the_model_call_is_asked_again(house: OpenHouse, channel: MemoryChannel) -> None:
    asked, never = anyio.Event(), anyio.Event()

    def hang(request: object) -> object:
        asked.set()
        return say("lost").after(never)

    async with house(model=ScriptedModel([hang]), drain_seconds=0):
        await channel.say("hi")
        await asked.wait()
    async with house(model=ScriptedModel([say("found")])):
        assert (await channel.until_sent(1))[0].text == "found"


async def test_a_recorded_answer_is_not_paid_for_again(house: OpenHouse, channel: MemoryChannel) -> None:
    started, never = anyio.Event(), anyio.Event()

    async def hang(arguments: object) -> ToolResult:
        started.set()
        await never.wait()
        return ToolResult(text="never")

    async with house(model=ScriptedModel([call("probe", {"n": 7})]), tools=[Probe(act=hang, repeatable=True)], drain_seconds=0):
        await channel.say("go")
        await started.wait()
    again = Probe(repeatable=True)
    model = ScriptedModel([say("done")])
    async with house(model=model, tools=[again]):
        await channel.until_sent(1)
    assert again.calls == [{"n": 7}]
    assert len(model.requests) == 1


async def test_an_unrepeatable_call_that_was_cut_is_reported_and_not_redone(house: OpenHouse, channel: MemoryChannel) -> None:
    started, never = anyio.Event(), anyio.Event()

    async def hang(arguments: object) -> ToolResult:
        started.set()
        await never.wait()
        return ToolResult(text="never")

    async with house(model=ScriptedModel([call("probe", {"n": 7})]), tools=[Probe(act=hang)], drain_seconds=0):
        await channel.say("go")
        await started.wait()
    again = Probe()
    model = ScriptedModel([say("I will check")])
    async with house(model=model, tools=[again]):
        await channel.until_sent(1)
    assert again.calls == []
    results = model.requests[0].messages[-1]
    assert isinstance(results, ToolMessage)
    assert "may have happened" in results.outcomes[0].text


async def test_messages_that_waited_are_answered_after_a_restart(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    asked, never = anyio.Event(), anyio.Event()

    def hang(request: object) -> object:
        asked.set()
        return say("lost").after(never)

    async with house(model=ScriptedModel([hang]), drain_seconds=0):
        await channel.say("one")
        await asked.wait()
        await channel.say("two")
    async with house(model=ScriptedModel([say("1"), say("2")])):
        await pass_time(clock, lambda: len(channel.sent) == 2)
    assert [each.text for each in channel.sent] == ["1", "2"]


async def test_an_outcome_can_be_asked_for_in_a_later_life(house: OpenHouse, channel: MemoryChannel) -> None:
    async with house(model=ScriptedModel([say("kept")])) as engine:
        accepted = await channel.say("hi")
        await channel.until_sent(1)
    async with house(model=ScriptedModel([])) as engine:
        outcome = await engine.outcome(accepted.item or 0)
    assert (outcome.status, outcome.text) == ("completed", "kept")


def ask_client(channel: MemoryChannel, text: str = "weather?") -> Submission:
    tool = ToolSchema(name="weather", description="Client side.", parameters={"type": "object"})
    return Submission(message=channel.message(text), principal=OWNER, session=MAIN, client_tools=(tool,))


async def test_a_client_tool_suspends_the_turn_and_its_answer_resumes_it_even_after_a_restart(
    house: OpenHouse, channel: MemoryChannel
) -> None:
    async with house(model=ScriptedModel([call("weather", {"city": "Riga"}, id="c1")])) as engine:
        accepted = await engine.submit(ask_client(channel))
        outcome = await engine.outcome(accepted.item or 0)
        assert (outcome.status, [each.name for each in outcome.calls]) == ("waiting", ["weather"])
        assert engine.status()["running"] == 0
    model = ScriptedModel([say("Sunny.")])
    async with house(model=model) as engine:
        answer = ToolOutcome(call_id="c1", name="weather", text="sun", is_error=False, label=LABEL)
        item = await engine.answer_calls(MAIN, [answer], by=OWNER)
        assert item is not None
        assert (await engine.outcome(item)).text == "Sunny."
        assert await engine.answer_calls(MAIN, [answer], by=OWNER) == item
    assert isinstance(model.requests[0].messages[-1], ToolMessage)


async def test_answers_of_another_principal_or_to_other_calls_do_not_count(house: OpenHouse, channel: MemoryChannel) -> None:
    guest = Principal(user=UserId(channel="memory", stable_id="guest"))
    async with house(model=ScriptedModel([call("weather", id="c1")])) as engine:
        accepted = await engine.submit(ask_client(channel))
        await engine.outcome(accepted.item or 0)
        right = ToolOutcome(call_id="c1", name="weather", text="x", is_error=False, label=LABEL)
        wrong = ToolOutcome(call_id="c2", name="weather", text="x", is_error=False, label=LABEL)
        assert await engine.answer_calls(MAIN, [right], by=guest) is None
        assert await engine.answer_calls(MAIN, [wrong], by=OWNER) is None
        assert await engine.answer_calls(MAIN, [right, wrong], by=OWNER) is None


async def test_a_new_message_closes_open_client_calls_as_unanswered(house: OpenHouse, channel: MemoryChannel) -> None:
    model = ScriptedModel([call("weather", id="c1"), say("never mind then")])
    async with house(model=model) as engine:
        first = await engine.submit(ask_client(channel))
        await engine.outcome(first.item or 0)
        second = await engine.submit(Submission(message=channel.message("forget it"), principal=OWNER, session=MAIN))
        assert (await engine.outcome(second.item or 0)).text == "never mind then"
    results = next(each for each in model.requests[1].messages if isinstance(each, ToolMessage))
    assert results.outcomes[0].is_error


async def test_client_calls_nobody_answers_expire(house: OpenHouse, channel: MemoryChannel, clock: ManualClock) -> None:
    async with house(model=ScriptedModel([call("weather", id="c1")])) as engine:
        accepted = await engine.submit(ask_client(channel))
        await engine.outcome(accepted.item or 0)
        await pass_time(clock, lambda: not engine.status()["waiting"])
        assert "in time" in (await engine.outcome(accepted.item or 0)).reason


async def test_a_full_disk_delays_the_turn_and_loses_nothing(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    async with house(model=ScriptedModel([say("late but here")])) as engine:
        store = engine.test_store  # type: ignore[attr-defined]
        real, failures = store.commit, [StoreUnavailable("the disk is full")] * 3

        async def flaky(writes: object, **rest: object) -> object:
            if failures and any(type(write).__name__ == "MarkTurn" for write in writes):  # type: ignore[attr-defined]
                raise failures.pop()
            return await real(writes, **rest)

        engine._sessions.store = type("Flaky", (), {"commit": staticmethod(flaky), "read": store.read, "blob": store.blob})()
        await channel.say("hi")
        await pass_time(clock, lambda: bool(channel.sent))
    assert channel.sent[0].text == "late but here"
    assert failures == []


async def test_the_reply_is_delivered_once_when_the_first_sends_fail(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    from ostiary.contracts.errors import ChannelUnavailable

    channel.errors = [ChannelUnavailable("away"), ChannelUnavailable("away", retry_after=30)]
    async with house(model=ScriptedModel([say("finally")])):
        await channel.say("hi")
        await pass_time(clock, lambda: bool(channel.sent))
    assert len(channel.attempts) == 3
    assert len(channel.sent) == 1


async def test_the_history_of_a_long_answer_is_kept_word_for_word(house: OpenHouse, channel: MemoryChannel) -> None:
    long = "word " * 20_000
    async with house(model=ScriptedModel([say(long)])):
        await channel.say("tell me everything")
        await channel.until_sent(1)
    model = ScriptedModel([say("ok")])
    async with house(model=model):
        await channel.say("and?")
        with anyio.fail_after(5):
            while not model.requests:
                await anyio.lowlevel.checkpoint()
    kept = model.requests[0].messages[1].parts[0]  # type: ignore[union-attr]
    assert isinstance(kept, Text)
    assert kept.text == long
