import pytest

from ostiary.contracts.content import ToolMessage
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import Branched, SettingChanged
from ostiary.contracts.identity import SessionKey
from ostiary.core.sessions.branch import branch_events
from ostiary.core.sessions.repair import NO_RESULT
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
