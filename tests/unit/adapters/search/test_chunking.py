from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ostiary.adapters.search.chunking import LONGEST_UNIT, units


def test_each_utterance_is_a_unit() -> None:
    found = list(units("Session 1 — 3 May 2025\nAnna: Hello there.\nBen: Hi!\n"))
    assert [(unit.first, unit.last, unit.text) for unit in found] == [
        (1, 1, "Session 1 — 3 May 2025"),
        (2, 2, "Anna: Hello there."),
        (3, 3, "Ben: Hi!"),
    ]


def test_lines_of_prose_are_joined_up_to_a_blank_line() -> None:
    found = list(units("a first line\nthat goes on\n\nanother thought"))
    assert [(unit.first, unit.last) for unit in found] == [(1, 2), (4, 4)]


def test_a_unit_knows_the_headings_it_stands_under() -> None:
    found = list(units("# House\n\n## Wifi\n- code 1234\n\n## Bins\n- Tuesday\n"))
    assert [unit.heading for unit in found if unit.text.startswith("-")] == ["House > Wifi", "House > Bins"]


def test_a_long_line_is_cut_between_sentences() -> None:
    text = "This is one sentence of several. " * 40
    found = list(units(text))
    assert len(found) > 1
    assert all(unit.text.rstrip().endswith(".") and (unit.first, unit.last) == (1, 1) for unit in found)


@given(st.text(alphabet=st.sampled_from("ab #:.-\n|é字"), max_size=2000))
def test_units_are_in_order_and_together_hold_every_line(text: str) -> None:
    found = list(units(text))
    lines = text.split("\n")
    assert all(unit.text == text[unit.begin : unit.end] and len(unit.text) <= LONGEST_UNIT for unit in found)
    assert all(before.end <= after.begin for before, after in pairwise(found))
    covered = {number for unit in found for number in range(unit.first, unit.last + 1)}
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= covered


@given(st.text(alphabet=st.sampled_from("xy \n:"), max_size=1500))
def test_a_unit_lies_on_the_lines_it_names(text: str) -> None:
    for unit in units(text):
        assert text.count("\n", 0, unit.begin) + 1 == unit.first
        assert unit.first <= unit.last <= text.count("\n", 0, unit.end) + 1
