"""The text of notes: what is refused, what becomes visible, what counts as the same."""

import pytest

from ostiary.contracts.errors import BadInput
from ostiary.core.memory.text import clean, holds, normal, title_of


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("x" * 4001, "at most 4,000"),
        ("a\x00b", "control characters"),
        ("\x1b[31mred", "control characters"),
        ("\x89PNG\r\n\x1a\n", "control characters"),
        ("half \ud83d", "half a character"),
    ],
)
def test_what_is_no_text_or_too_much_of_it_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        clean(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("tea\r\nand cake\r", "tea\nand cake"),
        ("pay \u202eeno ot\u202c", "pay <U+202E>eno ot<U+202C>"),
        ("zero\u200bwidth\ufeff", "zero<U+200B>width<U+FEFF>"),
        ("a\u200db", "a<U+200D>b"),
        ("hidden \U000e0041\U000e0042", "hidden <U+E0041><U+E0042>"),
        ("the family \U0001f468\u200d\U0001f469\u200d\U0001f467", "the family \U0001f468\u200d\U0001f469\u200d\U0001f467"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("Cafe\u0301", "Café"),
    ],
)
def test_characters_that_nobody_sees_are_shown_and_those_that_scripts_need_stay(text: str, kept: str) -> None:
    assert clean(text) == kept


def test_a_title_is_one_line_without_marks() -> None:
    assert title_of("**Trip\nto Rome** ") == "Trip to Rome"
    assert title_of("  ") == ""
    with pytest.raises(BadInput, match="title"):
        title_of("x" * 121)


def test_the_same_words_are_the_same_whatever_they_look_like() -> None:
    assert normal("- **Ana's** birthday: 3 May!") == normal("ana s BIRTHDAY 3  may")
    assert normal("ﬁne") == "fine"


def test_a_word_is_held_as_a_whole_unless_its_script_has_no_spaces() -> None:
    assert holds("my sister ana", "ana")
    assert not holds("a banana", "ana")
    assert holds("私の妹はアナです", "アナ")
    assert not holds("anything", "")
