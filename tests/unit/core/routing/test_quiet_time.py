"""Messages that follow each other become one turn, and somebody who never pauses is still answered."""

from pathlib import Path

import pytest

from ostiary.contracts.events import TurnStarted
from ostiary.core.routing.queue import QUIET_TIMES, QueueRules
from ostiary.kit.models import ScriptedModel, say
from tests.unit.core.engines import engine

QUIET = 2.0


@pytest.mark.parametrize("cap", [1, 20, 100])
async def test_steady_chatter_gets_its_turn(tmp_path: Path, cap: int) -> None:
    model = ScriptedModel([say("here I am"), say("and again"), say("and again")])
    queue = QueueRules(cap=cap)
    async with engine(tmp_path, model, inbound_debounce={"memory": QUIET}, queue=queue) as house:
        for number in range(int(QUIET * QUIET_TIMES)):
            assert not model.requests
            await house.channel.say(f"and {number}")
            await house.clock.advance(1.0)
        await house.settle(lambda: len(model.requests) == 1)
        (started,) = await house.events(TurnStarted)
    assert len(started.inputs) <= min(cap, QUIET * QUIET_TIMES + 1)


async def test_a_pause_ends_the_wait_as_soon_as_it_is_long_enough(tmp_path: Path) -> None:
    model = ScriptedModel([say("one"), say("two")])
    async with engine(tmp_path, model, inbound_debounce={"memory": QUIET}) as house:
        for _ in range(2):
            await house.channel.say("first")
            await house.clock.advance(QUIET / 2)
            await house.channel.say("second")
            await house.clock.advance(QUIET)
            await house.settle(lambda: house.lanes.running == 0 and house.lanes.queued == 0)
        started = await house.events(TurnStarted)
    assert [len(each.inputs) for each in started] == [2, 2]
