"""The forms a secret that we hold may turn up in: as it is, cut in two, quoted, encoded, backwards."""

import json
import re
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import replace
from urllib.parse import quote

from ostiary.contracts.records import dataclass
from ostiary.core.policy.secret_shapes import LONG_RUN

SHORTEST = 6
"""Shorter texts are no secrets: taking them out would shred everything else."""

GRAMMED = 23
"""A text of this length holds eight bytes that begin at a multiple of sixteen, wherever it begins itself."""

_SHORTEST_ENCODED = 8
_SHORTEST_HALVED = 32
_MOST_FORMS = 2000
_LONG_RUN = re.compile(rb"[A-Za-z0-9_-]{%d,}" % LONG_RUN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """`text` is looked for. `whole` is what it is a part of, beginning at `place`: a find goes on as far as that is there.

    `folded`: it is the same in capitals (hex). `run` is its first long run of word characters, `sought` it itself, as bytes;
    empty if it has none, or is not ASCII."""

    text: str
    whole: str
    place: int = 0
    folded: bool = False
    sought: bytes = b""
    run: bytes = b""
    is_spaced: bool = False


def forms_of(secrets: Iterable[str]) -> tuple[Form, ...]:
    """Every form of each, shortest first and bounded. A half is enough: what a cut output shows of a secret is as telling."""
    found: dict[str, Form] = {}
    for secret in secrets:
        if len(secret.strip()) < SHORTEST:
            continue
        for form in _forms(secret):
            if form.text not in found:
                found[form.text] = _prepared(form)
    return tuple(sorted(found.values(), key=lambda form: len(form.text)))[-_MOST_FORMS:]


def grams_of(forms: Iterable[Form]) -> frozenset[int]:
    """Every eight bytes in a row of every form long enough to hold eight that begin at a multiple of sixteen.

    Text that has none of these at such places has none of the forms: one look, however many secrets there are."""
    grams: set[int] = set()
    for form in forms:
        if len(form.sought) >= GRAMMED:
            for written in {form.sought, form.sought.upper()} if form.folded else {form.sought}:
                grams.update(int.from_bytes(written[at : at + 8], sys.byteorder) for at in range(len(written) - 7))
    return frozenset(grams)


def may_hold(text: bytes, grams: frozenset[int]) -> bool:
    return bool(grams) and not grams.isdisjoint(memoryview(text)[: len(text) // 8 * 8].cast("Q")[::2])


def _prepared(form: Form) -> Form:
    sought = form.text.encode() if form.text.isascii() else b""
    run = _LONG_RUN.search(sought)
    is_spaced = any(letter.isspace() for letter in form.text)
    return replace(form, sought=sought, run=run[0] if run else b"", is_spaced=is_spaced)


def _forms(secret: str) -> Iterator[Form]:
    yield from _plain(secret)
    stripped = secret.strip()
    if stripped != secret:
        yield from _plain(stripped)
    for written in (
        quote(secret, safe=""),
        quote(secret),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
    ):
        if written != secret:
            yield Form(text=written, whole=written)
    if len(secret) < _SHORTEST_ENCODED:
        return
    yield Form(text=secret[::-1], whole=secret[::-1])
    raw = secret.encode("utf-8", "surrogatepass")
    yield Form(text=raw.hex(), whole=raw.hex(), folded=True)
    for written in _base64(raw):
        yield Form(text=written, whole=written)
        yield Form(text=written.translate(_URL_SAFE), whole=written.translate(_URL_SAFE))


_URL_SAFE = str.maketrans("+/", "-_")


def _plain(secret: str) -> Iterator[Form]:
    if len(secret) < _SHORTEST_HALVED:
        yield Form(text=secret, whole=secret)
        return
    half = max(GRAMMED, len(secret) // 2)
    yield Form(text=secret[:half], whole=secret)
    yield Form(text=secret[-half:], whole=secret, place=len(secret) - half)


def _base64(raw: bytes) -> Iterator[str]:
    """The letters that stay the same whatever is encoded before and after, for each of the three ways to be aligned."""
    for offset, spoilt in ((0, 0), (1, 2), (2, 3)):
        letters = b64encode(bytes(offset) + raw).decode()
        yield letters[spoilt : (offset + len(raw)) * 8 // 6]
