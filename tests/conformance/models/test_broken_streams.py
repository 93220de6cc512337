"""Answers that break off, make no sense, hang or never end."""

import anyio
import pytest

from ostiary.adapters.egress import Limits
from ostiary.adapters.models.wires.answer import MAX_TEXT
from ostiary.contracts.errors import ModelError, ModelUnavailable
from ostiary.contracts.model import TextDelta
from ostiary.kit.model_servers import Call, Reply, Thought, Words, say
from tests.conformance.models.conftest import Rig, rig_of

HELLO = Words(pieces=("Hello", " there", " friend"))

# The number of the event with which each wire tells the second piece, or one soon after.
LATE = {
    "openai-completions": 3,
    "openai-responses": 4,
    "anthropic-messages": 5,
    "google-generative-ai": 2,
    "ollama": 2,
}


@pytest.mark.parametrize("after", [0, 1, 60, 350])
async def test_a_connection_cut_anywhere_is_unavailable(rig: Rig, after: int) -> None:
    rig.server.script(Reply(parts=(HELLO,), cut_after=after))
    with pytest.raises(ModelUnavailable, match="cut off"):
        await rig.ask()


async def test_a_stream_that_ends_before_its_finish_is_unavailable(rig: Rig) -> None:
    rig.server.script(Reply(parts=(HELLO,), unfinished=True))
    with pytest.raises(ModelUnavailable, match="cut off"):
        await rig.ask()


@pytest.mark.parametrize("garbage", [b'{"broken', b"not json", b"[1,2]", b'"text"', b"\xff\xfe", b"{" * 5000])
async def test_an_event_that_makes_no_sense_is_unavailable(rig: Rig, garbage: bytes) -> None:
    rig.server.script(Reply(parts=(HELLO,), malformed=1, garbage=garbage))
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        await rig.ask()


async def test_the_wire_works_again_after_a_broken_answer(rig: Rig) -> None:
    rig.server.script(Reply(parts=(HELLO,), cut_after=50), say("fine"))
    with pytest.raises(ModelUnavailable):
        await rig.ask()
    assert (await rig.answer()).stop == "stop"


async def test_words_are_told_while_the_rest_is_still_being_thought_of(rig: Rig) -> None:
    go_on = anyio.Event()
    rig.server.script(Reply(parts=(HELLO,), holds={LATE[rig.api]: go_on}))
    with anyio.fail_after(5):
        async with rig.stream(rig.request()) as events:
            assert await anext(events) == TextDelta("Hello")
            assert not go_on.is_set()
            go_on.set()
            *_, answered = [event async for event in events]
    assert answered.stop == "stop"


async def test_silence_beyond_the_limit_is_unavailable(rig: Rig) -> None:
    rig.server.script(Reply(parts=(HELLO,), holds={1: anyio.Event()}))
    with anyio.fail_after(5), pytest.raises(ModelUnavailable, match="silent"):
        await rig.limited(Limits(idle_seconds=0.05)).ask()


async def test_a_server_that_never_begins_is_unavailable(rig: Rig) -> None:
    rig.server.script(Reply(parts=(HELLO,), holds={0: anyio.Event()}))
    with anyio.fail_after(5), pytest.raises(ModelUnavailable, match="silent"):
        await rig.limited(Limits(idle_seconds=0.05)).ask()


async def test_an_endless_drip_ends_at_the_limit_for_the_whole(rig: Rig) -> None:
    rig.server.script(Reply(parts=(Words(pieces=("x",)),), endless=True))
    with anyio.fail_after(10), pytest.raises(ModelUnavailable, match="longer than"):
        await rig.limited(Limits(total_seconds=0.1)).ask()


async def test_endless_words_are_cut_at_the_cap(rig: Rig) -> None:
    rig.server.script(Reply(parts=(Words(pieces=("y" * 300_000,)),), endless=True))
    with anyio.fail_after(10):
        answered = await rig.answer()
    assert (len(answered.parts[0].text), answered.stop) == (MAX_TEXT, "length")  # type: ignore[union-attr]


async def test_an_answer_of_too_many_bytes_is_an_error(rig: Rig) -> None:
    rig.server.script(Reply(parts=(Words(pieces=("z" * 50_000,) * 4),)))
    with pytest.raises(ModelError, match="too large"):
        await rig.limited(Limits(response_bytes=100_000)).ask()


async def test_a_single_event_of_megabytes_is_unavailable(rig: Rig) -> None:
    rig.server.script(Reply(parts=(Words(pieces=("w" * 2_000_000,)),)))
    with pytest.raises(ModelUnavailable, match="more than"):
        await rig.ask()


async def test_a_hundred_calls_at_once_are_taken(rig: Rig) -> None:
    rig.server.script(Reply(parts=tuple(Call(id=f"c{n}", name="read") for n in range(100)), stop="tool_calls"))
    assert len((await rig.answer()).parts) == 100


async def test_calls_without_end_are_an_error(rig: Rig) -> None:
    rig.server.script(Reply(parts=tuple(Call(id=f"c{n}", name="read") for n in range(129)), stop="tool_calls"))
    with pytest.raises(ModelError, match="tool calls"):
        await rig.ask()


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses", "anthropic-messages"])
async def test_arguments_without_end_are_an_error(api: str) -> None:
    async with rig_of(api) as rig:
        rig.server.script(Reply(parts=(Call(name="read", pieces=("[" * 300_000,) * 4),), stop="tool_calls"))
        with pytest.raises(ModelError, match="arguments"):
            await rig.ask()


async def test_leaving_in_the_middle_lets_the_server_go(rig: Rig) -> None:
    never = anyio.Event()
    rig.server.script(Reply(parts=(HELLO,), holds={LATE[rig.api]: never}), say("next"))
    async with rig.stream(rig.request()) as events:
        await anext(events)
    assert (await rig.answer()).stop == "stop"
    assert len(rig.server.connections) == 2


async def test_a_cancelled_turn_leaves_nothing_behind(rig: Rig) -> None:
    never = anyio.Event()
    rig.server.script(Reply(parts=(HELLO,), holds={1: never}), say("next"))
    with anyio.move_on_after(0.05) as scope:
        await rig.ask()
    assert scope.cancelled_caught
    assert (await rig.answer()).stop == "stop"


async def test_thinking_without_end_is_cut_too(rig: Rig) -> None:
    rig.server.script(Reply(parts=(Thought(pieces=("t" * 500_000,) * 9),)))
    answered = await rig.answer(thinking="low")
    assert (len(answered.parts[0].text), answered.stop) == (MAX_TEXT, "length")  # type: ignore[union-attr]
