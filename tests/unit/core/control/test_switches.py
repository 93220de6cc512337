import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.control import Switch, Switches
from ostiary.contracts.errors import BadInput
from ostiary.core.control.switches import MOST_ROWS, Switchboard, Wanted, parse_span, parse_wanted, patterns_of
from ostiary.kit.clock import ManualClock
from tests.unit.core.control.parts import TOOLS


class Board(Switchboard):
    """Whose changes come into force at once."""

    def __init__(self, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock()
        super().__init__(self.clock, known=lambda: TOOLS, plugin_tools=lambda: frozenset({"weather"}))

    def on(self, *patterns: str, seconds: float | None = 3600.0) -> None:
        self.take(self.enabled(patterns, seconds))

    def off(self, *patterns: str) -> None:
        self.take(self.disabled(patterns))

    def lit(self) -> set[str]:
        return {tool for tool in TOOLS if self.is_on(tool)}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("exec", Wanted(patterns=("exec",), seconds=3600.0)),
        ("bash 2h", Wanted(patterns=("exec",), seconds=7200.0)),
        ("exec, process for 90m", Wanted(patterns=("exec", "process"), seconds=5400.0)),
        ("group:web 1h30m", Wanted(patterns=("group:web",), seconds=5400.0)),
        ("Web_* 45s", Wanted(patterns=("web_*",), seconds=45.0)),
        ("mcp:github until sleep", Wanted(patterns=("mcp:github",), seconds=None)),
        ("skill__notes 1d", Wanted(patterns=("skill__notes",), seconds=86_400.0)),
        ("all 10min", Wanted(patterns=("*",), seconds=600.0)),
        ("exec exec", Wanted(patterns=("exec",), seconds=3600.0)),
    ],
)
def test_what_enable_asks_for_is_read(text: str, wanted: Wanted) -> None:
    assert parse_wanted(text.split()) == wanted


@pytest.mark.parametrize(
    "text",
    ["", "2h", "until sleep", "for 2h", "exec 25h", "exec 2d", "exec 0s", "exec 5", "exec 2hours", "exec;rm", "group:nonsense",
     "mcp:", "mcp:../x", "ex ec 2w", "x" * 81, "exec 9999999h"],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse_wanted(text.split())


@given(st.lists(st.text(max_size=20), max_size=4))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    try:
        wanted = parse_wanted(words)
    except BadInput:
        return
    assert wanted.patterns
    assert wanted.seconds is None or 0 < wanted.seconds <= 86_400


@given(st.integers(1, 86_400))
def test_a_span_of_seconds_is_itself(seconds: int) -> None:
    assert parse_span(f"{seconds}s") == seconds


@pytest.mark.parametrize("seconds", [0.0, -1.0, 86_401.0, math.inf, math.nan])
def test_a_switch_has_an_end_within_a_day(seconds: float) -> None:
    with pytest.raises(BadInput):
        Board().on("exec", seconds=seconds)


@pytest.mark.parametrize(
    ("pattern", "lit"),
    [
        ("exec", {"exec"}),
        ("bash", {"exec"}),
        ("group:runtime", {"exec", "process"}),
        ("web_*", {"web_fetch", "web_search"}),
        ("mcp:github", {"mcp__github__search"}),
        ("mcp:git", set()),
        ("*", set(TOOLS)),
    ],
)
def test_a_pattern_switches_on_what_it_names_and_nothing_else(pattern: str, lit: set[str]) -> None:
    board = Board()
    assert board.lit() == set()
    board.on(*patterns_of([pattern]))
    assert board.lit() == lit


def test_a_name_that_fits_no_tool_is_refused_and_the_tools_are_named() -> None:
    with pytest.raises(BadInput, match="no tool is called exce") as refused:
        Board().on("exce")
    assert "exec" in refused.value.hint


async def test_a_switch_runs_out_by_itself() -> None:
    board = Board()
    board.on("exec", seconds=60.0)
    board.on("process", seconds=None)
    await board.clock.advance(59.9)
    assert board.lit() == {"exec", "process"}
    await board.clock.advance(0.1)
    assert board.lit() == {"process"}
    assert [row.pattern for row in board.switches.rows] == ["process"]


def test_it_runs_out_while_the_machine_sleeps() -> None:
    board = Board()
    board.on("exec", seconds=60.0)
    board.clock.jump(61)
    assert board.lit() == set()


async def test_setting_the_clock_back_does_not_lengthen_it() -> None:
    board = Board()
    board.on("exec", seconds=60.0)
    board.clock.jump(-7200)
    assert board.lit() == {"exec"}
    await board.clock.advance(60)
    assert board.lit() == set()


async def test_a_stored_switch_lasts_no_longer_than_a_day_whatever_the_clock_said() -> None:
    board = Board()
    board.take(Switches(rows=(Switch(pattern="exec", until=board.clock.now() + 10**9),), generation=1))
    await board.clock.advance(86_400)
    assert board.lit() == set()


def test_one_tool_of_a_group_can_be_switched_off_and_on_again() -> None:
    board = Board()
    board.on("group:runtime")
    board.off("exec")
    assert board.lit() == {"process"}
    board.on("exec", seconds=60.0)
    assert board.lit() == {"exec", "process"}
    board.on("group:runtime")
    board.off("group:runtime")
    assert "process" not in board.lit()


async def test_when_a_shorter_switch_ends_the_wider_one_still_counts() -> None:
    board = Board()
    board.on("*", seconds=None)
    board.on("exec", seconds=60.0)
    await board.clock.advance(61)
    assert board.is_on("exec")


def test_the_last_word_about_a_pattern_counts_also_if_it_is_shorter() -> None:
    board = Board()
    board.on("exec", seconds=7200.0)
    board.on("exec", seconds=60.0)
    assert board.next_end() == 60.0


@pytest.mark.parametrize("patterns", [(), ("*",), ("web_fetch", "*")])
def test_disabling_all_leaves_no_switch(patterns: tuple[str, ...]) -> None:
    board = Board()
    board.on("group:runtime", "web_*")
    board.off("exec")
    board.off(*patterns)
    assert board.switches.rows == ()


def test_switching_off_what_is_off_leaves_no_row() -> None:
    board = Board()
    board.off("exec")
    assert board.switches.rows == ()


def test_there_are_only_so_many_switches() -> None:
    board = Board()
    board.on(*(f"mcp:s{number}" for number in range(MOST_ROWS)))
    with pytest.raises(BadInput, match="switches"):
        board.on("exec")


async def test_the_generation_changes_with_every_change_and_when_one_runs_out() -> None:
    board = Board()
    seen = [board.generation]
    board.on("exec", seconds=60.0)
    seen.append(board.generation)
    board.off("exec")
    seen.append(board.generation)
    board.on("exec", seconds=60.0)
    seen.append(board.generation)
    assert board.generation == seen[-1]
    await board.clock.advance(60)
    seen.append(board.generation)
    assert len(set(seen)) == 5


def test_a_group_that_this_version_does_not_know_switches_nothing_on() -> None:
    board = Board()
    rows = (Switch(pattern="group:gone"), Switch(pattern="exec"))
    board.take(Switches(rows=rows, generation=1))
    assert board.lit() == {"exec"}


def test_group_plugins_means_what_plugins_brought() -> None:
    board = Board()
    board.take(Switches(rows=(Switch(pattern="group:plugins"),), generation=1))
    assert board.is_on("weather")


@given(
    st.lists(
        st.tuples(st.sampled_from(["on", "off", "wait"]), st.sampled_from(["exec", "group:runtime", "*", "web_*"])), max_size=12
    )
)
async def test_a_tool_is_on_exactly_if_the_last_living_word_about_it_is_on(steps: list[tuple[str, str]]) -> None:
    board = Board()
    said: list[tuple[str, bool, float]] = []
    covers = {"exec": {"exec"}, "group:runtime": {"exec", "process"}, "*": set(TOOLS), "web_*": {"web_fetch", "web_search"}}
    for act, pattern in steps:
        if act == "wait":
            await board.clock.advance(40)
        elif act == "on":
            board.on(pattern, seconds=100.0)
            said = [each for each in said if each[0] != pattern] + [(pattern, True, board.clock.now() + 100)]
        else:
            board.off(pattern)
            said = [] if pattern == "*" else [each for each in said if each[0] != pattern] + [(pattern, False, math.inf)]
        said = [each for each in said if each[2] > board.clock.now()]
        expected = {tool for tool in TOOLS if next((on for p, on, _ in reversed(said) if tool in covers[p]), False)}
        assert board.lit() == expected
