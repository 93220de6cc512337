"""The long tail, spoken through pydantic-ai to the strict server of the wire it uses underneath."""

from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import pytest

from ostiary.adapters.egress import Egress, Limits
from ostiary.adapters.models.wires import make_wire
from ostiary.contracts.content import AssistantMessage, Text, ToolCall, ToolMessage, ToolOutcome, UserMessage
from ostiary.contracts.errors import (
    ContextOverflow,
    ModelBilling,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelUnauthorized,
    ModelUnavailable,
)
from ostiary.contracts.model import CallDelta, ModelFacts, TextDelta, ThinkingDelta, Usage
from ostiary.kit.model_servers import KEY, Call, Counted, Failure, OpenAIChatSpeech, Reply, Thought, Words, say, serve
from tests.conformance.models.conftest import OWNER, REF, Rig, user
from tests.conformance.models.test_answers import READ, TWO_CALLS
from tests.conformance.models.test_failures import everything_said
from tests.conformance.models.test_images import ENCODED, PICTURE, PNG

API = "pydantic-ai:openai-chat"


@pytest.fixture
async def tail() -> AsyncIterator[Rig]:
    facts = ModelFacts(ref=REF, sees_images=True)
    async with serve(OpenAIChatSpeech()) as server, Egress() as egress:
        wire = make_wire(API, server.url, {}, egress, lambda ref: replace(facts, ref=ref))
        yield Rig(api=API, server=server, egress=egress, wire=wire, facts=facts)


async def test_words_and_counts_come_through(tail: Rig) -> None:
    tail.server.script(say("Hel", "lo", counted=Counted(input=7, output=9, cache_read=100)))
    *deltas, answered = await tail.ask()
    assert deltas == [TextDelta("Hel"), TextDelta("lo")]
    assert answered.usage == Usage(input=7, output=9, cache_read=100)
    assert (answered.stop, answered.model) == ("stop", "kit/kit-1")


async def test_parallel_calls_and_their_results_come_through(tail: Rig) -> None:
    tail.server.script(TWO_CALLS, say("done"))
    *deltas, answered = await tail.ask(tools=(READ,))
    calls = [part for part in answered.parts if isinstance(part, ToolCall)]
    assert [(call.id, call.arguments) for call in calls] == [("call_a", '{"path":"a.txt"}'), ("call_b", '{"path":"b.txt"}')]
    assert answered.stop == "tool_calls"
    assert {delta.index for delta in deltas if isinstance(delta, CallDelta)} == {0, 1}
    outcomes = tuple(ToolOutcome(call_id=call.id, name="read", text="x", is_error=False, label=OWNER) for call in calls)
    history = [
        user("hi"),
        AssistantMessage(parts=answered.parts, model=answered.model),
        ToolMessage(outcomes=outcomes),
        user("?"),
    ]
    assert (await tail.answer(history, tools=(READ,))).stop == "stop"
    assert tail.server.refused == []


async def test_thinking_is_shown_and_given_back_to_its_provider(tail: Rig) -> None:
    tail.server.script(Reply(parts=(Thought(pieces=("Hmm, ", "yes.")), Words(pieces=("Hi",)))), say("ok"))
    *deltas, answered = await tail.ask()
    assert [delta.text for delta in deltas if isinstance(delta, ThinkingDelta)] == ["Hmm, ", "yes."]
    await tail.answer([user("hi"), AssistantMessage(parts=answered.parts, model=answered.model), user("more")])
    assert tail.server.refused == []


async def test_images_come_through(tail: Rig) -> None:
    tail.server.script(say("A dot."))
    await tail.answer([UserMessage(parts=(Text(text="?", label=OWNER), PICTURE))], blobs={"d1": PNG})
    assert ENCODED in str(tail.last)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("auth", ModelUnauthorized),
        ("billing", ModelBilling),
        ("context", ContextOverflow),
        ("server", ModelUnavailable),
        ("unknown_model", ModelMisconfigured),
    ],
)
async def test_refusals_become_our_errors_without_the_key(tail: Rig, kind: str, error: type[ModelError]) -> None:
    tail.server.script(Failure(kind=kind))  # type: ignore[arg-type]
    with pytest.raises(error):
        await tail.ask()
    tail.server.script(Failure(kind=kind, words=f"key {KEY}"))  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        await tail.ask()
    assert KEY not in everything_said(caught.value)


async def test_a_refusal_is_not_tried_again_by_the_library(tail: Rig) -> None:
    tail.server.script(Failure(kind="rate", headers={"Retry-After": "7"}), say("second"))
    with pytest.raises(ModelRateLimited) as caught:
        await tail.ask()
    assert caught.value.retry_after == 7
    assert len(tail.server.requests) == 1


@pytest.mark.parametrize("broken", [Reply(cut_after=100), Reply(unfinished=True), Reply(malformed=0)])
async def test_broken_streams_are_unavailable(tail: Rig, broken: Reply) -> None:
    tail.server.script(replace(broken, parts=(Words(pieces=("Hello", " there")),)))
    with pytest.raises(ModelUnavailable):
        await tail.ask()


async def test_silence_is_bounded(tail: Rig) -> None:
    tail.server.script(Reply(parts=(Words(pieces=("a",)),), holds={1: anyio.Event()}))
    wire = make_wire(API, tail.server.url, {}, tail.egress, lambda ref: tail.facts, limits=Limits(idle_seconds=0.05))
    with anyio.fail_after(5), pytest.raises(ModelUnavailable):
        await replace(tail, wire=wire).ask()


async def test_too_many_calls_are_an_error(tail: Rig) -> None:
    tail.server.script(Reply(parts=tuple(Call(id=f"c{n}", name="read") for n in range(129)), stop="tool_calls"))
    with pytest.raises(ModelError, match="tool calls"):
        await tail.ask()


async def test_a_redirect_is_not_followed(tail: Rig) -> None:
    tail.server.script(Failure(kind="rejected", status=307, headers={"Location": f"{tail.server.url}/elsewhere"}), say("stolen"))
    with pytest.raises(ModelMisconfigured, match="redirect"):
        await tail.ask()
    assert len(tail.server.requests) == 1


async def test_no_key_is_refused_before_the_library_looks_for_one_elsewhere(tail: Rig) -> None:
    with pytest.raises(ModelMisconfigured, match="needs a key"):
        await tail.ask(secret="")


@pytest.mark.parametrize("provider", ["nonsense", "bedrock"])
async def test_a_provider_that_cannot_be_carried_is_refused(tail: Rig, provider: str) -> None:
    with pytest.raises(ModelMisconfigured):
        make_wire(f"pydantic-ai:{provider}", "", {}, tail.egress, lambda ref: tail.facts)
