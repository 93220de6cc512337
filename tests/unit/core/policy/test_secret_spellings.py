"""The ways in which programs and people write a secret that we hold, whole or cut, and what hides a credential from the eye."""

import html
import json
import shlex
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.policy.credentials import CREDENTIALS, URL64, drawn
from tests.unit.core.policy.ordinary import ORDINARY
from tests.unit.core.policy.test_secrets import secret_of

from ostiary.core.policy.escapes import escaped
from ostiary.core.policy.secrets import Guard

TOKEN = drawn("spelled", 42, URL64)
PASSWORD = "pä\"ss<w>ör\\d &/+='7x"
GUARD = Guard(lambda: (TOKEN, PASSWORD))
INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff\u202e\ufe0f\U000e0041"


@pytest.mark.parametrize(
    "written",
    [
        quote(PASSWORD, safe=""),
        quote(PASSWORD),
        quote_plus(PASSWORD),
        quote(quote(PASSWORD, safe=""), safe=""),
        "p%c3%a4%22ss%3cw%3e%c3%b6r%5cd%20%26%2f%2b%3d%277x",
        json.dumps(PASSWORD),
        json.dumps(PASSWORD, ensure_ascii=False),
        json.dumps(json.dumps(PASSWORD)),
        json.dumps({"body": json.dumps({"password": PASSWORD}, ensure_ascii=False)}, ensure_ascii=False),
        json.dumps(PASSWORD).replace("/", "\\/"),
        "pä\\\"ss\\u003cw\\u003eör\\\\d \\u0026/+='7x",
        'pä\\"ss\\u003cw\\u003eör\\\\d \\u0026/+\\u003d\\u00277x',
        "p\\u00E4\\u0022ss\\u003Cw\\u003E\\u00F6r\\\\d \\u0026/\\u002B=\\u00277x",
        html.escape(PASSWORD),
        html.escape(PASSWORD).replace("&#x27;", "&#39;"),
        html.escape(PASSWORD, quote=False),
        shlex.quote(PASSWORD),
        PASSWORD.replace("'", "'\\''"),
        repr(PASSWORD),
        repr(PASSWORD.encode()),
    ],
)
def test_a_secret_is_known_however_its_signs_are_escaped(written: str) -> None:
    redacted = GUARD.redact(f"it says {written} and more")
    assert "[redacted:known]" in redacted
    assert "7x" not in redacted
    assert redacted.endswith(" and more")


def test_what_needs_no_escape_has_no_other_way_to_be_written() -> None:
    assert escaped(TOKEN) == frozenset()


@pytest.mark.parametrize("place", range(40, 130, 3))
@pytest.mark.parametrize(
    "written",
    [
        b64encode(b"a" * 40 + TOKEN.encode() + b"b" * 9).decode(),
        urlsafe_b64encode(b"a" * 41 + TOKEN.encode()).decode(),
        (b"0" * 22 + TOKEN.encode()).hex(),
        (b"0" * 22 + TOKEN.encode()).hex().upper(),
    ],
)
def test_an_encoded_secret_that_goes_on_in_another_line_is_known_by_its_larger_part(written: str, place: int) -> None:
    assert GUARD.finds(f"{written[:place]}\n{written[place:]}") == ("known",)


@pytest.mark.parametrize("written", [b64encode(TOKEN.encode()).decode(), TOKEN.encode().hex()])
def test_an_encoded_secret_that_was_cut_is_taken_out_as_far_as_it_is_there(written: str) -> None:
    assert GUARD.redact(f"<{written[: len(written) * 2 // 3]}>") == "<[redacted:known]>"
    assert GUARD.redact(f"<{written[len(written) // 3 :]}>") == "<[redacted:known]>"


@pytest.mark.parametrize("letter", INVISIBLE)
def test_letters_that_nobody_sees_hide_no_secret(letter: str) -> None:
    assert GUARD.redact(f"before {letter.join(TOKEN)} after") == "before [redacted:known] after"
    assert GUARD.redact(f"中 {TOKEN[:9]}{letter}{TOKEN[9:]} 文") == "中 [redacted:known] 文"


@pytest.mark.parametrize("row", CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_letters_that_nobody_sees_hide_no_credential(row: str) -> None:
    text, secret = secret_of(row)
    redacted = GUARD.redact("\u200b".join(text)).replace("\u200b", "")
    assert all(line not in redacted for line in secret.split("\n"))


def test_a_secret_among_very_many_letters_of_other_scripts_is_still_seen_through() -> None:
    crowd = "中文字" * 5000
    assert GUARD.redact(f"{crowd} {TOKEN[:20]}\u200b{TOKEN[20:]} {crowd}") == f"{crowd} [redacted:known] {crowd}"


def test_a_secret_that_stands_next_to_an_invisible_letter_is_found_as_before() -> None:
    key = f"ghp_{drawn('beside', 36)}"
    assert GUARD.redact(f"word\u200b{key}") == "word\u200b[redacted:github]"


@given(st.lists(st.sampled_from(ORDINARY)), st.sampled_from(INVISIBLE))
def test_ordinary_text_with_invisible_letters_stays_as_it_is(lines: list[str], letter: str) -> None:
    text = f"\n{letter}\n".join(lines)
    assert GUARD.redact(text) is text


@given(st.text(alphabet=f"a1 中?é{INVISIBLE}{TOKEN[:3]}", max_size=60), st.integers(0, 60))
def test_what_is_found_between_invisible_letters_is_where_it_is_in_the_whole(text: str, place: int) -> None:
    whole = f"{text[:place]} {TOKEN[:20]}\u200d{TOKEN[20:]} {text[place:]}"
    start = len(text[:place]) + 1
    assert (start, start + len(TOKEN) + 1, "known") in GUARD.spans(whole)
