import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.adapters.tools.shell.output import capped, clean, whole_characters


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]52;c;ZXZpbA==\x1b\\x", "x"),
        (b"10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"\x00\x07bell\x9b", "bell\ufffd"),
        ("safe\u202eevil".encode(), "safeevil"),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
    ],
)
def test_terminal_tricks_are_left_out(raw: bytes, text: str) -> None:
    assert clean(raw) == text


@given(st.text(max_size=400), st.integers(min_value=0, max_value=300))
def test_a_cap_holds(text: str, room: int) -> None:
    assert len(capped(text, room).encode("utf-8", "replace")) <= max(room, 60)


def test_head_and_tail_are_kept() -> None:
    text = capped("begin" + "x" * 1000 + "end", 200)
    assert (text[:5], text[-3:], "868 bytes left out" in text) == ("begin", "end", True)


@pytest.mark.parametrize(
    ("raw", "size"),
    [
        (b"", 0),
        (b"abc", 3),
        ("é".encode(), 2),
        ("aé".encode()[:-1], 1),
        ("a€".encode()[:-1], 1),
        ("a😀".encode()[:-1], 1),
        ("a😀".encode()[:-3], 1),
        ("a😀".encode(), 5),
        (b"\x80\x80\x80\x80\x80", 5),
        (b"a\xff", 1),
    ],
)
def test_a_character_that_is_not_there_yet_is_waited_for(raw: bytes, size: int) -> None:
    assert whole_characters(raw) == size
