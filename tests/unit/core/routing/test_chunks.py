"""Cutting replies: no piece too long, nothing lost but white space, every fence closed where it is cut."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ostiary.core.routing.chunks import split_text

thorough = settings(max_examples=250, deadline=None)
LINES = st.lists(
    st.one_of(
        st.sampled_from(["", "```", "```python", "~~~", "a b c", "    indented code", "x" * 40, "word " * 12, "`tick`"]),
        st.text(st.characters(codec="utf-8", exclude_characters="`~", exclude_categories=("Cc", "Cs")), max_size=60),
    ),
    max_size=30,
)
FENCE = re.compile(r" {0,3}(```+|~~~+)([^`]*)")


def fences(text: str) -> list[str]:
    """Fences left open at the end, by the rules of CommonMark: closed by as many of the same sign, with nothing after."""
    opened = ""
    for line in text.split("\n"):
        match = FENCE.fullmatch(line)
        if match is None:
            continue
        if not opened:
            opened = match[1]
        elif match[1][0] == opened[0] and len(match[1]) >= len(opened) and not match[2].strip():
            opened = ""
    return [opened] if opened else []


def letters(text: str) -> str:
    return "".join(line for line in text.split("\n") if FENCE.fullmatch(line) is None).translate(
        {ord(character): None for character in set(text) if character.isspace()}
    )


@thorough
@given(lines=LINES, limit=st.integers(16, 200))
def test_no_piece_is_longer_than_the_limit(lines: list[str], limit: int) -> None:
    assert all(len(piece) <= limit for piece in split_text("\n".join(lines), limit))


@thorough
@given(lines=LINES, limit=st.integers(40, 200))
def test_nothing_is_lost_but_white_space_and_fences_are_only_added(lines: list[str], limit: int) -> None:
    text = "\n".join(lines)
    assert letters("\n".join(split_text(text, limit))) == letters(text)


@thorough
@given(lines=LINES, limit=st.integers(40, 200))
@example(lines=["````md", "```", "x" * 60, "```", "````"], limit=40)
def test_a_fence_open_at_a_cut_is_closed_there_and_opened_again(lines: list[str], limit: int) -> None:
    text = "\n".join(lines)
    pieces = split_text(text, limit)
    assert [fences(piece) for piece in pieces[:-1]] == [[]] * len(pieces[:-1])
    assert [fences(piece) for piece in pieces[-1:]] == [fences(text.strip())][: len(pieces)]


def test_a_cut_falls_between_paragraphs_before_lines_before_words() -> None:
    assert split_text("first one here\n\nsecond paragraph", 24) == ["first one here", "second paragraph"]
    assert split_text("first one here\nsecond line", 20) == ["first one here", "second line"]
    assert split_text("first one here second", 18) == ["first one here", "second"]
    assert split_text("x" * 40, 16) == ["x" * 16, "x" * 16, "x" * 8]


def test_a_cut_fence_keeps_its_language() -> None:
    pieces = split_text("```python\n" + "a = 1\n" * 20 + "```", 60)
    assert all(piece.startswith("```python\n") and piece.endswith("\n```") for piece in pieces)


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_nothing_gives_no_piece(text: str) -> None:
    assert split_text(text, 100) == []


def test_a_long_reply_is_cut_in_linear_time() -> None:
    pieces = split_text("some words and more\n" * 50_000, 2000)
    assert len(pieces) < 600
