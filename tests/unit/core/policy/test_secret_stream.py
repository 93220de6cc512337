from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.policy.credentials import CREDENTIALS, URL64, drawn
from tests.unit.core.policy.ordinary import ORDINARY
from tests.unit.core.policy.test_secrets import secret_of

from ostiary.core.policy.secrets import Guard

TOKEN = drawn("stream", 43, URL64)
GUARD = Guard(lambda: (TOKEN, "correct horse battery"))
KNOWN = (
    *(TOKEN, TOKEN[:30], TOKEN[::-1], TOKEN.encode().hex().upper(), "correct horse battery", "yrettab esroh tcerroc"),
    *(b64encode(before + TOKEN.encode()).decode().rstrip("=") for before in (b"", b"a", b"ab")),
)
ROWS = list(CREDENTIALS.values())


def streamed(text: str, sizes: list[int]) -> list[str]:
    stream, shown, place = GUARD.stream(), [], 0
    for number in range(len(text)):
        size = sizes[number % len(sizes)]
        shown.append(stream.feed(text[place : place + size]))
        place += size
    return [*shown, stream.end()]


@pytest.mark.parametrize("sizes", [[1], [3], [7, 1, 20], [1000]], ids=str)
@pytest.mark.parametrize("row", ROWS, ids=CREDENTIALS.keys())
def test_a_credential_that_comes_in_pieces_is_never_shown(row: str, sizes: list[int]) -> None:
    text, secret = secret_of(row)
    shown = "".join(streamed(f"It is {text} so", sizes))
    assert all(line not in shown for line in secret.split("\n"))
    assert shown.endswith(" so")


@given(
    st.lists(st.sampled_from([*ORDINARY, *(secret_of(row)[0] for row in ROWS)]), max_size=6),
    st.lists(st.integers(1, 40), min_size=1),
)
def test_what_is_streamed_is_what_the_whole_would_be(lines: list[str], sizes: list[int]) -> None:
    text = "\n".join(lines)
    assert "".join(streamed(text, sizes)) == GUARD.redact(text)


def test_a_known_secret_with_blanks_in_it_is_held_until_it_is_whole() -> None:
    shown = streamed("the words are correct horse battery, not correct horse staple", [4])
    assert "".join(shown) == "the words are [redacted:known], not correct horse staple"


@given(st.lists(st.sampled_from([*ORDINARY, *KNOWN]), max_size=6), st.lists(st.integers(1, 40), min_size=1))
def test_a_known_secret_that_comes_in_pieces_is_never_shown_in_any_form(words: list[str], sizes: list[int]) -> None:
    text = "\n".join(words)
    shown = "".join(streamed(text, sizes))
    assert shown == GUARD.redact(text)
    assert all(form not in shown for form in KNOWN)


def test_ordinary_words_are_shown_as_they_end() -> None:
    stream = GUARD.stream()
    assert stream.feed("Hello wor") == "Hello "
    assert stream.feed("ld, how ") == "world, how "
    assert stream.end() == ""


def test_a_word_without_an_end_is_not_held_for_ever() -> None:
    stream = GUARD.stream()
    shown = [stream.feed("iVBORw0K" * 64) for _ in range(200)]
    held = 200 * 512 - len("".join(shown))
    assert 0 < held <= 16_384
    assert "".join([*shown, stream.end()]) == "iVBORw0K" * 64 * 200


def test_a_private_key_that_never_ends_is_not_held_for_ever() -> None:
    stream = GUARD.stream()
    line = drawn("line", 64) + "\n"
    shown = "".join([stream.feed("-----BEGIN RSA PRIVATE KEY-----\n"), *(stream.feed(line) for _ in range(1000))])
    assert shown != ""
    assert "PRIVATE" not in shown
