"""Who waits for which turn: everybody is woken, nothing is kept for ever."""

import anyio

from ostiary.contracts.engine import Outcome
from ostiary.contracts.identity import SessionKey
from ostiary.core.routing.outcomes import REMEMBERED, Outcomes

KEY = SessionKey("main", "main")


def ended(turn: str) -> Outcome:
    return Outcome(turn=turn, session=KEY, status="completed", text=turn)


async def test_everybody_who_waits_is_woken_with_the_same_outcome() -> None:
    outcomes, seen = Outcomes(), []
    outcomes.expect(1)

    async def wait() -> None:
        seen.append(await outcomes.wait(1))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        outcomes.settle([1], ended("t"))
    assert seen == [ended("t")] * 3


async def test_nothing_is_known_of_a_message_nobody_expected() -> None:
    assert await Outcomes().wait(5) is None


async def test_a_turn_that_goes_on_makes_its_earlier_outcome_void() -> None:
    outcomes = Outcomes()
    outcomes.settle([1], Outcome(turn="t", session=KEY, status="waiting"))
    outcomes.expect(1)
    seen = []

    async def wait() -> None:
        seen.append(await outcomes.wait(1))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert seen == []
        outcomes.settle([1], ended("t"))
    assert seen == [ended("t")]


async def test_only_the_newest_outcomes_are_remembered() -> None:
    outcomes = Outcomes()
    for number in range(REMEMBERED + 50):
        outcomes.expect(number)
        outcomes.settle([number], ended(str(number)))
    assert (len(outcomes._settled), outcomes._open) == (REMEMBERED, {})
    assert await outcomes.wait(0) is None
    assert await outcomes.wait(60) == ended("60")


async def test_a_burst_of_newer_outcomes_does_not_leave_a_waiter_hanging() -> None:
    outcomes, seen = Outcomes(), []
    outcomes.expect(1)

    async def wait() -> None:
        seen.append(await outcomes.wait(1))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        outcomes.settle([1], ended("t"))
        outcomes.settle(range(2, REMEMBERED + 10), ended("u"))
    assert seen == [None]


async def test_the_end_of_a_turn_is_told_and_then_forgotten() -> None:
    outcomes = Outcomes()
    with outcomes.ended("t") as event:
        outcomes.settle([1], ended("other"))
        assert not event.is_set()
        outcomes.settle([], ended("t"))
        assert event.is_set()
    assert outcomes._turns == {}
