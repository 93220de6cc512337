"""The fold: the same however it is taken, and always a history that a provider accepts."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.content import AssistantMessage, Image, Label, Message, Text, ToolCall, ToolMessage, Trust, UserMessage
from ostiary.contracts.events import (
    ApprovalAnswered,
    ApprovalAsked,
    Branched,
    Compacted,
    Declassified,
    Erased,
    Event,
    Imported,
    ModelAnswered,
    ModelRequested,
    PrefixPinned,
    Recorded,
    Reset,
    SettingChanged,
    Steered,
    ToolIntended,
    ToolResulted,
    Trimmed,
    TurnEnded,
    TurnInput,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import Usage
from ostiary.core.sessions.session import SYSTEM_LABEL, Session, add_usage, fold
from tests.unit.core.routing.inbound import quick

KEY = SessionKey("main", "main")
OWNER = Principal(user=UserId(channel="memory", stable_id="owner"), role="owner")
HERE = Address(channel="memory", account="default", chat="owner")
OWNERS = Label(trust=Trust.OWNER, sources=("memory:owner",))
WEB = Label(trust=Trust.UNTRUSTED, sources=("web",))
PRIVATE = Label(trust=Trust.OWNER, sources=("memory",), private=True)


def said(text: str, label: Label = OWNERS, item: int = 1) -> TurnInput:
    return TurnInput(item=item, parts=(Text(text=text, label=label),), at=0.0)


def started(text: str = "hi", **more: object) -> TurnStarted:
    return TurnStarted(inputs=(said(text),), principal=OWNER, reply_to=HERE, **more)  # type: ignore[arg-type]


def answered(*calls: str, step: int = 1, text: str = "ok", label: Label = OWNERS) -> ModelAnswered:
    parts = (Text(text=text, label=label), *(ToolCall(id=name, name="probe", arguments="{}") for name in calls))
    return ModelAnswered(step=step, parts=parts, stop="stop", usage=Usage(input=1, output=1), model="kit/m", label=label)


def resulted(name: str, label: Label = SYSTEM_LABEL, *, is_error: bool = False) -> ToolResulted:
    return ToolResulted(call_id=name, name="probe", text="r", is_error=is_error, fate="done", label=label)


def journal(*events: tuple[str, Event]) -> list[Recorded]:
    return [
        Recorded(session=str(KEY), seq=seq, turn=turn, at=float(seq), event=event) for seq, (turn, event) in enumerate(events, 1)
    ]


calls = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3, unique=True)
turns = st.sampled_from(["t1", "t2", "t3"])
any_event: st.SearchStrategy[Event] = st.one_of(
    st.builds(started, st.sampled_from(["hi", "ho"]), summary_of_dropped=st.sampled_from(["", "[dropped]"])),
    calls.map(lambda names: answered(*names)),
    st.sampled_from(["a", "b", "c", "zz"]).map(resulted),
    st.builds(
        ToolIntended, call_id=st.sampled_from(["a", "b"]), name=st.just("probe"), arguments=st.just("{}"),
        call_key=st.just("k"), repeatable=st.booleans(), layer=st.just("kit"),
    ),
    st.just(Steered(inputs=(said("steer", item=7),))),
    st.just(ModelRequested(step=1, model="m", thinking="off", prefix="", schemas="", history="", messages=1, characters=1)),
    st.just(TurnSuspended(waiting_for="client_tool", call_ids=("a",))),
    st.just(TurnResumed()),
    st.sampled_from(["completed", "aborted", "failed", "timeout"]).map(
        lambda status: TurnEnded(status=status, reason="r")  # type: ignore[arg-type]
    ),
    st.just(Reset(reason="asked")),
    turns.map(lambda turn: Trimmed(kept_from=turn, turns=1, notice="n")),
    turns.map(lambda turn: Compacted(kept_from=turn, summary="so far", label=WEB)),
    st.builds(SettingChanged, name=st.sampled_from(["model", "queue.mode"]), value=st.sampled_from(["", "x"]), by=st.just("o")),
    st.just(PrefixPinned(digest="d", schemas="s", reason="first")),
    st.just(Erased(kind="turn.started", digest="d")),
    st.just(Imported(messages=(UserMessage(parts=(Text(text="x", label=WEB),)),), source="f")),
)  # fmt: skip


def state(session: Session) -> object:
    messages = [
        (message.role, getattr(message, "parts", None) or getattr(message, "outcomes", None)) for message in session.messages
    ]
    open_turn = session.turn.id if session.turn else ""
    last_turn = session.last_turn.id if session.last_turn else ""
    measured = (session.label, session.digest, session.characters, session.usage, session.turns, session.seq, session.prefix)
    return (messages, session.marks, session.settings, measured, open_turn, last_turn)


def check_pairs(messages: Sequence[Message]) -> None:
    """Each call is answered exactly once, directly after, in order; no answer without its call."""
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            before = messages[place - 1] if place else None
            assert isinstance(before, AssistantMessage)
            asked = [part.id for part in before.parts if isinstance(part, ToolCall)]
            assert [outcome.call_id for outcome in message.outcomes] == asked
            assert asked
        if isinstance(message, AssistantMessage) and any(isinstance(part, ToolCall) for part in message.parts):
            assert place + 1 < len(messages)
            assert isinstance(messages[place + 1], ToolMessage)


@quick
@given(events=st.lists(st.tuples(turns, any_event), max_size=25))
def test_folding_event_by_event_is_folding_at_once(events: list[tuple[str, Event]]) -> None:
    recorded = journal(*events)
    one_by_one = Session(KEY)
    for each in recorded:
        one_by_one.apply(each)
    assert state(one_by_one) == state(fold(KEY, recorded))


@quick
@given(events=st.lists(st.tuples(turns, any_event), max_size=25))
def test_whatever_was_recorded_every_call_is_answered_once_and_directly(
    events: list[tuple[str, Event]],
) -> None:
    session = fold(KEY, journal(*events, ("t9", started()), ("t9", TurnEnded(status="completed"))))
    check_pairs(session.messages)


@quick
@given(events=st.lists(st.tuples(turns, any_event), max_size=25))
def test_size_and_digest_are_those_of_the_messages_alone(events: list[tuple[str, Event]]) -> None:
    session = fold(KEY, journal(*events))
    again = fold(KEY, journal(("", Imported(messages=tuple(session.messages), source="x"))))
    assert (session.digest, session.characters) == (again.digest, again.characters)


@quick
@given(events=st.lists(st.tuples(turns, any_event), max_size=25))
def test_labels_only_grow_until_the_conversation_starts_afresh(events: list[tuple[str, Event]]) -> None:
    session = Session(KEY)
    before = session.label
    for each in journal(*events):
        session.apply(each)
        assert isinstance(each.event, Reset | Imported) or session.label.join(before) == session.label
        before = session.label


def test_what_a_tool_brought_in_taints_the_conversation_and_outlives_the_text() -> None:
    events = [
        ("t1", started()), ("t1", answered("a")), ("t1", resulted("a", WEB)), ("t1", answered(step=2, label=WEB)),
        ("t1", TurnEnded(status="completed")), ("t2", started("next")), ("", Trimmed(kept_from="t2", turns=1, notice="n")),
    ]  # fmt: skip
    session = fold(KEY, journal(*events))  # type: ignore[arg-type]
    assert len(session.messages) == 1
    assert (session.label.trust, "web" in session.label.sources) == (Trust.UNTRUSTED, True)


def test_steering_and_dropped_messages_keep_their_senders_label() -> None:
    guest = Principal(user=UserId(channel="memory", stable_id="guest"))
    begun = TurnStarted(inputs=(said("hi"),), principal=guest, reply_to=HERE, summary_of_dropped="- old")
    session = fold(KEY, journal(("t1", begun), ("t1", Steered(inputs=(said("secret", PRIVATE),)))))
    dropped = session.messages[0]
    assert isinstance(dropped, UserMessage)
    assert dropped.parts[0].label == Label(trust=Trust.CONTACT, sources=("memory:guest",))
    assert (session.label.trust, session.label.private) == (Trust.CONTACT, True)


def test_a_new_conversation_is_clean_and_keeps_its_settings() -> None:
    events = [
        ("", SettingChanged(name="model", value="x", by="o")),
        ("t1", started()),
        ("t1", answered("a")),
        ("t1", resulted("a", WEB)),
    ]
    session = fold(KEY, journal(*events, ("t1", TurnEnded(status="completed")), ("", Reset(reason="asked"))))  # type: ignore[arg-type]
    assert (session.messages, session.label, session.marks, session.prefix) == ([], SYSTEM_LABEL, [], None)
    assert session.settings == {"model": "x"}


def test_a_reset_in_the_middle_of_a_turn_keeps_that_turn_and_its_taint() -> None:
    events = [
        ("t1", started("old")), ("t1", answered()), ("t1", TurnEnded(status="completed")),
        ("t2", started("new")), ("t2", answered("a")), ("", Reset(reason="asked")), ("t2", resulted("a", WEB)),
    ]  # fmt: skip
    session = fold(KEY, journal(*events))  # type: ignore[arg-type]
    assert [message.role for message in session.messages] == ["user", "assistant", "tool"]
    assert session.label.trust is Trust.UNTRUSTED
    check_pairs(session.messages)


def test_a_branch_or_an_import_begins_with_what_it_was_given() -> None:
    given_messages: tuple[Message, ...] = (UserMessage(parts=(Text(text="x", label=WEB),)),)
    for event in (Branched(parent="p", at=3, messages=given_messages), Imported(messages=given_messages, source="file")):
        session = fold(KEY, journal(("t1", started()), ("t1", TurnEnded(status="completed")), ("", event)))
        assert session.messages == list(given_messages)
        assert session.label.trust is Trust.UNTRUSTED


@pytest.mark.parametrize("status", ["failed", "aborted", "timeout"])
def test_the_model_sees_that_its_turn_was_cut(status: str) -> None:
    ended = TurnEnded(status=status, reason="because", partial="half an ans")  # type: ignore[arg-type]
    last = fold(KEY, journal(("t1", started()), ("t1", ended))).messages[-1]
    assert isinstance(last, AssistantMessage)
    assert [part.text for part in last.parts if isinstance(part, Text)] == [f"half an ans\n\n[{status}: because]"]


def test_a_turn_follows_its_calls_intents_and_results() -> None:
    session = fold(KEY, journal(("t1", started()), ("t1", answered("a", "b")), ("t1", resulted("b"))))
    assert session.turn is not None
    assert [call.id for call in session.turn.open_calls] == ["a"]
    assert session.messages[-1].role == "assistant"
    session.apply(Recorded(session=str(KEY), seq=4, turn="t1", at=4.0, event=resulted("a")))
    results = session.messages[-1]
    assert isinstance(results, ToolMessage)
    assert [outcome.call_id for outcome in results.outcomes] == ["a", "b"]


def test_a_result_nobody_asked_for_adds_nothing() -> None:
    session = fold(KEY, journal(("t1", started()), ("t1", answered()), ("t1", resulted("stray"))))
    assert [message.role for message in session.messages] == ["user", "assistant"]


def test_costs_add_up_and_unknown_stays_unknown() -> None:
    assert add_usage(Usage(input=1), Usage(output=2)) == Usage(input=1, output=2, cost=None)
    assert add_usage(Usage(cost=0.5), Usage()).cost == 0.5


@pytest.mark.parametrize("gone", range(1, 7))
def test_a_conversation_goes_on_whichever_payload_of_it_was_erased(gone: int) -> None:
    events: list[tuple[str, Event]] = [
        ("t1", started()), ("t1", answered("a")), ("t1", resulted("a")), ("t1", answered("b", step=2)), ("t1", resulted("b")),
        ("t1", answered(step=3)), ("t1", TurnEnded(status="completed")), ("t2", started("next")),
    ]  # fmt: skip
    events[gone - 1] = ("t1", Erased(kind="x", digest="d"))
    check_pairs(fold(KEY, journal(*events)).messages)


def test_two_new_beginnings_over_an_open_turn_do_not_tear_its_calls_from_their_results() -> None:
    events: list[tuple[str, Event]] = [
        ("t1", started()), ("t1", answered("a")), ("", Reset(reason="one")), ("", Reset(reason="two")), ("t1", resulted("a")),
    ]  # fmt: skip
    session = fold(KEY, journal(*events))
    assert [message.role for message in session.messages] == ["user", "assistant", "tool"]
    check_pairs(session.messages)


def test_a_call_thought_of_in_sight_of_a_page_stays_tainted_when_the_conversation_begins_anew() -> None:
    call_only = ModelAnswered(
        step=1, parts=(ToolCall(id="b", name="probe", arguments="{}"),), stop="stop", usage=Usage(), model="kit/m", label=WEB
    )
    events: list[tuple[str, Event]] = [
        ("t1", started()), ("t1", answered("a")), ("t1", resulted("a", WEB)), ("t1", TurnEnded(status="completed")),
        ("t2", started("next")), ("t2", call_only), ("", Reset(reason="asked")), ("t2", resulted("b")),
    ]  # fmt: skip
    assert fold(KEY, journal(*events)).label.trust is Trust.UNTRUSTED


def test_what_the_owner_vouched_for_stays_so_when_older_turns_are_summed_up_or_forgotten() -> None:
    events: list[tuple[str, Event]] = [
        ("t1", started()), ("t1", answered("a")), ("t1", resulted("a", WEB)), ("t1", TurnEnded(status="completed")),
        ("", Declassified(by="memory:owner")), ("t2", started("next")), ("t2", TurnEnded(status="completed")),
    ]  # fmt: skip
    summed = Compacted(kept_from="t1", summary="so far", label=OWNERS)
    for event in (summed, Trimmed(kept_from="t1", turns=0, notice="n")):
        assert fold(KEY, journal(*events, ("", event))).label.trust is Trust.OWNER


def test_a_picture_that_a_tool_brought_in_taints_like_its_words() -> None:
    picture = replace(resulted("a"), images=(Image(digest="d", media_type="image/png", label=WEB),))
    session = fold(KEY, journal(("t1", started()), ("t1", answered("a")), ("t1", picture)))
    assert session.label.trust is Trust.UNTRUSTED


def test_results_of_a_turn_that_an_import_overtook_answer_nothing() -> None:
    given_messages: tuple[Message, ...] = (UserMessage(parts=(Text(text="x", label=WEB),)),)
    events: list[tuple[str, Event]] = [
        ("t1", started()), ("t1", answered("a")), ("", Imported(messages=given_messages, source="f")), ("t1", resulted("a")),
    ]  # fmt: skip
    check_pairs(fold(KEY, journal(*events)).messages)


def test_an_answer_to_the_question_before_is_none_to_the_one_that_is_open() -> None:
    first = ApprovalAsked(approval="aaaa", call_id="a", name="probe", digest="1", layers=("confirm",), reason="r", deadline=9.0)
    events: list[tuple[str, Event]] = [
        ("t1", started()), ("t1", answered("a")), ("t1", first), ("t1", replace(first, approval="bbbb", digest="2")),
        ("t1", ApprovalAnswered(approval="aaaa", call_id="a", answer="allowed", by="memory:owner")),
    ]  # fmt: skip
    turn = fold(KEY, journal(*events)).turn
    assert turn is not None
    assert turn.answers == {}
