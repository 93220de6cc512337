import anyio
import pytest

from ostiary.contracts.content import ToolCall
from ostiary.contracts.errors import ModelUnavailable
from ostiary.contracts.model import Answered, CallDelta, ModelChoice, ModelEvent, ModelRef, ModelRequest, TextDelta, ThinkingDelta
from ostiary.kit.models import ScriptedModel, always, call, cut, fail, say

REQUEST = ModelRequest(choice=ModelChoice(primary=ModelRef("acme", "one")), system=("Be brief.",), messages=())


async def ask(model: ScriptedModel) -> list[ModelEvent]:
    async with model.stream(REQUEST) as events:
        return [event async for event in events]


async def test_words_are_streamed_in_chunks_and_answered_whole() -> None:
    events = await ask(ScriptedModel([say("hel", "lo", thinking="hm")]))
    assert events[:3] == [ThinkingDelta("hm"), TextDelta("hel"), TextDelta("lo")]
    assert isinstance(events[3], Answered)
    assert (events[3].stop, events[3].model) == ("stop", "acme/one")


async def test_steps_join_into_one_answer_with_numbered_calls() -> None:
    step = say("Let me look.").then(call("read", {"path": "a"})).then(call("read", '{"broken'))
    events = await ask(ScriptedModel([step]))
    answered = events[-1]
    assert isinstance(answered, Answered)
    assert answered.stop == "tool_calls"
    assert [event.index for event in events if isinstance(event, CallDelta)] == [0, 1]
    calls = [part for part in answered.parts if isinstance(part, ToolCall)]
    assert [(part.id, part.arguments) for part in calls] == [("call_1", '{"path": "a"}'), ("call_2", '{"broken')]


async def test_a_step_may_read_the_request() -> None:
    model = ScriptedModel(lambda request: say(request.system[0]))
    assert TextDelta("Be brief.") in await ask(model)
    assert TextDelta("Be brief.") in await ask(model)
    assert model.requests == [REQUEST, REQUEST]


async def test_failures_and_cuts_come_after_what_was_streamed() -> None:
    model = ScriptedModel([fail(ModelUnavailable("down"), "half"), cut("half")])
    with pytest.raises(ModelUnavailable):
        await ask(model)
    assert await ask(model) == [TextDelta("half")]


async def test_a_hold_keeps_the_stream_open_until_it_is_set() -> None:
    hold = anyio.Event()
    with anyio.fail_after(5):
        async with ScriptedModel([say("a").held(hold)]).stream(REQUEST) as events:
            assert await anext(events) == TextDelta("a")
            hold.set()
            assert isinstance(await anext(events), Answered)


async def test_a_request_beyond_the_script_fails_the_test() -> None:
    model = ScriptedModel([])
    with pytest.raises(AssertionError):
        await ask(model)


async def test_one_step_can_serve_every_request() -> None:
    model = ScriptedModel(always(say("hi")))
    assert [len(await ask(model)) for _ in range(3)] == [2, 2, 2]
