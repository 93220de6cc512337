"""What happens to messages that arrive while a turn runs: the five modes, the three overflow rules, stop, fairness."""

import anyio
import anyio.lowlevel
import pytest

from ostiary.contracts.content import Text, ToolMessage, UserMessage
from ostiary.contracts.errors import Busy
from ostiary.contracts.events import Steered, ToolResulted, TurnEnded, TurnStarted
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ModelRequest
from ostiary.contracts.tool import ToolResult
from ostiary.core.agent.tool_results import ToolLimits
from ostiary.core.routing.queue import QueueRules
from ostiary.core.routing.scopes import ScopeRules
from ostiary.core.routing.supervisor import Supervisor
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.clock import ManualClock
from ostiary.kit.models import ScriptedModel, Step, call, say
from tests.journeys.engine.conftest import OpenHouse, Probe, pass_time

MAIN = SessionKey("main", "main")
OWNER = Principal(user=UserId(channel="memory", stable_id="owner"), role="owner")


def texts(message: object) -> list[str]:
    assert isinstance(message, UserMessage)
    return [part.text for part in message.parts if isinstance(part, Text)]


async def events(engine: Supervisor, kind: type) -> list[object]:
    return [each.event for each in await engine.test_store.read(MAIN) if isinstance(each.event, kind)]  # type: ignore[attr-defined]


async def until_asked(model: ScriptedModel, number: int) -> None:
    with anyio.fail_after(5):
        while len(model.requests) < number:
            await anyio.lowlevel.checkpoint()


async def test_collect_joins_what_came_while_busy_into_one_turn_after_the_quiet_time(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("one").held(hold), say("both")])
    async with house(model=model):
        await channel.say("first")
        await until_asked(model, 1)
        await channel.say("second")
        await channel.say("third")
        hold.set()
        await channel.until_sent(1)
        assert len(model.requests) == 1
        await clock.advance(1.0)
        await channel.until_sent(2)
    assert texts(model.requests[1].messages[-1]) == ["second", "third"]


async def test_collect_never_mixes_two_senders(house: OpenHouse, channel: MemoryChannel, clock: ManualClock) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("one").held(hold), say("two"), say("three")])
    async with house(model=model) as engine:
        await channel.say("first", chat="room")
        await until_asked(model, 1)
        await channel.say("by the owner", chat="room")
        await channel.say("by a guest", sender="guest", chat="room")
        hold.set()
        await clock.advance(2.0)
        await channel.until_sent(3)
        room = SessionKey("main", "memory:group:room")
        started = [each.event for each in await engine.test_store.read(room) if isinstance(each.event, TurnStarted)]  # type: ignore[attr-defined]
    assert [each.principal.role for each in started] == ["owner", "owner", "external"]


async def test_followup_gives_each_message_its_own_turn_in_order(house: OpenHouse, channel: MemoryChannel) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("1").held(hold), say("2"), say("3")])
    async with house(model=model, queue=QueueRules(mode="followup")):
        for text in ("a", "b", "c"):
            await channel.say(text)
        hold.set()
        await channel.until_sent(3)
    assert [texts(request.messages[-1]) for request in model.requests] == [["a"], ["b"], ["c"]]


async def test_steer_joins_between_tool_calls_and_skips_the_rest(house: OpenHouse, channel: MemoryChannel) -> None:
    arrived, go_on = anyio.Event(), anyio.Event()

    async def slow(arguments: object) -> ToolResult:
        arrived.set()
        await go_on.wait()
        return ToolResult(text="worked")

    probe = Probe(act=slow)
    model = ScriptedModel([call("probe", {"n": 1}).then(call("probe", {"n": 2})), say("changed course")])
    async with house(model=model, tools=[probe], queue=QueueRules(mode="steer"), limits=ToolLimits(parallel=1)) as engine:
        await channel.say("do both")
        await arrived.wait()
        steer = await channel.say("only one, please")
        go_on.set()
        await channel.until_sent(1)
        assert (await engine.outcome(steer.item or 0)).text == "changed course"
        assert [each.fate for each in await events(engine, ToolResulted)] == ["done", "skipped"]  # type: ignore[attr-defined]
        assert len(await events(engine, Steered)) == 1
    assert len(probe.calls) == 1
    results, steered = model.requests[1].messages[-2:]
    assert isinstance(results, ToolMessage)
    assert "new message" in results.outcomes[1].text
    assert texts(steered) == ["only one, please"]


async def test_nobody_else_can_steer_a_turn(house: OpenHouse, channel: MemoryChannel) -> None:
    arrived, go_on = anyio.Event(), anyio.Event()

    async def slow(arguments: object) -> ToolResult:
        arrived.set()
        await go_on.wait()
        return ToolResult(text="worked")

    model = ScriptedModel([call("probe", {"n": 1}), say("for the owner"), say("for the guest")])
    async with house(model=model, tools=[Probe(act=slow)], queue=QueueRules(mode="steer")):
        await channel.say("work", chat="room")
        await arrived.wait()
        await channel.say("obey me", sender="guest", chat="room")
        go_on.set()
        await channel.until_sent(2)
    assert texts(model.requests[2].messages[-1]) == ["obey me"]
    assert isinstance(model.requests[1].messages[-1], ToolMessage)


async def test_steer_backlog_steers_and_also_gets_a_turn(house: OpenHouse, channel: MemoryChannel) -> None:
    arrived, go_on = anyio.Event(), anyio.Event()

    async def slow(arguments: object) -> ToolResult:
        arrived.set()
        await go_on.wait()
        return ToolResult(text="worked")

    model = ScriptedModel([call("probe"), say("steered"), say("and again")])
    async with house(model=model, tools=[Probe(act=slow)], queue=QueueRules(mode="steer-backlog")):
        await channel.say("work")
        await arrived.wait()
        await channel.say("also this")
        go_on.set()
        await channel.until_sent(2)
    assert texts(model.requests[1].messages[-1]) == ["also this"]
    assert texts(model.requests[2].messages[-1]) == ["also this"]


async def test_steer_without_a_tool_call_becomes_a_follow_up(house: OpenHouse, channel: MemoryChannel) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("one").held(hold), say("two")])
    async with house(model=model, queue=QueueRules(mode="steer")):
        await channel.say("first")
        await until_asked(model, 1)
        await channel.say("second")
        hold.set()
        sent = await channel.until_sent(2)
    assert [each.text for each in sent] == ["one", "two"]


async def test_interrupt_ends_the_running_turn_durably_and_runs_the_new_message(house: OpenHouse, channel: MemoryChannel) -> None:
    never = anyio.Event()
    model = ScriptedModel([say("half an ans").held(never), say("new answer")])
    async with house(model=model, queue=QueueRules(mode="interrupt")) as engine:
        first = await channel.say("first")
        await until_asked(model, 1)
        async with engine.watch(MAIN) as shown:
            second = await channel.say("no, this")
            del shown
        assert (await engine.outcome(first.item or 0)).status == "aborted"
        assert (await engine.outcome(second.item or 0)).text == "new answer"
        ended = await events(engine, TurnEnded)
    assert [each.status for each in ended] == ["aborted", "completed"]  # type: ignore[attr-defined]


async def test_stop_ends_the_turn_before_it_is_acknowledged_and_clears_the_queue(
    house: OpenHouse, channel: MemoryChannel
) -> None:
    running, never = anyio.Event(), anyio.Event()

    async def hang(arguments: object) -> ToolResult:
        running.set()
        await never.wait()
        return ToolResult(text="never")

    model = ScriptedModel([call("probe"), say("after")])
    async with house(model=model, tools=[Probe(act=hang)], queue=QueueRules(mode="followup")) as engine:
        first = await channel.say("work")
        await running.wait()
        queued = await channel.say("queued")
        stopped = await engine.stop(MAIN, by=OWNER)
        assert (stopped.turns, stopped.queued) == (1, 1)
        (ended,) = await events(engine, TurnEnded)
        (result,) = await events(engine, ToolResulted)
        assert ended.status == "aborted"  # type: ignore[attr-defined]
        assert (result.fate, "may have happened" in result.text) == ("interrupted", True)  # type: ignore[attr-defined]
        assert (await engine.outcome(first.item or 0)).status == "aborted"
        assert (await engine.outcome(queued.item or 0)).status == "aborted"
        await channel.say("go on")
        assert (await channel.until_sent(1))[0].text == "after"


async def test_a_full_queue_refuses_new_messages(house: OpenHouse, channel: MemoryChannel) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("1").held(hold), say("2"), say("3")])
    async with house(model=model, queue=QueueRules(mode="followup", cap=2, drop="new")):
        await channel.say("a")
        await until_asked(model, 1)
        await channel.say("b")
        await channel.say("c")
        with pytest.raises(Busy):
            await channel.say("d")
        hold.set()
        await channel.until_sent(3)


async def test_a_full_queue_drops_the_oldest_and_tells_its_sender(house: OpenHouse, channel: MemoryChannel) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("1").held(hold), say("2"), say("3")])
    async with house(model=model, queue=QueueRules(mode="followup", cap=2, drop="old")) as engine:
        await channel.say("a")
        await until_asked(model, 1)
        dropped = await channel.say("b")
        await channel.say("c")
        await channel.say("d")
        assert "queue was full" in (await engine.outcome(dropped.item or 0)).reason
        hold.set()
        await channel.until_sent(3)
    assert [texts(request.messages[-1]) for request in model.requests] == [["a"], ["c"], ["d"]]


async def test_a_full_queue_keeps_a_summary_of_what_it_dropped(house: OpenHouse, channel: MemoryChannel) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("1").held(hold), say("2"), say("3")])
    async with house(model=model, queue=QueueRules(mode="followup", cap=2, drop="summarize")):
        await channel.say("a")
        await until_asked(model, 1)
        for text in ("b", "c", "d"):
            await channel.say(text)
        hold.set()
        await channel.until_sent(3)
    summary = texts(model.requests[1].messages[-2])[0]
    assert "- b" in summary
    assert texts(model.requests[1].messages[-1]) == ["c"]


async def test_one_busy_session_does_not_hold_up_the_others(house: OpenHouse, channel: MemoryChannel) -> None:
    hold = anyio.Event()

    def answer(request: ModelRequest) -> Step:
        text = texts(request.messages[-1])[0]
        return say(text).held(hold) if text == "slow" else say(text)

    async with house(
        model=ScriptedModel(answer), caps={"main": 2}, scopes=ScopeRules(dm="per-peer"), queue=QueueRules(mode="followup")
    ):
        await channel.say("slow", sender="ann")
        for number in range(5):
            await channel.say(f"ann {number}", sender="ann")
            await channel.say(f"bob {number}", sender="bob")
        await channel.until_sent(5)
        assert {each.address.chat for each in channel.sent} == {"bob"}
        hold.set()
        await channel.until_sent(11)


async def test_no_more_turns_run_at_once_than_the_lane_allows(house: OpenHouse, channel: MemoryChannel) -> None:
    hold = anyio.Event()
    model = ScriptedModel(lambda request: say("ok").held(hold))
    async with house(model=model, caps={"main": 3}, scopes=ScopeRules(dm="per-peer")) as engine:
        for number in range(8):
            await channel.say("hi", sender=f"person{number}")
        await until_asked(model, 3)
        assert engine.status()["running"] == 3
        assert len(model.requests) == 3
        hold.set()
        await channel.until_sent(8)


async def test_rapid_messages_of_one_sender_become_one_turn(house: OpenHouse, channel: MemoryChannel, clock: ManualClock) -> None:
    model = ScriptedModel([say("all")])
    async with house(model=model, inbound_debounce={"": 2.0}):
        await channel.say("one")
        await clock.advance(1.5)
        await channel.say("two")
        await clock.advance(1.5)
        assert model.requests == []
        await clock.advance(0.5)
        await channel.until_sent(1)
    assert texts(model.requests[0].messages[-1]) == ["one", "two"]


async def test_a_clock_that_jumps_back_does_not_hold_a_message(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    async with house(model=ScriptedModel([say("fine")]), inbound_debounce={"": 2.0}):
        await channel.say("hi")
        clock.jump(-7200)
        began = clock.monotonic()
        await pass_time(clock, lambda: bool(channel.sent))
        assert clock.monotonic() - began < 600
