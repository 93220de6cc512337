"""The engine as doors see it: it takes up, it goes on, it answers the same question the same way, it stops in order."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from ostiary.contracts.channel import Receive
from ostiary.contracts.content import Label, ToolOutcome, Trust
from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import (
    Busy,
    ChannelMisconfigured,
    ChannelUnavailable,
    Conflict,
    StaleLease,
    StoreUnavailable,
    UnknownSession,
)
from ostiary.contracts.events import Recorded, Reset, SettingChanged, ToolResulted, TurnEnded, TurnStarted
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.store import Accept, InboxItem, MarkInbox, Write
from ostiary.contracts.tool import ToolResult
from ostiary.core.routing.supervisor import RENEW_SECONDS
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.models import ScriptedModel, call, say
from tests.unit.core.engines import MAIN, OWNER, Engine, Tool, engine
from tests.unit.core.routing.test_intake import Doorbell

CLIENT = ToolSchema(name="client", description="Runs at the caller's.", parameters={"type": "object", "properties": {}})
GUEST = Principal(user=UserId(channel="memory", stable_id="guest"))
LABEL = Label(trust=Trust.UNTRUSTED, sources=("client",))


def answer(call_id: str = "c1", text: str = "42") -> ToolOutcome:
    return ToolOutcome(call_id=call_id, name="client", text=text, is_error=False, label=LABEL)


async def until_waiting(house: Engine) -> int:
    message = house.channel.message("go")
    accepted = await house.supervisor.submit(Submission(message=message, client_tools=(CLIENT,)))
    await house.settle(lambda: house.lanes.parked == 1)
    return accepted.item or 0


async def test_answers_resume_the_turn_with_the_label_they_came_with(tmp_path: Path) -> None:
    model = ScriptedModel([call("client", id="c1"), say("so it is 42")])
    async with engine(tmp_path, model) as house:
        item = await until_waiting(house)
        assert await house.supervisor.answer_calls(MAIN, [answer()], by=OWNER) == item
        assert (await house.supervisor.outcome(item)).text == "so it is 42"
        (result,) = await house.events(ToolResulted)
    assert (result.label, result.fate) == (LABEL, "done")


async def test_the_same_answers_again_lead_to_the_same_outcome_while_it_runs_and_after(tmp_path: Path) -> None:
    hold = anyio.Event()
    model = ScriptedModel([call("client", id="c1"), say("done").held(hold)])
    async with engine(tmp_path, model) as house:
        item = await until_waiting(house)
        await house.supervisor.answer_calls(MAIN, [answer()], by=OWNER)
        await house.settle(lambda: len(model.requests) == 2)
        assert await house.supervisor.answer_calls(MAIN, [answer()], by=OWNER) == item
        hold.set()
        await house.supervisor.outcome(item)
        assert await house.supervisor.answer_calls(MAIN, [answer()], by=OWNER) == item
        assert await house.supervisor.answer_calls(MAIN, [answer()], by=GUEST) is None
        assert len(await house.events(ToolResulted)) == 1


@pytest.mark.parametrize(
    ("answers", "by"),
    [
        ([], OWNER),
        ([answer("other")], OWNER),
        ([answer(), answer("other")], OWNER),
        ([answer()], GUEST),
        ([answer()], Principal(user=OWNER.user)),
    ],
    ids=["none", "unknown", "too many", "a guest", "a lesser role"],
)
async def test_only_exactly_the_open_calls_answered_by_who_began_the_turn_resume_it(
    tmp_path: Path, answers: list[ToolOutcome], by: Principal
) -> None:
    async with engine(tmp_path, ScriptedModel([call("client", id="c1")])) as house:
        await until_waiting(house)
        assert await house.supervisor.answer_calls(MAIN, answers, by=by) is None
        assert house.lanes.parked == 1


async def test_answers_that_the_store_refused_can_be_given_again(tmp_path: Path) -> None:
    model = ScriptedModel([call("client", id="c1"), say("done")])
    async with engine(tmp_path, model) as house:
        item = await until_waiting(house)

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            raise StoreUnavailable("the disk is full")

        house.store.before = refuse
        with pytest.raises(StoreUnavailable):
            await house.supervisor.answer_calls(MAIN, [answer()], by=OWNER)
        house.store.before = None
        await house.supervisor.answer_calls(MAIN, [answer()], by=OWNER)
        with anyio.fail_after(5):
            assert (await house.supervisor.outcome(item)).text == "done"


async def test_a_stop_that_races_the_answers_ends_the_turn_once(tmp_path: Path) -> None:
    model = ScriptedModel([call("client", id="c1"), say("done"), say("next")])
    async with engine(tmp_path, model) as house:
        await until_waiting(house)
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: house.supervisor.answer_calls(MAIN, [answer()], by=OWNER))
            group.start_soon(lambda: house.supervisor.stop(MAIN, by=OWNER))
        await house.until(lambda: not house.lanes.running and not house.lanes.parked)
        await house.channel.say("and now?")
        await house.channel.until_sent(1)
        assert len(await house.events(TurnStarted)) == len(await house.events(TurnEnded)) == 2


async def test_a_lease_that_cannot_be_renewed_for_a_while_stops_nothing(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([say("still here")])) as house:
        renewals: list[int] = []

        async def renew(lease: object, *, seconds: float) -> object:
            renewals.append(1)
            raise Busy("too much to do")

        house.store.renew = renew  # type: ignore[attr-defined]
        await anyio.wait_all_tasks_blocked()
        await house.clock.advance(3 * RENEW_SECONDS)
        await house.channel.say("hi")
        assert (await house.channel.until_sent(1))[0].text == "still here"
        assert len(renewals) == 3


async def test_an_engine_whose_lease_was_taken_stops_at_once(tmp_path: Path) -> None:
    async def lose(house: Engine) -> None:
        async def renew(lease: object, *, seconds: float) -> object:
            raise StaleLease("another process")

        house.store.renew = renew  # type: ignore[attr-defined]
        await anyio.wait_all_tasks_blocked()
        await house.clock.advance(2 * RENEW_SECONDS)
        await anyio.sleep_forever()

    async def live() -> None:
        async with engine(tmp_path, ScriptedModel([])) as house:
            await lose(house)

    with pytest.raises(ExceptionGroup) as raised:
        await live()
    assert raised.group_contains(StaleLease)


async def test_two_engines_cannot_hold_one_store(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        with pytest.raises(Conflict):
            await house.store.claim("engine", owner="another", seconds=60)


class Moody(MemoryChannel):
    """Fails in each of these ways first, then listens."""

    def __init__(self, *moods: BaseException) -> None:
        super().__init__()
        self.moods = list(moods)
        self.listened = 0

    async def listen(self, receive: Receive) -> None:
        self.listened += 1
        if self.moods:
            raise self.moods.pop(0)
        await super().listen(receive)


async def test_a_channel_that_fails_in_any_way_is_started_again(tmp_path: Path) -> None:
    channel = Moody(
        ChannelUnavailable("away"), RuntimeError("bug"), asyncio.CancelledError(), ChannelUnavailable("", retry_after=40)
    )
    async with engine(tmp_path, ScriptedModel([say("here")]), channel=channel) as house:
        await house.until(lambda: channel.listened == 5)
        await house.channel.say("hi")
        await house.channel.until_sent(1)
    assert [each.text for each in channel.sent] == ["here"]


async def test_a_misconfigured_channel_stays_off_and_the_others_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    channel = Moody(ChannelMisconfigured("the token is wrong", hint="Set a new one."))
    with caplog.at_level(logging.ERROR):
        async with engine(tmp_path, ScriptedModel([say("by the door")]), channel=channel) as house:
            await anyio.wait_all_tasks_blocked()
            await house.clock.advance(1000)
            accepted = await house.supervisor.submit(Submission(message=channel.message("hi"), principal=OWNER))
            assert (await house.supervisor.outcome(accepted.item or 0)).text == "by the door"
    assert channel.listened == 1
    assert "the token is wrong" in caplog.text


async def test_a_command_the_store_would_not_finish_is_finished_later(tmp_path: Path) -> None:
    bell, refusals = Doorbell(), [2]
    async with engine(tmp_path, ScriptedModel([]), desk=bell.desk, made=bell.hang) as house:

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            if refusals[0] and any(isinstance(write, MarkInbox) for write in writes):
                refusals[0] -= 1
                raise StoreUnavailable("the disk is full")

        house.store.before = refuse
        with pytest.raises(StoreUnavailable):
            await house.channel.say("/think high")
        await house.until(lambda: bool(house.channel.sent))
        assert {each.value for each in await house.events(SettingChanged)} == {"high"}
        assert (await house.store.pending()).inbox == ()


async def test_a_command_cut_by_a_crash_is_finished_at_the_next_start_even_if_the_store_refuses_at_first(tmp_path: Path) -> None:
    bell = Doorbell()
    async with engine(tmp_path, ScriptedModel([]), desk=bell.desk, made=bell.hang) as house:

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            if any(isinstance(write, MarkInbox) for write in writes):
                raise StoreUnavailable("the disk is full")

        house.store.before = refuse
        with pytest.raises(StoreUnavailable):
            await house.channel.say("/think high")
    async with engine(tmp_path, ScriptedModel([]), desk=bell.desk, made=bell.hang, start=5) as house:
        await house.until(lambda: bool(house.channel.sent))
        assert (await house.store.pending()).inbox == ()


async def test_the_outcome_of_a_message_nobody_sent_is_an_error(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        with pytest.raises(UnknownSession):
            await house.supervisor.outcome(4711)


async def test_an_outcome_is_known_after_a_restart(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([say("remember me")])) as house:
        accepted = await house.channel.say("hi")
        await house.channel.until_sent(1)
    async with engine(tmp_path, ScriptedModel([]), start=5) as house:
        outcome = await house.supervisor.outcome(accepted.item or 0)
        assert (outcome.status, outcome.text) == ("completed", "remember me")


async def test_a_reset_ends_the_running_turn_and_empties_the_conversation(tmp_path: Path) -> None:
    never = anyio.Event()
    model = ScriptedModel([say("one"), say("two").held(never), say("three")])
    async with engine(tmp_path, model) as house:
        await house.channel.say("first")
        await house.channel.until_sent(1)
        await house.channel.say("second")
        await house.settle(lambda: len(model.requests) == 2)
        await house.supervisor.reset(MAIN, reason="asked", by=OWNER)
        assert (await house.supervisor.view(MAIN)).messages == 0
        assert len(await house.events(Reset)) == 1
        await house.channel.say("third")
        await house.settle(lambda: len(model.requests) == 3)
    assert len(model.requests[2].messages) == 1


async def test_a_watcher_sees_events_only_once_they_are_durable(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([say("a", "b")])) as house, house.supervisor.watch(MAIN) as shown:
        await house.channel.say("hi")
        seen: list[str] = []
        with anyio.fail_after(5):
            async for each in shown:
                if isinstance(each, Recorded):
                    stored = await house.store.read(MAIN)
                    assert each.seq <= stored[-1].seq
                seen.append(type(each.event).__name__ if isinstance(each, Recorded) else f"{each.text}@{each.offset}")
                if seen[-1] == "TurnEnded":
                    break
    assert isinstance(each, Recorded)
    assert seen == ["TurnStarted", "PrefixPinned", "ModelRequested", "a@0", "b@1", "ModelAnswered", "TurnEnded"]


async def test_leaving_lets_running_turns_finish_and_refuses_new_messages(tmp_path: Path) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("finished").held(hold)])
    channel = MemoryChannel()
    late: list[str] = []

    async def close_slowly(house: Engine) -> None:
        await house.settle(lambda: house.lanes._draining)
        try:
            await house.channel.say("too late")
        except Busy as error:
            late.append(str(error))
        hold.set()

    async with anyio.create_task_group() as group, engine(tmp_path, model, channel=channel, drain_seconds=5) as house:
        await house.channel.say("hi")
        await house.settle(lambda: len(model.requests) == 1)
        group.start_soon(close_slowly, house)
    assert late == ["the gateway is stopping"]
    async with engine(tmp_path, ScriptedModel([]), channel=channel, start=5):
        assert [each.text for each in await channel.until_sent(1)] == ["finished"]


async def test_leaving_while_a_turn_waits_keeps_it_waiting_for_the_next_life(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([call("client", id="c1")])) as house:
        item = await until_waiting(house)
    async with engine(tmp_path, ScriptedModel([say("resumed")]), start=5) as house:
        assert house.lanes.parked == 1
        assert await house.supervisor.answer_calls(MAIN, [answer()], by=OWNER) == item
        assert (await house.supervisor.outcome(item)).text == "resumed"


async def test_a_view_tells_what_runs_and_what_waits(tmp_path: Path) -> None:
    started, go_on = anyio.Event(), anyio.Event()

    async def slow(arguments: object) -> ToolResult:
        started.set()
        await go_on.wait()
        return ToolResult(text="ok")

    async with engine(tmp_path, ScriptedModel([call("probe"), say("done")]), tools=[Tool(act=slow)]) as house:
        await house.channel.say("go")
        await started.wait()
        view = await house.supervisor.view(MAIN)
        assert (view.running_turn, view.queued, view.turns) == ("turn_1", 0, 1)
        assert house.supervisor.status() == {"running": 1, "queued": 0, "waiting": 0, "sessions": 1, "outbox": 0}
        go_on.set()
        await house.channel.until_sent(1)
        await house.settle(lambda: not house.lanes.running)
        assert (await house.supervisor.view(MAIN)).running_turn == ""


async def test_a_command_sent_twice_is_answered_twice_with_the_same_words(tmp_path: Path) -> None:
    bell = Doorbell()
    async with engine(tmp_path, ScriptedModel([]), desk=bell.desk, made=bell.hang) as house:
        message = house.channel.message("/think high")
        first = await house.supervisor.submit(Submission(message=message))
        second = await house.supervisor.submit(Submission(message=message))
        outcome = await house.supervisor.outcome(second.item or 0)
        assert (first.status, second.status, first.item) == ("answered", "duplicate", second.item)
        assert (outcome.status, outcome.text) == ("completed", first.text)
    async with engine(tmp_path, ScriptedModel([]), desk=bell.desk, made=bell.hang, start=5) as house:
        later = await house.supervisor.outcome(second.item or 0)
        assert (later.status, later.text) == ("completed", first.text)


async def test_a_command_sent_again_while_it_runs_waits_for_the_one_reply(tmp_path: Path) -> None:
    bell, hold, is_held = Doorbell(), anyio.Event(), anyio.Event()
    async with engine(tmp_path, ScriptedModel([]), desk=bell.desk, made=bell.hang) as house:

        async def slow(number: int, writes: Sequence[Write]) -> None:
            if any(isinstance(write, MarkInbox) for write in writes):
                is_held.set()
                await hold.wait()

        house.store.before = slow
        texts: list[str] = []
        message = house.channel.message("/think high")

        async def send() -> None:
            accepted = await house.supervisor.submit(Submission(message=message))
            texts.append((await house.supervisor.outcome(accepted.item or 0)).text)

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(send)
                await is_held.wait()
                group.start_soon(send)
                await anyio.wait_all_tasks_blocked()
                assert texts == []
                hold.set()
        assert len(set(texts)) == 1
        assert len(texts) == 2
        assert texts[0]


async def test_a_message_that_ended_without_a_turn_is_not_said_to_have_been_dropped(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:
        item = InboxItem(
            message=house.channel.message("x"), session=MAIN, principal=OWNER, reply_to=house.channel.message("x").address,
            lane="main", mode="followup", accepted_at=0.0, ready_at=0.0,
        )  # fmt: skip
        (number,) = await house.store.commit([Accept(item=item)])
        await house.store.commit([MarkInbox(ids=(number,), state="done")])
        outcome = await house.supervisor.outcome(number)
    assert (outcome.status, outcome.turn) == ("aborted", "")
    assert "no turn" in outcome.reason


def watchers() -> int:
    return sum("Closing._expire" in task.get_name() for task in asyncio.all_tasks())


async def test_who_watches_a_waiting_turn_goes_home_when_it_is_answered(tmp_path: Path) -> None:
    model = ScriptedModel([call("client", id="c1"), call("client", id="c2"), say("done")])
    async with engine(tmp_path, model) as house:
        item = await until_waiting(house)
        assert (house.lanes.closing.watching, watchers()) == (1, 1)
        await house.supervisor.answer_calls(MAIN, [answer("c1")], by=OWNER)
        await house.settle(lambda: len(model.requests) == 2 and house.lanes.parked == 1 and house.lanes.running == 0)
        await anyio.wait_all_tasks_blocked()
        assert (house.lanes.closing.watching, watchers()) == (1, 1)
        await house.supervisor.answer_calls(MAIN, [answer("c2")], by=OWNER)
        assert (await house.supervisor.outcome(item)).text == "done"
        await anyio.wait_all_tasks_blocked()
        assert (house.lanes.closing.watching, watchers()) == (0, 0)
