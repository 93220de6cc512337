import pytest

from ostiary.adapters.search.entries import entry
from ostiary.adapters.search.questions import question

TALK = "Maren: I have a dog now.\nTobias: What is he called?\nMaren: Bosse.\nTobias: Nice.\nMaren: He is old.\nTobias: I see.\n"


def test_who_says_a_line_is_no_part_of_what_it_means() -> None:
    assert entry("talk.md", TALK).texts[:2] == ("I have a dog now.", "What is he called?")


def test_a_label_of_few_lines_is_what_they_are_about() -> None:
    text = "# Contracts\nGas: cancelled.\nRent: 1,180 euros.\nRent: before that 1,090.\n"
    assert entry("a.md", text).texts[1:] == (
        "Contracts: Gas: cancelled.", "Contracts: Rent: 1,180 euros.", "Contracts: Rent: before that 1,090.",
    )  # fmt: skip


def test_the_speaker_is_found_by_name() -> None:
    named, unnamed = entry("talk.md", TALK), entry("talk.md", TALK.replace("Maren: ", "").replace("Tobias: ", ""))
    assert len(named.terms) > len(unnamed.terms)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What kind of pet did Maren take in?", True),
        ("Who came on 8 June?", True),
        ("Where is the key from 2024?", True),
        ('What does "Édith" sing?', True),
        ("Where did I put the key?", False),
        ("What is kept in the cellar?", False),
        ("tulips", False),
        ("", False),
    ],
)
def test_a_question_that_names_something_is_told_from_one_that_does_not(text: str, names: bool) -> None:
    assert question(text, ()).names == names
