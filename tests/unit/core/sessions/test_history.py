import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.content import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from ostiary.contracts.messages import ChatKind, UserId
from ostiary.core.sessions.history import HistoryLimits, keep_last_turns
from ostiary.core.sessions.repair import repair
from tests.unit.core.routing.inbound import quick
from tests.unit.core.sessions.conversation import call, plain, results, said, user
from tests.unit.core.sessions.test_repair import any_conversation

TALK: list[Message] = [user("1"), said("", call("a")), results("a"), said("one"), user("2"), said("two"), user("3")]


@pytest.mark.parametrize(("turns", "left"), [(None, 7), (9, 7), (3, 7), (2, 3), (1, 1), (0, 1), (-5, 1)])
def test_the_last_turns_are_kept(turns: int | None, left: int) -> None:
    assert plain(keep_last_turns(TALK, turns)) == plain(TALK[-left:])


def test_nothing_to_cut_costs_no_copy() -> None:
    assert keep_last_turns(TALK, 3) is TALK


def test_a_cut_moves_back_rather_than_part_a_call_from_its_result() -> None:
    broken = [user("1"), said("", call("a")), user("2"), results("a"), said("x")]
    assert keep_last_turns(broken, 1) is broken


def test_a_call_that_was_never_answered_does_not_hold_history_for_ever() -> None:
    assert len(keep_last_turns([user("1"), said("", call("a")), user("2"), said("x")], 1)) == 2


def test_a_persons_own_limit_beats_the_channels() -> None:
    limits = HistoryLimits(direct=10, group=5, by_person={"7": 2, "": 1})
    assert limits.limit_for(UserId(channel="t", stable_id="7"), ChatKind.DIRECT) == 2
    assert limits.limit_for(UserId(channel="t", stable_id="8"), ChatKind.DIRECT) == 10
    assert limits.limit_for(UserId(channel="t", stable_id=""), ChatKind.DIRECT) == 10
    assert limits.limit_for(UserId(channel="t", stable_id="7"), ChatKind.GROUP) == 5


@quick
@given(any_conversation, st.integers(min_value=0, max_value=4))
def test_no_result_is_ever_left_without_its_call(messages: list[Message], turns: int) -> None:
    kept = keep_last_turns(repair(messages).messages, turns)
    called = {p.id for m in kept if isinstance(m, AssistantMessage) for p in m.parts if isinstance(p, ToolCall)}
    assert {o.call_id for m in kept if isinstance(m, ToolMessage) for o in m.outcomes} <= called
    assert sum(isinstance(m, UserMessage) for m in kept) <= max(turns, 1)
