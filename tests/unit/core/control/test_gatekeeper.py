import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import Attachment, UserId
from ostiary.core.control.gatekeeper import ADMIT, WAKE, Admission, Drop, Gatekeeper
from tests.unit.core.control.parts import ME, STRANGER, in_group, message

FILE = (Attachment(name="a.txt", media_type="text/plain", digest="0" * 64, size=1),)
SILENCE = Drop(reason="dormant")


def heard(
    state: str, text: str, principal: Principal = ME, *, attended: bool = False, strict: bool = False, command: bool | None = None
) -> Admission:
    gate = Gatekeeper(state=lambda: state, is_strict=lambda: strict)  # type: ignore[arg-type,return-value]
    is_command = text.startswith("/") if command is None else command
    return gate.admits(message(text, principal), principal, is_attended=attended, is_command=is_command)


@pytest.mark.parametrize("state", ["awake", "action_pending"])
def test_an_awake_house_leaves_everybody_to_the_other_rules(state: str) -> None:
    assert heard(state, "hi", STRANGER) == heard(state, "hi") == ADMIT


@pytest.mark.parametrize("text", ["/wake", "/wake up please", "/WAKE", "/status", "/help", "/kill", "/sleep"])
def test_asleep_it_hears_these_words_of_its_owner_anywhere(text: str) -> None:
    assert heard("dormant", text) == heard("dormant", text, attended=True, strict=True) == ADMIT


@pytest.mark.parametrize("text", ["hi", "/new", "/model opus", "/enable exec", "/confirm 1", "/status and what is new?", "wake"])
def test_asleep_it_hears_nothing_else_on_a_channel(text: str) -> None:
    assert heard("dormant", text) == SILENCE


@pytest.mark.parametrize("text", ["hi", "/wake", "/status", "/help", "/kill", "/sleep", "/wake@us"])
@pytest.mark.parametrize("state", ["dormant", "shutdown"])
def test_nobody_else_is_heard_or_told_anything(text: str, state: str) -> None:
    for attended in (False, True):
        dropped = heard(state, text, STRANGER, attended=attended)
        assert (type(dropped), getattr(dropped, "say", None)) == (Drop, "")


@pytest.mark.parametrize("text", ["hi", "/new", "/status and what is new?"])
def test_the_owner_at_the_page_wakes_it_by_speaking(text: str) -> None:
    assert heard("dormant", text, attended=True) == WAKE


def test_strict_it_is_woken_by_the_word_alone_and_says_so() -> None:
    assert heard("dormant", "hi", attended=True, strict=True) == Drop(reason="dormant", say="I am asleep. /wake wakes me.")


def test_shut_down_it_hears_wake_at_an_attended_place_and_nothing_else() -> None:
    assert heard("shutdown", "/wake", attended=True) == ADMIT
    assert heard("shutdown", "/wake") == heard("shutdown", "/kill") == Drop(reason="shutdown")
    told = heard("shutdown", "hi", attended=True)
    assert isinstance(told, Drop)
    assert "/wake" in told.say
    assert isinstance(heard("shutdown", "/status", attended=True), Drop)


def test_a_word_that_the_desk_does_not_know_is_no_command() -> None:
    assert heard("dormant", "/wake", command=False) == SILENCE


def test_a_file_behind_a_shortcut_would_reach_the_model_so_it_is_not_heard() -> None:
    gate = Gatekeeper(state=lambda: "dormant")
    assert gate.admits(message("/status", attachments=FILE), ME, is_attended=False, is_command=True) == SILENCE
    assert gate.admits(message("/wake", attachments=FILE), ME, is_attended=False, is_command=True) == ADMIT


@pytest.mark.parametrize(
    ("text", "names", "mentions", "expected"),
    [
        ("/wake@other", frozenset(), False, SILENCE),
        ("/wake@me", frozenset(), True, ADMIT),
        ("/wake@Me", frozenset({"@me"}), False, ADMIT),
        ("/wake@other", frozenset({"me"}), True, SILENCE),
    ],
)
def test_a_command_to_another_bot_wakes_nobody(text: str, names: frozenset[str], mentions: bool, expected: Admission) -> None:
    gate = Gatekeeper(state=lambda: "dormant", bot_names=lambda: names)
    assert gate.admits(in_group(text, mentions_us=mentions), ME, is_attended=False, is_command=True) == expected


@given(
    st.sampled_from(["dormant", "shutdown"]),
    st.one_of(st.text(), st.sampled_from(["/wake", "/kill", "/status", "/help", "/wake now"])),
    st.text(min_size=1),
    st.sampled_from(["external", "employee", "manager", "Owner", ""]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_no_message_of_anybody_but_the_owner_is_ever_admitted_to_a_house_that_is_not_awake(
    state: str, text: str, id: str, role: str, attended: bool, command: bool, strict: bool
) -> None:
    somebody = Principal(user=UserId(channel="memory", stable_id=id), role=role)
    assert heard(state, text, somebody, attended=attended, strict=strict, command=command) == Drop(reason=state)  # type: ignore[arg-type]
