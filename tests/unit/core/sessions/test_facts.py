"""What a summary must not lose is found by plain rules, in bounded time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.core.sessions.facts import around, clauses, missing
from tests.unit.core.routing.inbound import quick


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("My dentist is Mirela Vasquez.", "mirela vasquez"),
        ("We met Dr. Okonkwo there", "okonkwo"),
        ("ask Jan van Dijk about it", "jan van dijk"),
        ("the door code is 4711!", "4711"),
        ("it costs €12,500 in all", "€12,500"),
        ("about 30% of it", "30%"),
        ("call +49-171-4455667 now", "+49-171-4455667"),
        ("on 3 March 2027 we leave", "3 march 2027"),
        ("due 2027-03-04", "2027-03-04"),
        ("am 04.03.2027 um neun", "04.03.2027"),
        ("at 14:30 sharp", "14:30"),
        ("save it in reports/q3/plan.md please", "reports/q3/plan.md"),
        ("see /etc/ostiary/config for it", "/etc/ostiary/config"),
        ("open notes.txt", "notes.txt"),
        ("see https://example.org/a?b=c.", "https://example.org/a?b=c"),
        ("write to eva@example.org.", "eva@example.org"),
        ("flight LH-2030 it is", "lh-2030"),
        ("wir treffen uns in Zürich", "zürich"),
    ],
)
def test_names_numbers_dates_paths_and_addresses_are_facts(text: str, fact: str) -> None:
    assert fact in [found for clause in clauses(text) for found in clause.facts]


@pytest.mark.parametrize("text", ["Yes. That is fine, thanks.", "and so on and so on", "", "\n\n", "I am well", "a 5 b"])
def test_ordinary_words_are_none(text: str) -> None:
    assert list(clauses(text)) == []


def test_only_what_is_not_told_is_quoted_and_each_thing_once() -> None:
    said = [
        "The code is 4711. Anna lives in Utrecht.",
        "As I said, the code is 4711",
        "and all the rest that we spoke of is in Utrecht too",
    ]
    assert missing(said, "Anna's code: 4711", characters=500) == ["Anna lives in Utrecht."]


def test_the_budget_holds_and_shorter_quotations_still_find_room() -> None:
    said = [f"the number of house {number} is {number * 7919}" for number in range(1000, 1100)]
    quoted = missing(said, "", characters=200)
    assert 0 < sum(len(line) + 3 for line in quoted) <= 200
    assert missing(said, "", characters=0) == []


def test_a_name_that_is_said_all_the_time_is_no_news_but_a_number_is() -> None:
    said = [f"then Robin said it {'again ' * number}" for number in range(20)] + ["and the pin is 9921"] * 20
    assert missing(said, "", characters=1000) == ["and the pin is 9921"]


@quick
@given(text=st.text(max_size=2000), width=st.integers(20, 200))
def test_every_quotation_holds_a_fact_and_fits(text: str, width: int) -> None:
    for clause in clauses(text):
        assert len(around(clause.text, clause.facts, width)) <= max(width + 4, 0) or len(clause.text) <= width
    assert sum(len(line) + 3 for line in missing([text], "", characters=300, width=width)) <= 300


@pytest.mark.parametrize(
    "text", ["A" * 90_000, "a.b" * 30_000, "/a" * 40_000, "1," * 40_000, "a-" * 40_000, "Aa " * 30_000, "-" * 90_000]
)
def test_no_text_makes_it_slow(text: str) -> None:
    assert len(list(clauses(text))) <= len(text) // 100
