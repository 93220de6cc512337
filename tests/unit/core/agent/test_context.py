"""What is sent: whole turns, the tools offered, images only to models that see."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.routing.inbound import quick

from ostiary.contracts.content import AssistantMessage, Image, Label, Message, Text, ToolMessage, ToolOutcome, Trust, UserMessage
from ostiary.contracts.events import Recorded, Reset
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ModelFacts, ModelRef, ToolSchema
from ostiary.contracts.store import Store
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.agent.context import blobs_of, kept_from, offered_tools, plain_until, too_long, viewable
from ostiary.core.sessions.session import Session

LABEL = Label(trust=Trust.OWNER)
WEB = Label(trust=Trust.UNTRUSTED, sources=("tool:web_fetch",))
NOBODYS = Session(SessionKey("main", "main"))
FACTS = ModelFacts(ref=ModelRef("kit", "m"), context_window=1000, max_tokens=100)


def schema(name: str) -> ToolSchema:
    return ToolSchema(name=name, description="", parameters={})


def picture(digest: str) -> Image:
    return Image(digest=digest, media_type="image/png", label=LABEL)


class Blobs:
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def blob(self, digest: str) -> bytes | None:
        self.asked.append(digest)
        return None if digest == "gone" else digest.encode()


def test_a_callers_tool_hides_ours_of_the_same_name_and_has_no_effects_here() -> None:
    ours = ToolSpec(schema=schema("read"), effects=frozenset({Effect.READ}))
    offered = offered_tools([ours], [schema("read"), schema("own")])
    assert [(name, spec.is_client) for name, spec in offered.items()] == [("read", True), ("own", True)]


@quick
@given(turns=st.integers(1, 40), current=st.integers(0, 39))
def test_forgetting_drops_at_least_a_turn_and_never_the_current_one(turns: int, current: int) -> None:
    session = Session(SessionKey("main", "main"))
    session.marks = [(f"t{number}", number) for number in range(turns)]
    name = f"t{min(current, turns - 1)}"
    keep = kept_from(session, name)
    place = [mark for mark, _ in session.marks].index(name)
    assert (keep is None) == (place == 0)
    assert keep is None or 1 <= [mark for mark, _ in session.marks].index(keep) <= place


def test_a_turn_nobody_knows_forgets_nothing() -> None:
    assert kept_from(Session(SessionKey("main", "main")), "t1") is None


def test_room_is_left_for_the_answer() -> None:
    session = Session(SessionKey("main", "main"))
    session.characters = int(890 * 3.6)
    assert too_long(session, FACTS, 0, 0) == ""
    assert "too long" in too_long(session, FACTS, 100, 0)


def test_a_history_limit_counts_messages() -> None:
    session = Session(SessionKey("main", "main"))
    session.messages = [UserMessage(parts=())] * 5
    assert too_long(session, FACTS, 0, 5) == ""
    assert too_long(session, FACTS, 0, 4) == "history limit"
    assert too_long(session, FACTS, 0, 0) == ""


async def test_every_picture_is_fetched_once_and_none_for_a_model_that_is_blind() -> None:
    outcome = ToolOutcome(call_id="c", name="n", text="", is_error=False, label=LABEL, images=(picture("b"),))
    messages: list[Message] = [UserMessage(parts=(picture("a"), picture("a"), picture("gone"))), ToolMessage(outcomes=(outcome,))]
    blobs = Blobs()
    assert await blobs_of(NOBODYS, messages, cast(Store, blobs), sees_images=True) == {"a": b"a", "gone": b"", "b": b"b"}
    assert blobs.asked == ["a", "gone", "b"]
    assert await blobs_of(NOBODYS, messages, cast(Store, blobs), sees_images=False) == {}


def test_a_blind_model_is_told_of_the_picture_and_its_label_stays() -> None:
    (message,) = viewable([UserMessage(parts=(picture("a"), Text(text="what is it?", label=LABEL)))])
    assert isinstance(message, UserMessage)
    named, asked = message.parts
    assert isinstance(named, Text)
    assert ("cannot see" in named.text, named.label, asked.label) == (True, LABEL, LABEL)


def test_a_blind_model_gets_no_pictures_from_tools_either() -> None:
    outcome = ToolOutcome(call_id="c", name="n", text="x", is_error=False, label=LABEL, images=(picture("b"),))
    (message,) = viewable([ToolMessage(outcomes=(outcome,))])
    assert isinstance(message, ToolMessage)
    assert (message.outcomes[0].images, "cannot see" in message.outcomes[0].text) == ((), True)


def test_of_a_history_that_grows_only_what_is_sent_otherwise_is_looked_at_again() -> None:
    session = Session(SessionKey("main", "main"))
    session.messages += [UserMessage(parts=(Text(text="hi", label=LABEL),)), AssistantMessage(parts=(), model="kit/m")]
    first = plain_until(session, session.messages)
    session.messages += [UserMessage(parts=(Text(text="page", label=WEB),)), UserMessage(parts=(Text(text="so?", label=LABEL),))]
    assert (first, plain_until(session, session.messages), session.plain) == (2, 2, 2)
    assert plain_until(session, list(session.messages)) == 0


@pytest.mark.parametrize(
    "message",
    [
        UserMessage(parts=(Text(text="page", label=WEB),)),
        UserMessage(parts=(Text(text="look", label=LABEL), picture("a"))),
        ToolMessage(outcomes=(ToolOutcome(call_id="c", name="t", text="page", is_error=False, label=WEB),)),
        ToolMessage(outcomes=(ToolOutcome(call_id="c", name="t", text="", is_error=False, label=LABEL, images=(picture("a"),)),)),
    ],
)
def test_what_came_from_outside_and_pictures_are_not_plain(message: Message) -> None:
    session = Session(SessionKey("main", "main"))
    session.messages.append(message)
    assert plain_until(session, session.messages) == 0


def test_a_conversation_that_begins_anew_is_looked_at_anew() -> None:
    session = Session(SessionKey("main", "main"))
    session.messages.append(AssistantMessage(parts=(), model="kit/m"))
    assert plain_until(session, session.messages) == 1
    session.apply(Recorded(session=session.name, seq=1, turn="", at=1.0, event=Reset(reason="/new")))
    assert session.plain == 0
