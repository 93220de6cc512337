"""Races in the lanes: nothing accepted is lost, nothing hangs, no session is bricked, whoever comes when."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from ostiary.contracts.content import Label, Text, ToolOutcome, Trust, UserMessage
from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import Busy, StoreUnavailable
from ostiary.contracts.events import Reset, Steered, ToolResulted, TurnEnded, TurnStarted, TurnSuspended
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.store import Accept, Append, MarkInbox, Write
from ostiary.contracts.tool import ToolResult
from ostiary.core.routing.queue import QueueRules
from ostiary.kit.models import ScriptedModel, call, fail, say
from tests.unit.core.engines import MAIN, OWNER, Engine, Tool, engine

CLIENT = ToolSchema(name="client", description="Runs at the caller's.", parameters={"type": "object", "properties": {}})
ANSWER = Label(trust=Trust.UNTRUSTED, sources=("client",))


def appends(writes: Sequence[Write], kind: type) -> bool:
    return any(isinstance(write, Append) and isinstance(write.event, kind) for write in writes)


def said(message: object) -> list[str]:
    assert isinstance(message, UserMessage)
    return [part.text for part in message.parts if isinstance(part, Text)]


async def submit_with_client_tool(house: Engine, text: str) -> int:
    message = house.channel.message(text)
    accepted = await house.supervisor.submit(Submission(message=message, client_tools=(CLIENT,)))
    assert accepted.item is not None
    return accepted.item


async def test_a_message_dropped_by_a_full_queue_while_its_turn_begins_does_not_brick_the_session(tmp_path: Path) -> None:
    hold, gate = anyio.Event(), anyio.Event()
    model = ScriptedModel([say("1").held(hold), say("2"), say("3")])
    rules = QueueRules(mode="followup", cap=1, drop="old")
    async with engine(tmp_path, model, queue=rules) as house, anyio.create_task_group() as group:
        await house.channel.say("a")
        await house.settle(lambda: len(model.requests) == 1)
        await house.channel.say("b")

        async def slow_accept(number: int, writes: Sequence[Write]) -> None:
            if any(isinstance(write, Accept) for write in writes):
                await gate.wait()

        house.store.after = slow_accept
        group.start_soon(house.channel.say, "c")
        await anyio.wait_all_tasks_blocked()
        hold.set()
        await house.channel.until_sent(1)
        await anyio.wait_all_tasks_blocked()
        gate.set()
        await house.until(lambda: len(house.channel.sent) >= 2 and not house.lanes.running and not house.lanes.queued)
        assert "c" in [text for request in model.requests for text in said(request.messages[-1])]


async def test_two_messages_that_push_out_the_same_old_one_are_both_accepted(tmp_path: Path) -> None:
    hold, gate = anyio.Event(), anyio.Event()
    model = ScriptedModel([say("1").held(hold), *(say("next") for _ in range(4))])
    async with engine(tmp_path, model, queue=QueueRules(mode="followup", cap=1, drop="old")) as house:
        await house.channel.say("a")
        await house.settle(lambda: len(model.requests) == 1)
        await house.channel.say("b")

        async def slow_accept(number: int, writes: Sequence[Write]) -> None:
            if any(isinstance(write, Accept) for write in writes):
                await gate.wait()

        house.store.before = slow_accept
        refused: list[str] = []

        async def say_or_hear_busy(text: str) -> None:
            try:
                await house.channel.say(text)
            except Busy:
                refused.append(text)

        async with anyio.create_task_group() as group:
            group.start_soon(say_or_hear_busy, "c")
            await anyio.wait_all_tasks_blocked()
            group.start_soon(say_or_hear_busy, "d")
            await anyio.wait_all_tasks_blocked()
            gate.set()
        assert house.lanes.queued == 1
        hold.set()
        await house.until(lambda: not house.lanes.running and not house.lanes.queued)
    heard = [text for request in model.requests for text in said(request.messages[-1])]
    assert sorted([*heard, *refused]) == ["a", "c", "d"]


async def test_a_burst_never_grows_the_queue_beyond_its_cap(tmp_path: Path) -> None:
    hold = anyio.Event()
    model = ScriptedModel(lambda request: say("ok").held(hold))
    async with engine(tmp_path, model, queue=QueueRules(mode="followup", cap=3, drop="new")) as house:
        await house.channel.say("first")
        await house.settle(lambda: len(model.requests) == 1)
        refused: list[int] = []

        async def speak(number: int) -> None:
            try:
                await house.channel.say(str(number))
            except Busy:
                refused.append(number)

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(speak, number)
        assert house.lanes.queued == 3
        assert len(refused) == 17
        hold.set()
        await house.until(lambda: not house.lanes.running and not house.lanes.queued)


async def test_steering_that_could_not_be_written_is_not_lost(tmp_path: Path) -> None:
    started, go_on = anyio.Event(), anyio.Event()

    async def slow(arguments: object) -> ToolResult:
        started.set()
        await go_on.wait()
        return ToolResult(text="worked")

    model = ScriptedModel([call("probe"), say("after"), say("later")])
    async with engine(tmp_path, model, tools=[Tool(act=slow)], queue=QueueRules(mode="steer")) as house:
        await house.channel.say("work")
        await started.wait()
        steer = await house.channel.say("this way")
        failed = [False]

        async def refuse_once(number: int, writes: Sequence[Write]) -> None:
            if appends(writes, Steered) and not failed[0]:
                failed[0] = True
                raise StoreUnavailable("the disk is full")

        house.store.before = refuse_once
        go_on.set()
        await house.until(lambda: bool(house.channel.sent) and not house.lanes.running and not house.lanes.queued)
        with anyio.fail_after(5):
            outcome = await house.supervisor.outcome(steer.item or 0)
        assert failed == [True]
        assert outcome.status == "completed"


async def test_steering_that_was_stopped_before_it_was_written_is_cleared_with_the_queue(tmp_path: Path) -> None:
    started, go_on = anyio.Event(), anyio.Event()

    async def slow(arguments: object) -> ToolResult:
        started.set()
        await go_on.wait()
        return ToolResult(text="worked")

    model = ScriptedModel([call("probe"), say("never")])
    async with engine(tmp_path, model, tools=[Tool(act=slow)], queue=QueueRules(mode="steer")) as house:
        await house.channel.say("work")
        await started.wait()
        steer = await house.channel.say("this way")
        async with house.sessions.pen(MAIN):
            go_on.set()
            await anyio.wait_all_tasks_blocked()
            async with anyio.create_task_group() as group:
                group.start_soon(house.supervisor.outcome, steer.item or 0)
                stopping = anyio.Event()

                async def stop() -> None:
                    stopping.set()
                    await house.supervisor.stop(MAIN, by=OWNER)

                group.start_soon(stop)
                await stopping.wait()
                await anyio.wait_all_tasks_blocked()
                group.cancel_scope.cancel()
        with anyio.fail_after(5):
            assert (await house.supervisor.outcome(steer.item or 0)).status == "aborted"


async def test_a_turn_stopped_while_it_begins_to_wait_is_ended_before_stop_returns(tmp_path: Path) -> None:
    suspending, go_on = anyio.Event(), anyio.Event()
    model = ScriptedModel([call("client")])
    async with engine(tmp_path, model) as house:

        async def hold(number: int, writes: Sequence[Write]) -> None:
            if appends(writes, TurnSuspended):
                suspending.set()
                await go_on.wait()

        house.store.before = hold
        await submit_with_client_tool(house, "go")
        await suspending.wait()
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: house.supervisor.stop(MAIN, by=OWNER))
            await anyio.wait_all_tasks_blocked()
            go_on.set()
        (ended,) = await house.events(TurnEnded)
        assert ended.status == "aborted"
        assert house.lanes.parked == 0


async def test_a_message_that_interrupts_a_turn_about_to_wait_is_not_held_up(tmp_path: Path) -> None:
    suspending, go_on = anyio.Event(), anyio.Event()
    model = ScriptedModel([call("client"), say("new answer")])
    async with engine(tmp_path, model, queue=QueueRules(mode="interrupt")) as house:

        async def hold(number: int, writes: Sequence[Write]) -> None:
            if appends(writes, TurnSuspended):
                suspending.set()
                await go_on.wait()

        house.store.before = hold
        await submit_with_client_tool(house, "go")
        await suspending.wait()
        await house.channel.say("no, this")
        go_on.set()
        assert (await house.channel.until_sent(1))[0].text == "new answer"


async def test_an_expired_wait_is_closed_once_the_store_is_back(tmp_path: Path) -> None:
    model = ScriptedModel([call("client"), say("and on")])
    async with engine(tmp_path, model) as house:
        item = await submit_with_client_tool(house, "go")
        await house.settle(lambda: house.lanes.parked == 1)
        house.lanes.outcomes.expect(item)
        refusals: list[int] = []

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            if appends(writes, TurnEnded) and len(refusals) < 3:
                refusals.append(number)
                raise StoreUnavailable("the disk is full")

        house.store.before = refuse
        await house.until(lambda: house.lanes.parked == 0)
        with anyio.fail_after(5):
            assert (await house.supervisor.outcome(item)).status == "aborted"
        assert len(refusals) == 3
        await house.channel.say("next")
        await house.until(lambda: [each.text for each in house.channel.sent] == ["and on"])


async def test_a_new_message_closes_a_waiting_turn_even_if_the_store_fails_first(tmp_path: Path) -> None:
    model = ScriptedModel([call("client"), say("and on")])
    async with engine(tmp_path, model) as house:
        await submit_with_client_tool(house, "go")
        await house.settle(lambda: house.lanes.parked == 1)
        failed = [False]

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            if appends(writes, TurnEnded) and not failed[0]:
                failed[0] = True
                raise StoreUnavailable("the disk is full")

        house.store.before = refuse
        await house.channel.say("next")
        await house.until(lambda: bool(house.channel.sent))
        assert [each.status for each in await house.events(TurnEnded)] == ["aborted", "completed"]
        assert failed == [True]


async def test_answers_that_race_a_new_message_leave_one_outcome_and_a_session_that_goes_on(tmp_path: Path) -> None:
    model = ScriptedModel([call("client", id="c1"), say("next answer"), say("next answer")])
    async with engine(tmp_path, model) as house:
        item = await submit_with_client_tool(house, "go")
        await house.settle(lambda: house.lanes.parked == 1)
        answer = ToolOutcome(call_id="c1", name="client", text="42", is_error=False, label=ANSWER)
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: house.supervisor.answer_calls(MAIN, [answer], by=OWNER))
            group.start_soon(house.channel.say, "instead")
        await house.until(lambda: not house.lanes.running and not house.lanes.queued and not house.lanes.parked)
        with anyio.fail_after(5):
            assert (await house.supervisor.outcome(item)).status in ("aborted", "completed")
        assert len(await house.events(TurnStarted)) == len(await house.events(TurnEnded)) == 2
        assert len(await house.events(ToolResulted)) == 1


async def test_a_caller_who_goes_away_while_its_message_is_written_loses_nothing(tmp_path: Path) -> None:
    writing, go_on = anyio.Event(), anyio.Event()
    model = ScriptedModel([say("answer")])
    async with engine(tmp_path, model) as house:

        async def hold(number: int, writes: Sequence[Write]) -> None:
            if any(isinstance(write, Accept) for write in writes):
                writing.set()
                with anyio.CancelScope(shield=True):
                    await go_on.wait()

        house.store.before = hold
        async with anyio.create_task_group() as group:
            group.start_soon(house.channel.say, "hi")
            await writing.wait()
            group.cancel_scope.cancel()
            go_on.set()
        assert (await house.channel.until_sent(1))[0].text == "answer"


async def test_a_store_that_is_too_busy_delays_a_turn_and_never_fails_it(tmp_path: Path) -> None:
    busy = [3]
    async with engine(tmp_path, ScriptedModel([say("answer"), say("answer")])) as house:

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            if busy[0] and not any(isinstance(write, Accept) for write in writes):
                busy[0] -= 1
                raise Busy("the store has too much to do")

        house.store.before = refuse
        await house.channel.say("hi")
        await house.until(lambda: bool(house.channel.sent))
        assert [each.status for each in await house.events(TurnEnded)] == ["completed"]
        assert busy == [0]


async def test_a_session_put_out_of_memory_whose_journal_cannot_be_read_takes_nobody_down(tmp_path: Path) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("one").held(hold), say("two")])
    async with engine(tmp_path, model) as house:

        async def forget(number: int, writes: Sequence[Write]) -> None:
            if appends(writes, TurnEnded) and not house.store.reads_fail:
                house.store.reads_fail = StoreUnavailable("locked")
                house.sessions.forget(MAIN)

        house.store.after = forget
        accepted = await house.channel.say("hi")
        await house.settle(lambda: len(model.requests) == 1)
        hold.set()
        await house.channel.until_sent(1)
        await anyio.wait_all_tasks_blocked()
        house.store.reads_fail = None
        house.store.after = None
        await house.until(lambda: not house.lanes.running and house.lanes.seat_of(MAIN) is None)
        with anyio.fail_after(5):
            assert (await house.supervisor.outcome(accepted.item or 0)).text == "one"
    assert len(model.requests) == 1


async def test_a_fold_that_breaks_ends_no_turn_but_its_own(tmp_path: Path) -> None:
    from ostiary.kit.models import Step

    model = ScriptedModel(lambda request: say("fine") if "bob" in request.session else Step(error=None, cut=True))
    async with engine(tmp_path, model) as house:
        broken = house.sessions.get

        async def get(key: SessionKey) -> object:
            if key == MAIN:
                raise KeyError("a journal nobody understands")
            return await broken(key)

        house.sessions.get = get  # type: ignore[assignment,method-assign]
        await house.channel.say("hi")
        await anyio.wait_all_tasks_blocked()
        await house.channel.say("hello", chat="bob")
        await house.until(lambda: [each.text for each in house.channel.sent] == ["fine"])
        house.sessions.get = broken  # type: ignore[method-assign]


async def test_a_tool_that_cancels_itself_fails_alone(tmp_path: Path) -> None:
    async def cancel(arguments: object) -> ToolResult:
        raise asyncio.CancelledError

    model = ScriptedModel([call("probe").then(call("other")), say("I see")])
    async with engine(tmp_path, model, tools=[Tool(act=cancel), Tool("other")]) as house:
        await house.channel.say("go")
        await house.channel.until_sent(1)
        results = await house.events(ToolResulted)
    assert [(each.name, each.is_error) for each in sorted(results, key=lambda each: each.name)] == [
        ("other", False),
        ("probe", True),
    ]


async def test_a_model_client_that_cancels_itself_ends_its_own_turn_only(tmp_path: Path) -> None:
    model = ScriptedModel([fail(asyncio.CancelledError()), say("back")])  # type: ignore[arg-type]
    async with engine(tmp_path, model) as house:
        await house.channel.say("go")
        await house.channel.until_sent(1)
        await house.channel.say("again")
        await house.channel.until_sent(2)
        ended = await house.events(TurnEnded)
    assert [each.status for each in ended] == ["failed", "completed"]


async def test_stop_of_a_turn_that_waits_for_a_slot_after_a_restart_settles_its_outcome(tmp_path: Path) -> None:
    asked, never = anyio.Event(), anyio.Event()

    def hang(request: object) -> object:
        asked.set()
        return say("lost").after(never)

    async with engine(tmp_path, ScriptedModel([hang]), drain_seconds=0) as house:  # type: ignore[list-item]
        accepted = await house.channel.say("hi")
        await asked.wait()
    async with engine(tmp_path, ScriptedModel([]), start=10, caps={"main": 0}) as house:
        stopped = await house.supervisor.stop(MAIN, by=OWNER)
        assert stopped.turns == 1
        with anyio.fail_after(5):
            assert (await house.supervisor.outcome(accepted.item or 0)).status == "aborted"


async def test_a_stop_that_the_store_refused_keeps_the_queue(tmp_path: Path) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("1").held(hold), say("2")])
    async with engine(tmp_path, model, queue=QueueRules(mode="followup")) as house:
        await house.channel.say("a")
        await house.settle(lambda: len(model.requests) == 1)
        await house.channel.say("b")

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            if any(isinstance(write, MarkInbox) and write.state == "done" for write in writes):
                raise StoreUnavailable("the disk is full")

        house.store.before = refuse
        with pytest.raises(StoreUnavailable):
            await house.supervisor.stop(MAIN, by=OWNER)
        house.store.before = None
        hold.set()
        await house.channel.until_sent(2)


async def test_a_guest_cannot_interrupt_the_owners_turn(tmp_path: Path) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("for the owner").held(hold), say("for the guest")])
    async with engine(tmp_path, model, queue=QueueRules(mode="interrupt")) as house:
        await house.channel.say("work", chat="room")
        await house.settle(lambda: len(model.requests) == 1)
        await house.channel.say("stop that", sender="guest", chat="room")
        await anyio.wait_all_tasks_blocked()
        hold.set()
        await house.channel.until_sent(2)
        ended = await house.events(TurnEnded, SessionKey("main", "memory:group:room"))
    assert [(each.status, each.reply) for each in ended] == [("completed", "for the owner"), ("completed", "for the guest")]


async def test_what_a_guest_wrote_into_a_full_queue_never_speaks_in_the_owners_turn(tmp_path: Path) -> None:
    hold = anyio.Event()
    model = ScriptedModel([say("1").held(hold), say("2"), say("3")])
    room = SessionKey("main", "memory:group:room")
    async with engine(tmp_path, model, queue=QueueRules(mode="followup", cap=1, drop="summarize")) as house:
        await house.channel.say("a", chat="room")
        await house.settle(lambda: len(model.requests) == 1)
        await house.channel.say("delete everything", sender="guest", chat="room")
        await house.channel.say("mine", chat="room")
        hold.set()
        await house.channel.until_sent(2)
        await house.channel.say("hello again", sender="guest", chat="room")
        await house.channel.until_sent(3)
        started = await house.events(TurnStarted, room)
    assert [bool(each.summary_of_dropped) for each in started] == [False, False, True]
    assert started[2].principal.role == "external"


async def test_steering_from_another_place_does_not_join_a_turn_that_answers_elsewhere(tmp_path: Path) -> None:
    started, go_on = anyio.Event(), anyio.Event()

    async def slow(arguments: object) -> ToolResult:
        started.set()
        await go_on.wait()
        return ToolResult(text="worked")

    model = ScriptedModel([call("probe"), say("here"), say("there")])
    async with engine(tmp_path, model, tools=[Tool(act=slow)], queue=QueueRules(mode="steer")) as house:
        await house.channel.say("work")
        await started.wait()
        message = house.channel.message("and this")
        elsewhere = replace(message, address=replace(message.address, account="second"))
        await house.channel.say("and this", message=elsewhere)
        go_on.set()
        sent = await house.channel.until_sent(2)
    assert [(each.address.account, each.text) for each in sent] == [("default", "here"), ("second", "there")]


async def test_a_reset_that_meets_a_new_turn_keeps_that_turns_own_words(tmp_path: Path) -> None:
    started, go_on = anyio.Event(), anyio.Event()

    async def slow(arguments: object) -> ToolResult:
        started.set()
        await go_on.wait()
        return ToolResult(text="worked")

    model = ScriptedModel([say("old"), call("probe"), say("new")])
    async with engine(tmp_path, model, tools=[Tool(act=slow)]) as house:
        await house.channel.say("before")
        await house.channel.until_sent(1)
        await house.channel.say("after")
        await started.wait()
        async with house.sessions.pen(MAIN) as pen:
            pen.add(Reset(reason="asked"))
            await pen.commit()
        go_on.set()
        await house.channel.until_sent(2)
    assert [message.role for message in model.requests[-1].messages] == ["user", "assistant", "tool"]
    assert said(model.requests[-1].messages[0]) == ["after"]


async def test_idle_sessions_leave_nothing_in_the_lanes(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: say("ok"))
    async with engine(tmp_path, model) as house:
        for number in range(30):
            await house.channel.say("hi", chat=f"room{number}")
        await house.channel.until_sent(30)
        await house.settle(lambda: not house.lanes.running)
        assert (house.lanes._seats, house.sessions.locks, house.lanes.outcomes._open) == ({}, {}, {})


async def test_messages_the_store_refused_leave_no_seat_behind(tmp_path: Path) -> None:
    async with engine(tmp_path, ScriptedModel([])) as house:

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            raise StoreUnavailable("the disk is full")

        house.store.before = refuse
        for number in range(5):
            with pytest.raises(StoreUnavailable):
                await house.channel.say("hi", chat=f"room{number}")
        house.store.before = None
        assert house.lanes._seats == {}
