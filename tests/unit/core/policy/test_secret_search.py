"""Everything that makes the search for secrets fast must find what the plain search finds: no more, no less."""

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.core.policy.credentials import CREDENTIALS, URL64, drawn
from tests.unit.core.policy.ordinary import ORDINARY

from ostiary.core.policy.known_secrets import forms_of
from ostiary.core.policy.secret_shapes import (
    ABOUT,
    ASSIGNED,
    DISCORD,
    FIRST_LOOK,
    FOLD,
    HEADERS,
    PREFIXES,
    PRIVATE_KEYS,
    SHAPES,
    URL_PASSWORD,
    is_no_example,
    is_random,
)
from ostiary.core.policy.secrets import Guard, Span

WORDY = {b"key", b"secret", b"fw", b"ol", b"odt", b"csk", b"glc", b"hf", b"phc"}
WORDS = "plain words, and more of them, 中文\n"
STRETCH = 4096
BORDER = 8 * STRETCH
ROWS = [row.replace("«", "").replace("»", "") for row in CREDENTIALS.values()]
PAIRS = ("token=", "api_key: '", "Password => ", "secret[", ":>", "sk-", "xoxb-", "ghp_", "eyJ", "://u:", "@", "bearer ", "_path")


def shaped(view: bytes) -> Iterator[Span]:
    named = {shape: view.translate(FOLD) for shape in (*HEADERS, *ASSIGNED)}
    for shape in (*SHAPES, *PRIVATE_KEYS, DISCORD, URL_PASSWORD, *named):
        for match in re.finditer(shape.source.replace(FIRST_LOOK, b""), named.get(shape, view)):
            start, end = match.span(shape.group)
            is_about = shape in ASSIGNED and ABOUT.match(match["rest"]) is not None
            if not is_about and (shape.accept is None or shape.accept(view[start:end])):
                yield start, end, "anthropic" if view.startswith(b"sk-ant-", start) else shape.kind
    for prefix, kind in PREFIXES.items():
        for match in re.finditer(rb"(?<![A-Za-z0-9])%s([_-](?=[A-Za-z0-9]{20})[\w-]{20,512})" % prefix, view, re.ASCII):
            if (is_random if prefix in WORDY else is_no_example)(match[1]):
                yield match.start(), match.end(), kind


def known(text: str, secrets: tuple[str, ...]) -> Iterator[Span]:
    small = text.encode("latin-1", "replace").lower().decode("latin-1")
    for form in forms_of(secrets):
        searched = small if form.folded else text
        for match in re.finditer(re.escape(form.text), searched):
            first, last = match.span()
            before, after = form.whole[: form.place], form.whole[form.place + len(form.text) :]
            first -= max(size for size in range(len(before) + 1) if searched[:first].endswith(before[len(before) - size :]))
            last += max(size for size in range(len(after) + 1) if searched.startswith(after[:size], last))
            yield first, last, "known"


def covered(spans: Iterator[Span] | tuple[Span, ...]) -> set[int]:
    return {place for start, end, _ in spans for place in range(start, end)}


def plainly(text: str, secrets: tuple[str, ...]) -> set[int]:
    return covered(shaped(text.encode("latin-1", "replace"))) | covered(known(text, secrets))


RANDOM = st.text(alphabet=URL64, min_size=6, max_size=60)
CHOSEN = st.text(alphabet='aB3!@+/= äß中İ"\\%\n', min_size=6, max_size=40)
SECRETS = st.lists(RANDOM | CHOSEN, min_size=1, max_size=40).map(tuple)


GUARD = Guard()


@st.composite
def written(draw: st.DrawFn, secrets: tuple[str, ...]) -> str:
    """A secret in one of its forms, or a part of one, with letters around it that move what is encoded."""
    secret = draw(st.sampled_from(secrets))
    raw = draw(st.binary(max_size=3)) + secret.encode() + draw(st.binary(max_size=3))
    cut = draw(st.integers(0, len(secret)))
    mixed = "".join(letter.upper() if number % 3 else letter for number, letter in enumerate(raw.hex()))
    forms = (secret, secret[::-1], secret[cut:], secret[:cut], quote(secret), quote(secret, safe=""), raw.hex(), mixed)
    return draw(st.sampled_from((*forms, b64encode(raw).decode(), urlsafe_b64encode(raw).decode(), secret.swapcase())))


@st.composite
def texts(draw: st.DrawFn, secrets: tuple[str, ...]) -> str:
    piece = st.one_of(
        written(secrets),
        written(secrets),
        st.sampled_from(ROWS),
        st.sampled_from(ORDINARY),
        st.sampled_from(PAIRS),
        RANDOM,
        st.text(alphabet=" \n\t'\",;=:.-_/19aA", max_size=8),
    )
    filler = WORDS * 2000
    before = filler[: draw(st.sampled_from((0, 0, 17, 600, 5000, 70_000)) | st.integers(0, 70_000))]
    return before + "".join(draw(st.lists(piece, min_size=1, max_size=30))) + filler[: draw(st.sampled_from((0, 5, 2000)))]


@given(st.data(), SECRETS)
@settings(max_examples=80)
def test_the_fast_search_finds_what_the_plain_one_finds(data: st.DataObject, secrets: tuple[str, ...]) -> None:
    text = data.draw(texts(secrets))
    assert covered(Guard(lambda: secrets).spans(text)) == plainly(text, secrets)


@pytest.mark.parametrize("count", [1, 3, 40, 300])
@pytest.mark.parametrize("size", [6, 7, 8, 10, 11, 14, 15, 16, 22, 23, 31, 32, 60])
def test_a_secret_of_any_length_among_any_number_is_found_wherever_it_begins(size: int, count: int) -> None:
    secrets = tuple(drawn(f"{size}.{number}", size, "abcdeXYZ0189!") for number in range(count))
    guard = Guard(lambda: secrets)
    for secret in secrets[:2]:
        for shift in (*range(17), 16_381, 32_763, 65_529):
            text = "." * shift + secret + ", and so on"
            assert guard.redact(text) == "." * shift + "[redacted:known], and so on"


@given(st.lists(st.sampled_from([*"token=key:'\" 1aZ.>", "secret", "passwd", "=>", "a1b2c3d4", "x" * 24]), max_size=60))
@settings(max_examples=200)
def test_the_first_look_at_an_assignment_never_decides_otherwise_than_the_whole_one(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert covered(GUARD.spans(text)) == plainly(text, ())


@pytest.mark.parametrize("value", ["ab-defghijklmnopqrstuvw7!Q", "QwErTyUiOpAsDfGhJkLzXcVb"])
@pytest.mark.parametrize("quote", ["", "'", 'b"', "rb'"])
@pytest.mark.parametrize("sign", ["=", ":", "=>", ":=", "==", '"] = ', "_again:\t", "=>   "])
def test_the_first_look_reaches_as_far_as_a_value_may_stand(sign: str, quote: str, value: str) -> None:
    text = f"token{sign}{quote}%s and so on and on and on and on"
    assert GUARD.redact(text % value) == text % "[redacted:token]"


@pytest.mark.parametrize("sign", [":>", "==>", "=    ", "", "=,"])
def test_what_is_no_sign_of_assignment_assigns_nothing(sign: str) -> None:
    assert GUARD.spans(f"token{sign}a1b2c3d4e5f6") == ()


@pytest.mark.parametrize("many", ["sk-", "AKIA", "eyJ", "M" + "a" * 23, "12345678:AA"])
def test_credentials_among_very_many_beginnings_are_found_too(many: str) -> None:
    crowd = f"{many} {'x' * 16}. " * 1000
    text = crowd + "\n".join(ROWS) + "\n" + crowd
    assert covered(GUARD.spans(text)) == plainly(text, ())


@pytest.mark.parametrize("row", CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_a_credential_on_the_border_of_two_stretches_is_found_as_in_a_short_text(row: str) -> None:
    text = row.replace("«", "").replace("»", "")
    for inside in (0, 1, len(text) // 3, len(text) // 2, len(text) - 1):
        before = (WORDS * (BORDER // len(WORDS) + 1))[: BORDER - inside - 1] + "\n"
        moved = [(start + len(before), end + len(before), kind) for start, end, kind in GUARD.spans(text)]
        assert list(GUARD.spans(f"{before}{text}\n{WORDS}")) == moved


@pytest.mark.parametrize("shift", range(0, 40, 3))
def test_a_value_is_found_where_digits_begin_after_a_long_text_without_any(shift: int) -> None:
    before = ("a token and no more " * 1000)[: 3 * STRETCH - shift]
    assert GUARD.redact(f"{before} token=a1b2c3d4e5 {before}") == f"{before} token=[redacted:token] {before}"


def test_a_value_without_digits_is_found_in_a_long_text_without_digits() -> None:
    before = "a token and no more " * 1000
    assert GUARD.redact(f"{before} token=QwErTyUiOpAsDfGhJkLzXcVb {before}") == f"{before} token=[redacted:token] {before}"


def test_a_run_longer_than_many_stretches_is_one_run() -> None:
    secret = drawn("behind", 43, URL64)
    blob = "iVBORw0K" * (BORDER // 4)
    assert Guard(lambda: (secret,)).redact(f"{WORDS}{blob}{secret} end") == f"{WORDS}{blob}[redacted:known] end"


@pytest.mark.parametrize(
    "name", ["password", "passwd", "passphrase", "pwd", "secret", "token", "api_key", "Access-Key", "AUTHKEY"]
)
def test_every_name_of_a_secret_is_heeded_in_any_case(name: str) -> None:
    for written in (name, name.upper(), f"MY_{name}"):
        assert GUARD.redact(f"{written}=a1b2c3d4e5f6") != f"{written}=a1b2c3d4e5f6"
