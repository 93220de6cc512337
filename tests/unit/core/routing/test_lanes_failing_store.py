"""The store refuses any one commit, or any read: nothing is lost, nothing is done twice, the turn ends once it is back."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from ostiary.contracts.errors import Busy, Conflict, OstiaryError, StoreUnavailable
from ostiary.contracts.events import ModelAnswered, ToolIntended, ToolResulted, TurnEnded, TurnStarted
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.store import Pending, Write
from ostiary.kit.models import ScriptedModel, Step, call, say
from tests.unit.core.engines import Engine, Tool, engine

CLIENT = ToolSchema(name="client", description="Runs at the caller's.", parameters={"type": "object", "properties": {}})
EMPTY = Pending(inbox=(), turns=(), outbox=())
ERRORS = (StoreUnavailable, Busy, Conflict)


async def speak(house: Engine, text: str) -> int:
    """As a channel does: the same message again until it is accepted."""
    message = house.channel.message(text)
    with anyio.fail_after(10):
        while True:
            try:
                accepted = await house.channel.say(text, message=message)
            except OstiaryError:
                continue
            assert accepted.item is not None
            return accepted.item


def script(request: object) -> Step:
    """Two calls side by side, then a third, then the answer: judged by what the conversation holds already."""
    messages = request.messages  # type: ignore[attr-defined]
    tools = sum(1 for message in messages if message.role == "tool")
    steps = [call("a").then(call("b")), call("a")]
    return steps[tools] if tools < len(steps) else say("done")


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("nth", range(1, 12))
async def test_whichever_commit_is_refused_the_turn_ends_and_no_effect_is_repeated(
    tmp_path: Path, nth: int, error: type[OstiaryError]
) -> None:
    tools = [Tool("a"), Tool("b")]
    model = ScriptedModel(script)
    async with engine(tmp_path, model, tools=tools) as house:

        async def refuse(number: int, writes: Sequence[Write]) -> None:
            if number == nth:
                raise error("not now")

        house.store.before = refuse
        item = await speak(house, "go")
        await house.until(lambda: bool(house.channel.sent) and not house.lanes.running)
        with anyio.fail_after(5):
            outcome = await house.supervisor.outcome(item)
        await house.until(lambda: house.supervisor.status()["outbox"] == 0)
        assert (outcome.status, outcome.text) == ("completed", "done")
        assert [each.text for each in house.channel.sent] == ["done"]
        assert len(await house.events(TurnStarted)) == len(await house.events(TurnEnded)) == 1
        intents = [each.call_key for each in await house.events(ToolIntended)]
        results = await house.events(ToolResulted)
        assert len(intents) == len(set(intents)) == len(results) == 3
        answers = await house.events(ModelAnswered)
        assert [each.step for each in answers] == [1, 2, 3]
        # A call whose result could not be written is told as interrupted and never run a second time.
        assert len(tools[0].calls) + len(tools[1].calls) == 3
        assert house.store.commits >= nth
        assert (house.lanes._seats, house.lanes.outcomes._open, await house.store.pending()) == ({}, {}, EMPTY)
