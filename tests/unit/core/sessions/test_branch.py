import pytest

from ostiary.contracts.content import Label, ToolMessage, Trust, UserMessage
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import Branched, Recorded, SettingChanged
from ostiary.contracts.identity import SessionKey
from ostiary.core.sessions.branch import branch_events
from ostiary.core.sessions.repair import NO_RESULT
from ostiary.core.sessions.session import fold
from tests.unit.core.sessions.conversation import call, said, user

PARENT = SessionKey("main", "main")


def test_a_branch_begins_as_its_parent_was_with_its_settings() -> None:
    begun, *settings = branch_events(
        PARENT, 7, [user("hi"), said("hello")], settings={"thinking": "high", "model": ""}, by="cli:me"
    )
    assert isinstance(begun, Branched)
    assert (begun.parent, begun.at, len(begun.messages)) == ("agent:main:main", 7, 2)
    assert settings == [SettingChanged(name="thinking", value="high", by="cli:me")]


def test_a_turn_that_was_open_is_closed_in_the_branch() -> None:
    begun, *_ = branch_events(PARENT, 2, [user("hi"), said("", call("a"))], settings={}, by="cli:me")
    assert isinstance(begun, Branched)
    last = begun.messages[-1]
    assert isinstance(last, ToolMessage)
    assert last.outcomes[0].text == NO_RESULT


def test_there_is_no_event_before_the_first() -> None:
    with pytest.raises(BadInput):
        branch_events(PARENT, 0, [], settings={}, by="cli:me")


def test_a_branch_is_no_cleaner_than_its_parent_whose_pages_are_out_of_view() -> None:
    seen = Label(trust=Trust.UNTRUSTED, sources=("tool:web_fetch",), private=True)
    begun, *_ = branch_events(PARENT, 7, [user("hi"), said("hello")], settings={}, by="cli:me", label=seen)
    session = fold(PARENT, [Recorded(session="x", seq=1, turn="", at=0.0, event=begun)])
    assert (session.label.trust, session.label.private) == (Trust.UNTRUSTED, True)
    first = session.messages[0]
    assert isinstance(first, UserMessage)
    assert first.parts[0].label.trust is not Trust.UNTRUSTED
