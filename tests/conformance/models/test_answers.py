"""What every wire makes of a good answer, and what it sends to get one."""

import pytest

from ostiary.contracts.content import AssistantMessage, Text, Thinking, ToolCall, ToolMessage, ToolOutcome
from ostiary.contracts.model import CallDelta, TextDelta, ThinkingDelta, ToolSchema, Usage
from ostiary.kit.model_servers import Call, Counted, Reply, Thought, Words, say
from tests.conformance.models.conftest import OWNER, REF, Rig, user

READ = ToolSchema(
    name="read",
    description="Read a file.",
    parameters={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"path": {"$ref": "#/$defs/path"}, "lines": {"type": "array", "items": {"type": "integer"}}},
        "required": ["path"],
        "additionalProperties": False,
        "$defs": {"path": {"type": "string", "format": "uri", "description": "Where."}},
    },
)
NOTHING = ToolSchema(name="now", description="The time.", parameters={"type": "object", "properties": {}})
TWO_CALLS = Reply(
    parts=(
        Words(pieces=("Let me ", "look.")),
        Call(id="call_a", name="read", pieces=('{"pa', 'th":"a', '.txt"}'), proof="call-proof"),
        Call(id="call_b", name="read", pieces=('{"path":', '"b.txt"}')),
    ),
    stop="tool_calls",
)


async def test_words_arrive_piece_by_piece_and_whole_at_the_end(rig: Rig) -> None:
    rig.server.script(say("Hel", "lo, ", "wörld"))
    *deltas, answered = await rig.ask()
    assert deltas == [TextDelta("Hel"), TextDelta("lo, "), TextDelta("wörld")]
    assert [part.text for part in answered.parts] == ["Hello, wörld"]
    assert (answered.stop, answered.model) == ("stop", "kit/kit-1")


async def test_parallel_calls_with_split_arguments_are_put_together(rig: Rig) -> None:
    rig.server.script(TWO_CALLS)
    *deltas, answered = await rig.ask(tools=(READ, NOTHING))
    calls = [part for part in answered.parts if isinstance(part, ToolCall)]
    assert [(call.name, call.arguments) for call in calls] == [("read", '{"path":"a.txt"}'), ("read", '{"path":"b.txt"}')]
    assert len({call.id for call in calls}) == 2
    assert answered.stop == "tool_calls"
    assert {delta.index for delta in deltas if isinstance(delta, CallDelta)} == {0, 1}


async def test_results_of_calls_are_accepted_by_the_provider(rig: Rig) -> None:
    rig.server.script(TWO_CALLS, say("Done."))
    answered = await rig.answer(tools=(READ,))
    history = [user("hi"), AssistantMessage(parts=answered.parts, model=answered.model), _outcomes(answered.parts), user("and?")]
    assert (await rig.answer(history, tools=(READ,))).stop == "stop"
    assert rig.server.refused == []


async def test_calls_made_by_another_provider_are_accepted(rig: Rig) -> None:
    call = ToolCall(id="toolu:with|strange/characters-and-a-very-long-identifier-indeed", name="read", arguments='{"path":"a"}')
    history = [user("hi"), AssistantMessage(parts=(call,), model="other/x"), _outcomes((call,))]
    rig.server.script(say("ok"))
    await rig.answer(history, tools=(READ,))
    assert rig.server.refused == []


async def test_arguments_that_are_no_json_do_not_break_the_history(rig: Rig) -> None:
    call = ToolCall(id="call_x", name="read", arguments='{"path": unquoted')
    history = [user("hi"), AssistantMessage(parts=(call,), model="kit/kit-1"), _outcomes((call,))]
    rig.server.script(say("ok"))
    await rig.answer(history)
    assert rig.server.refused == []


async def test_thinking_is_shown_and_given_back_unchanged_to_its_provider(rig: Rig) -> None:
    thought = Thought(pieces=("Hmm, ", "yes."), proof="proof-77")
    rig.server.script(Reply(parts=(thought, Call(id="c1", name="read", proof="proof-78")), stop="tool_calls"), say("ok"))
    *deltas, answered = await rig.ask(tools=(READ,), thinking="high")
    assert [delta.text for delta in deltas if isinstance(delta, ThinkingDelta)] == ["Hmm, ", "yes."]
    history = [user("hi"), AssistantMessage(parts=answered.parts, model=answered.model), _outcomes(answered.parts)]
    await rig.answer(history, tools=(READ,), thinking="high")
    assert rig.server.refused == []
    assert "Hmm, yes." in str(rig.last)


async def test_thinking_of_another_provider_is_not_sent(rig: Rig) -> None:
    rig.server.script(Reply(parts=(Thought(pieces=("secret plan",), proof="proof-9"), Words(pieces=("Hi",)))), say("ok"))
    answered = await rig.answer(thinking="low")
    await rig.answer([user("hi"), AssistantMessage(parts=answered.parts, model="elsewhere/kit-1"), user("more")])
    assert "secret plan" not in str(rig.last)
    assert "proof-9" not in str(rig.last)


async def test_thinking_without_proof_is_never_sent(rig: Rig) -> None:
    rig.server.script(say("ok"))
    thought = (Thinking(text="invented"), Text(text="Hi", label=OWNER))
    await rig.answer([user("hi"), AssistantMessage(parts=thought, model="kit/kit-1"), user("more")])
    assert "invented" not in str(rig.last)


USAGE = {
    "openai-completions": Usage(input=7, output=9, cache_read=100, cache_write=20),
    "openai-responses": Usage(input=7, output=9, cache_read=100, cache_write=20),
    "anthropic-messages": Usage(input=7, output=9, cache_read=100, cache_write=20),
    "google-generative-ai": Usage(input=7, output=9, cache_read=100),
    "ollama": Usage(input=7, output=9),
}


async def test_input_tokens_leave_out_what_the_cache_served(rig: Rig) -> None:
    rig.server.script(say("ok", counted=Counted(input=7, output=9, cache_read=100, cache_write=20)))
    assert (await rig.answer()).usage == USAGE[rig.api]


@pytest.mark.parametrize("stop", ["stop", "length"])
async def test_the_reason_to_stop_is_told(rig: Rig, stop: str) -> None:
    rig.server.script(Reply(parts=(Words(pieces=("ok",)),), stop=stop))  # type: ignore[arg-type]
    assert (await rig.answer()).stop == stop


REFUSED = dict.fromkeys(USAGE, "refusal") | {"ollama": "stop"}


async def test_a_refusal_is_told_where_the_wire_can_say_it(rig: Rig) -> None:
    rig.server.script(Reply(parts=(Words(pieces=("no",)),), stop="refusal"))
    assert (await rig.answer()).stop == REFUSED[rig.api]


async def test_an_answer_of_nothing_has_no_parts(rig: Rig) -> None:
    rig.server.script(Reply())
    assert (await rig.answer()).parts == ()


async def test_many_messages_of_the_same_role_are_accepted(rig: Rig) -> None:
    rig.server.script(say("ok"))
    said = AssistantMessage(parts=(Text(text="a", label=OWNER),), model=str(REF))
    silent = AssistantMessage(parts=(), model=str(REF))
    await rig.answer([user("one"), user("two"), said, said, user("three"), silent, user("four")])
    assert rig.server.refused == []
    assert all(word in str(rig.last) for word in ("one", "two", "three", "four"))


@pytest.mark.parametrize("text", ["", " ", "\x00\x1b[31m\u202e", "half a pair \ud800 here", "x" * 1_500_000])
async def test_odd_texts_are_accepted(rig: Rig, text: str) -> None:
    rig.server.script(say("ok"))
    await rig.answer([user(text)])
    assert rig.server.refused == []


async def test_a_history_that_was_sent_before_is_sent_the_same_again(rig: Rig) -> None:
    rig.server.script(say("ok"), say("ok"))
    history = [user("one"), AssistantMessage(parts=(Text(text="two", label=OWNER),), model=str(REF)), user("three")]
    await rig.answer(history, tools=(READ,))
    await rig.answer(history, tools=(READ,))
    assert rig.server.requests[0].body == rig.server.requests[1].body


async def test_a_finished_answer_leaves_its_connection_for_the_next(rig: Rig) -> None:
    rig.server.script(*[say("ok")] * 3)
    for _ in range(3):
        await rig.answer()
    assert len(rig.server.connections) == 1


SETTINGS = {
    "openai-completions": {"max_completion_tokens": 99, "temperature": 0.5},
    "openai-responses": {"max_output_tokens": 99, "temperature": 0.5},
    "anthropic-messages": {"max_tokens": 99, "temperature": 0.5},
    "google-generative-ai": {"generationConfig": {"maxOutputTokens": 99, "temperature": 0.5}},
    "ollama": {"options": {"num_predict": 99, "temperature": 0.5}},
}


async def test_limits_and_temperature_are_passed_on(rig: Rig) -> None:
    plain = rig.knowing(reasons=False)
    rig.server.script(say("ok"))
    await plain.answer(max_tokens=99, temperature=0.5)
    assert SETTINGS[rig.api].items() <= rig.last.items()


async def test_both_parts_of_the_system_prompt_are_sent_in_order(rig: Rig) -> None:
    rig.server.script(say("ok"))
    await rig.answer(system=("stable prefix", "this turn"))
    sent = str(rig.last)
    assert 0 < sent.index("stable prefix") < sent.index("this turn")


async def test_the_endpoint_lists_its_models(rig: Rig) -> None:
    assert [model.id for model in await rig.wire.list_models("sk-kit-0123456789abcdef")] == ["kit-1"]


def _outcomes(parts: tuple[object, ...]) -> ToolMessage:
    calls = [part for part in parts if isinstance(part, ToolCall)]
    return ToolMessage(
        outcomes=tuple(
            ToolOutcome(call_id=call.id, name=call.name, text=f"content {place}", is_error=place == 1, label=OWNER)
            for place, call in enumerate(calls)
        )
    )
