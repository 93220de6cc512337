import itertools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.content import AssistantMessage, Message, Text, Thinking, ToolCall, ToolMessage, ToolOutcome, UserMessage
from ostiary.core.sessions.repair import NO_BEGINNING, NO_RESULT, repair
from tests.unit.core.routing.inbound import quick
from tests.unit.core.sessions.conversation import OWNER, WEB, call, plain, results, said, user


def test_a_sound_conversation_is_left_as_it_is() -> None:
    sound = [user("hi"), said("", call("a"), call("b")), results("a", "b"), said("done"), user("more")]
    mended = repair(sound)
    assert mended.notes == ()
    assert list(mended.messages) == sound


def test_a_result_nobody_asked_for_is_left_out() -> None:
    mended = repair([user("hi"), results("ghost"), said("hello")])
    assert plain(mended.messages) == plain([user("hi"), said("hello")])
    assert "no call asked for" in mended.notes[0]


def test_a_result_before_its_call_is_nobodys() -> None:
    mended = repair([user("hi"), results("a"), said("", call("a"))])
    assert last_outcomes(mended.messages)[0].text == NO_RESULT


def test_a_call_without_a_result_gets_a_stated_one_that_claims_nothing() -> None:
    mended = repair([user("hi"), said("", call("a"), call("b")), results("b"), user("go on")])
    outcomes = next(m for m in mended.messages if isinstance(m, ToolMessage)).outcomes
    assert [(o.call_id, o.text, o.is_error) for o in outcomes] == [("a", NO_RESULT, True), ("b", "ok", False)]


def test_results_that_strayed_are_put_back_in_the_order_of_the_calls() -> None:
    mended = repair([user("hi"), said("", call("a"), call("b")), user("well?"), results("b"), results("a")])
    assert [m.role for m in mended.messages] == ["user", "assistant", "tool", "user"]
    assert [o.call_id for o in mended.messages[2].outcomes] == ["a", "b"]  # type: ignore[union-attr]


def test_a_second_result_of_a_call_is_left_out() -> None:
    mended = repair([user("hi"), said("", call("a")), results("a", text="first"), results("a", text="second")])
    assert [o.text for o in last_outcomes(mended.messages)] == ["first"]


def test_an_id_used_again_is_made_unique_together_with_its_result() -> None:
    mended = repair([user("hi"), said("", call("a")), results("a", text="1"), said("", call("a")), results("a", text="2")])
    assert [(o.call_id, o.text) for o in last_outcomes(mended.messages)] == [("a~2", "2")]


def test_an_id_used_twice_in_one_message_is_two_calls() -> None:
    mended = repair([user("hi"), said("", call("a"), call("a")), results("a")])
    assert len({o.call_id for o in last_outcomes(mended.messages)}) == 2


def test_empty_messages_and_lone_thinking_are_left_out() -> None:
    thought = AssistantMessage(parts=(Thinking(text="hm"),))
    mended = repair([user("hi"), user("  "), UserMessage(parts=()), said(""), thought, ToolMessage(outcomes=()), said("yes")])
    assert plain(mended.messages) == plain([user("hi"), said("yes")])


def test_neighbours_of_one_speaker_are_joined() -> None:
    mended = repair([user("a"), user("b"), said("c"), said("d")])
    assert [len(m.parts) for m in mended.messages if not isinstance(m, ToolMessage)] == [2, 2]


def test_thinking_is_not_carried_over_to_another_model() -> None:
    first = AssistantMessage(parts=(Thinking(text="hm", replay="sig"), Text(text="a", label=OWNER)), model="x/1")
    joined = repair([user("q"), first, said("b", model="y/2")]).messages[1]
    assert [part.kind for part in joined.parts] == ["text", "text"]  # type: ignore[union-attr]


def test_a_conversation_that_begins_with_the_assistant_says_that_its_beginning_is_missing() -> None:
    first = repair([said("hello")]).messages[0]
    assert isinstance(first, UserMessage)
    assert first.parts[0].text == NO_BEGINNING  # type: ignore[union-attr]


@pytest.mark.parametrize("arguments", ["", "{", "[]", "1", "null", "[" * 100_000])
def test_arguments_that_are_no_object_become_an_empty_one(arguments: str) -> None:
    mended = repair([user("hi"), said("", call("a", arguments=arguments)), results("a")])
    assert mended.messages[1].parts[0].arguments == "{}"  # type: ignore[union-attr]


def last_outcomes(messages: Sequence[Message]) -> tuple[ToolOutcome, ...]:
    return [message for message in messages if isinstance(message, ToolMessage)][-1].outcomes


ids = st.sampled_from(["", "a", "b", "a~2", "call", "call~2"])
texts = st.sampled_from(["", " ", "x"]).map(lambda text: Text(text=text, label=OWNER))
calls = st.builds(ToolCall, id=ids, name=st.sampled_from(["", "read"]), arguments=st.sampled_from(["{}", '{"a":1}', "{", "[]"]))
thoughts = st.builds(Thinking, text=st.just("hm"))
outcomes = st.builds(
    ToolOutcome, call_id=ids, name=st.sampled_from(["", "read"]), text=st.just("ok"), is_error=st.booleans(), label=st.just(WEB)
)
any_message = st.one_of(
    st.lists(texts, max_size=2).map(lambda parts: UserMessage(parts=tuple(parts))),
    st.builds(
        AssistantMessage,
        parts=st.lists(st.one_of(texts, calls, thoughts), max_size=4).map(tuple),
        model=st.sampled_from(["", "x/1"]),
    ),
    st.lists(outcomes, max_size=3).map(lambda found: ToolMessage(outcomes=tuple(found))),
)
any_conversation = st.lists(any_message, max_size=12)


@quick
@given(any_conversation)
def test_mending_twice_changes_nothing(messages: list[Message]) -> None:
    once = repair(messages)
    twice = repair(once.messages)
    assert plain(twice.messages) == plain(once.messages)
    assert twice.notes == ()


@quick
@given(any_conversation)
def test_every_call_has_exactly_one_result_directly_after(messages: list[Message]) -> None:
    mended = repair(messages).messages
    asked = [tuple(p.id for p in m.parts if isinstance(p, ToolCall)) for m in mended if isinstance(m, AssistantMessage)]
    answered = [tuple(o.call_id for o in m.outcomes) for m in mended if isinstance(m, ToolMessage)]
    assert [wanted for wanted in asked if wanted] == answered
    behind = [mended[i - 1].role for i, m in enumerate(mended) if isinstance(m, ToolMessage)]
    assert set(behind) <= {"assistant"}
    every = [call_id for wanted in asked for call_id in wanted]
    assert len(set(every)) == len(every)


@quick
@given(any_conversation)
def test_roles_alternate_from_a_person_on_and_nothing_is_empty(messages: list[Message]) -> None:
    mended = repair(messages).messages
    roles = [m.role for m in mended]
    assert roles[:1] in ([], ["user"])
    assert all(one != other for one, other in itertools.pairwise(roles))
    assert all(m.outcomes if isinstance(m, ToolMessage) else m.parts for m in mended)
    assert all(
        isinstance(json.loads(p.arguments), dict)
        for m in mended
        if isinstance(m, AssistantMessage)
        for p in m.parts
        if isinstance(p, ToolCall)
    )


@quick
@given(any_conversation)
def test_notes_are_written_exactly_when_something_changed(messages: list[Message]) -> None:
    mended = repair(messages)
    assert bool(mended.notes) == (plain(mended.messages) != plain(messages))
