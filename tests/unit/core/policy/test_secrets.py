import json
from base64 import b64encode, urlsafe_b64encode
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.policy.credentials import CREDENTIALS, URL64, drawn
from tests.unit.core.policy.ordinary import ORDINARY

from ostiary.core.policy.secrets import Guard

TOKEN = drawn("token", 43, URL64)
PASSWORD = "pässwörd mit Lücken"
NASTY = 'a"b\\c/d+e f&g=h%i'
GUARD = Guard()
KNOWING = Guard(lambda: (TOKEN, PASSWORD, NASTY, "abc"))


def secret_of(row: str) -> tuple[str, str]:
    before, _, rest = row.partition("«")
    secret, _, after = rest.partition("»")
    return before + secret + after, secret


def test_the_sets_are_large_enough() -> None:
    assert len(CREDENTIALS) >= 80
    assert len(ORDINARY) >= 150


@pytest.mark.parametrize("row", CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_a_credential_is_taken_out_whole(row: str) -> None:
    text, secret = secret_of(row)
    redacted = GUARD.redact(text)
    assert all(line not in redacted for line in secret.split("\n"))
    assert "[redacted:" in redacted
    assert GUARD.finds(text) != ()


@pytest.mark.parametrize("row", CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_what_stands_around_a_credential_stays(row: str) -> None:
    text, _ = secret_of(row)
    before, _, after = row.replace("»", "«").split("«")
    redacted = GUARD.redact(text)
    assert redacted.startswith(before)
    assert redacted.endswith(after)


@pytest.mark.parametrize("row", CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_a_credential_in_a_long_text_is_found_as_in_a_short_one(row: str) -> None:
    text, secret = secret_of(row)
    filler = "the quick brown fox jumps over the lazy dog\n" * 1000
    redacted = GUARD.redact(f"{filler}{text}\n{filler}")
    assert secret not in redacted
    assert redacted.startswith(filler)
    assert redacted.endswith(filler)


@pytest.mark.parametrize("row", CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_a_credential_among_many_hashes_is_found_too(row: str) -> None:
    text, secret = secret_of(row)
    hashes = "\n".join(drawn(f"hash{number}", 40, "0123456789abcdef") for number in range(1000))
    redacted = GUARD.redact(f"{hashes}\n{text}\n{hashes}")
    assert secret not in redacted
    assert redacted.startswith(hashes)


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_text_stays_as_it_is(line: str) -> None:
    assert GUARD.redact(line) is line


def test_ordinary_text_stays_as_it_is_all_at_once() -> None:
    text = "\n".join(ORDINARY)
    assert GUARD.redact(text * 3) == text * 3


def test_redacting_twice_changes_nothing_more() -> None:
    once = GUARD.redact("\n".join(secret_of(row)[0] for row in CREDENTIALS.values()))
    assert GUARD.redact(once) == once


@pytest.mark.parametrize(
    "form",
    [
        TOKEN,
        TOKEN[::-1],
        TOKEN.encode().hex(),
        TOKEN.encode().hex().upper(),
        b64encode(TOKEN.encode()).decode(),
        b64encode(f"x{TOKEN}y".encode()).decode(),
        b64encode(f"key={TOKEN}\n".encode()).decode(),
        urlsafe_b64encode(f"ab{TOKEN}".encode()).decode(),
        TOKEN[:30],
        TOKEN[12:],
        PASSWORD,
        quote(PASSWORD),
        NASTY,
        quote(NASTY, safe=""),
        'a\\"b\\\\c/d+e f&g=h%i',
        "p\\u00e4ssw\\u00f6rd mit L\\u00fccken",
    ],
)
def test_a_known_secret_is_taken_out_in_every_form(form: str) -> None:
    assert KNOWING.finds(f"it says {form}, and more") == ("known",)
    assert KNOWING.redact(form) != form
    long = "words and words and 中文\n" * 2000
    assert KNOWING.finds(f"{long}{form}\n{long}") == ("known",)


def test_a_known_secret_that_was_cut_is_taken_out_as_far_as_it_is_there() -> None:
    assert KNOWING.redact(f"head: {TOKEN[:33]}") == "head: [redacted:known]"
    assert KNOWING.redact(f"…{TOKEN[9:]} end") == "…[redacted:known] end"
    assert KNOWING.redact(f"<{TOKEN}>") == "<[redacted:known]>"


def test_a_text_too_short_to_be_a_secret_is_left_alone() -> None:
    assert KNOWING.redact("abc abcd") == "abc abcd"


def test_in_a_call_only_our_own_secrets_are_taken_out_and_it_stays_a_call() -> None:
    shaped = f"ghp_{drawn('call', 36)}"
    written = json.dumps({"command": f"export API_KEY={TOKEN}", "note": f"{PASSWORD} {NASTY}", "content": f"token = {shaped}"})
    read = json.loads(KNOWING.redact_known(written))
    known = "[redacted:known]"
    assert read == {"command": f"export API_KEY={known}", "note": f"{known} {known}", "content": f"token = {shaped}"}


def test_a_secret_that_is_learnt_later_is_known_from_then_on() -> None:
    known: list[tuple[str, ...]] = [("first-Secret-77",)]
    guard = Guard(lambda: known[0])
    assert guard.redact("second-Secret-88") == "second-Secret-88"
    known[0] = ("first-Secret-77", "second-Secret-88")
    assert guard.redact("second-Secret-88") == "[redacted:known]"


def test_letters_that_grow_when_lowered_do_not_shift_what_is_found() -> None:
    text = f"İİİİ {TOKEN.encode().hex().upper()} İ"
    assert KNOWING.redact(text) == "İİİİ [redacted:known] İ"


@given(st.text(max_size=300))
def test_no_text_makes_the_guard_fail_and_a_text_without_finds_is_given_back_itself(text: str) -> None:
    assert (KNOWING.redact(text) is text) == (KNOWING.finds(text) == ())


@given(st.text(alphabet="sk-ant_=:@/\"' \n.eyJAIza09BEGIN", max_size=400))
def test_spans_are_in_order_and_apart(text: str) -> None:
    spans = GUARD.spans(text)
    assert all(start < end for start, end, _ in spans)
    assert all(first[1] < second[0] for first, second in pairwise(spans))
