"""Cutting Markdown as it is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.core.routing.chunks import open_fence, split_text

_PIECES = (
    "word ", "sentence. ", "\n", "\n\n", "```7\n", "```\n", "~~~\n", "    indented\n",
    "👨\u200d👩\u200d👧", "日本語", "- item\n", "x" * 30,
)  # fmt: skip
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)


def test_a_short_text_is_one_piece() -> None:
    assert split_text("  hello\n", 100) == ["hello"]


def test_nothing_makes_no_piece() -> None:
    assert split_text(" \n ", 100) == []


def test_it_is_cut_at_a_paragraph_then_a_line_then_a_word() -> None:
    assert split_text("aaaa bbbb\n\ncccc dddd eeee", 20) == ["aaaa bbbb", "cccc dddd eeee"]
    assert split_text("aaaa bbbb cccc dddd", 16) == ["aaaa bbbb cccc", "dddd"]


def test_a_long_fence_is_closed_and_opened_again_with_its_language() -> None:
    text = "```python\n" + "\n".join(f"a{n} = {n}" for n in range(20)) + "\n```"
    pieces = split_text(text, 60)
    assert len(pieces) > 2
    assert all(piece.startswith("```python\n") and piece.endswith("\n```") and len(piece) <= 60 for piece in pieces)
    assert "\n".join(piece.removeprefix("```python\n").removesuffix("\n```") for piece in pieces) in text


def test_a_fence_that_fits_stays_whole() -> None:
    fence = "```\n" + "code line\n" * 4 + "```"
    assert split_text(f"{'words ' * 5}\n\n{fence}", 60)[-1] == fence


def test_no_piece_holds_only_an_empty_fence() -> None:
    pieces = split_text("```\n" + "x" * 40 + "\n```\nafter", 48)
    assert pieces == ["```\n" + "x" * 40 + "\n```", "after"]


def test_indentation_survives_a_cut_inside_code() -> None:
    pieces = split_text("```\n" + "    deep line\n" * 8 + "```", 50)
    assert all(line.startswith(("    deep", "```")) for piece in pieces for line in piece.split("\n"))


def test_every_paragraph_alone_in_newline_mode() -> None:
    assert split_text("a\n\nb\n\n```\nc\n\nd\n```\n\n\ne", 100, mode="newline") == ["a", "b", "```\nc\n\nd\n```", "e"]


def test_lines_are_limited_too() -> None:
    assert split_text("1\n2\n3\n4\n5", 100, lines=3) == ["1\n2\n3", "4\n5"]


@pytest.mark.parametrize("cluster", ["👨\u200d👩\u200d👧", "e\u0301"])
def test_a_visible_character_is_never_torn(cluster: str) -> None:
    assert all(piece.count(cluster) * len(cluster) == len(piece) for piece in split_text(cluster * 50, 20))


@settings(max_examples=200)
@given(_TEXTS, st.integers(16, 200), st.sampled_from([0, 4, 17]), st.sampled_from(["length", "newline"]))
def test_pieces_fit_and_stand_by_themselves(text: str, limit: int, lines: int, mode: str) -> None:
    pieces = split_text(text, limit, lines=lines, mode="newline" if mode == "newline" else "length")
    assert all(len(piece) <= limit for piece in pieces)
    assert not lines or all(piece.count("\n") < lines for piece in pieces)
    assert all(open_fence(piece) is None for piece in pieces[:-1])


@settings(max_examples=200)
@given(_TEXTS, st.integers(16, 200))
def test_no_letter_is_lost(text: str, limit: int) -> None:
    def letters(each: str) -> str:
        return "".join(char for char in each if char.isalpha())

    assert "".join(map(letters, split_text(text, limit))) == letters(text)


@given(st.text(), st.integers(-3, 60))
def test_any_text_can_be_cut(text: str, limit: int) -> None:
    assert all(piece.strip() for piece in split_text(text, limit))
