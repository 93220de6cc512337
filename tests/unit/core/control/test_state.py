import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.control import Switch, Switches
from ostiary.contracts.errors import BadInput
from ostiary.core.control.state import Cause, Kept, begin, decode, encode, kill, sleep, switched, unreadable, wake

CAUSE = Cause(at=50.0, by="memory:owner", reason="/x")
ON = Switches(rows=(Switch(pattern="exec", until=99.0),), generation=7)
STATES = ("dormant", "awake", "shutdown")


def kept(state: str, *, clean: bool = False) -> Kept:
    return Kept(state=state, since=1.0, by="a", reason="b", is_clean=clean, switches=ON)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("move", "after"),
    [
        (wake, {"dormant": "awake", "awake": "awake", "shutdown": "awake"}),
        (sleep, {"dormant": "dormant", "awake": "dormant", "shutdown": "shutdown"}),
        (kill, {"dormant": "shutdown", "awake": "shutdown", "shutdown": "shutdown"}),
    ],
)
def test_each_move_leads_where_the_drawing_says(move: object, after: dict[str, str]) -> None:
    assert {state: move(kept(state), CAUSE).state for state in STATES} == after  # type: ignore[operator]


@pytest.mark.parametrize(("move", "state"), [(wake, "dormant"), (wake, "shutdown"), (sleep, "awake"), (kill, "awake")])
def test_a_move_switches_every_tool_off_and_says_who_and_why(move: object, state: str) -> None:
    moved = move(kept(state), CAUSE)  # type: ignore[operator]
    assert (moved.switches.rows, moved.since, moved.by, moved.reason) == ((), 50.0, "memory:owner", "/x")
    assert moved.switches.generation > ON.generation


@pytest.mark.parametrize(("move", "state"), [(wake, "awake"), (sleep, "dormant"), (sleep, "shutdown"), (kill, "shutdown")])
def test_a_move_that_leads_nowhere_changes_nothing(move: object, state: str) -> None:
    before = kept(state)
    assert move(before, CAUSE) is before  # type: ignore[operator]


def test_the_first_start_is_as_configured() -> None:
    assert begin(None, starts_awake=False, at=1.0).state == "dormant"
    assert begin(None, starts_awake=True, at=1.0).state == "awake"


@pytest.mark.parametrize("state", STATES)
def test_after_a_crash_all_is_as_it_was(state: str) -> None:
    for starts_awake in (False, True):
        again = begin(kept(state), starts_awake=starts_awake, at=9.0)
        assert (again.state, again.switches, again.is_clean) == (state, ON, False)


def test_a_clean_start_is_as_configured_with_every_tool_off() -> None:
    again = begin(kept("awake", clean=True), starts_awake=False, at=9.0)
    assert (again.state, again.switches.rows, again.is_clean) == ("dormant", (), False)


def test_no_restart_undoes_a_kill() -> None:
    assert begin(kept("shutdown", clean=True), starts_awake=True, at=9.0).state == "shutdown"
    assert begin(kept("shutdown"), starts_awake=True, at=9.0).state == "shutdown"


def test_awake_with_a_question_open_is_action_pending() -> None:
    assert [kept(state).shown(has_questions=True) for state in STATES] == ["dormant", "action_pending", "shutdown"]
    assert kept("awake").shown(has_questions=False) == "awake"


def test_a_generation_is_never_used_twice_even_if_the_last_one_was_not_written() -> None:
    later = switched(Switches(generation=5), (), at=2.0)
    assert later.generation == 2000
    assert switched(later, (), at=1.0).generation == 2001


@given(
    st.sampled_from(STATES),
    st.floats(0, 4e9),
    st.text(),
    st.booleans(),
    st.lists(st.tuples(st.text(), st.floats(0, 4e9), st.booleans()), max_size=5),
    st.integers(0, 2**53),
)
def test_what_is_written_is_read_back(
    state: str, since: float, word: str, clean: bool, rows: list[tuple[str, float, bool]], generation: int
) -> None:
    switches = Switches(rows=tuple(Switch(pattern=p, until=u, is_on=on) for p, u, on in rows), generation=generation)
    before = Kept(state=state, since=since, by=word, reason=word, is_clean=clean, switches=switches)  # type: ignore[arg-type]
    assert decode(encode(before)) == before


@given(st.binary(max_size=60))
def test_no_bytes_are_read_as_anything_but_a_state_or_a_refusal(stored: bytes) -> None:
    with pytest.raises(BadInput):
        decode(stored)


@pytest.mark.parametrize(
    "stored",
    [
        b"[]",
        b"{}",
        b'{"format": 2}',
        encode(kept("awake")).replace(b'"awake"', b'"open"'),
        encode(kept("awake")).replace(b'["exec", 99.0, true]', b'["exec"]'),
        encode(kept("awake")).replace(b"99.0", b'"x"'),
        b"[" * 100_000,
    ],
)
def test_a_broken_record_is_refused_and_counts_as_a_kill(stored: bytes) -> None:
    with pytest.raises(BadInput):
        decode(stored)
    assert unreadable(3.0).state == "shutdown"
