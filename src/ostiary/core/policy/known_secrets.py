"""The forms a secret that we hold may turn up in: as it is, escaped, encoded, cut in two, backwards; and how to find them all.

A form of fifteen bytes holds, wherever it begins, eight that begin at a multiple of eight. So each eighth place of a text is
looked up in one table of such eights of every form: the same work for one secret as for a thousand.
"""

import re
import sys
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from ostiary.contracts.records import dataclass
from ostiary.core.policy.escapes import escaped
from ostiary.core.policy.secret_shapes import LONG_RUN

SHORTEST = 6
"""Shorter texts are no secrets: taking them out would shred everything else."""

_SHORTEST_ENCODED = 8
_SHORTEST_HALVED = 32
_LEAST_HALF = 23
_MOST_FORMS = 20_000
_AT_ONCE = 1024
# Width and step of a table, and how many single searches cost as much. What is sought must be as long as both, less one.
_TABLES = ((8, 16, 6), (8, 8, 8), (4, 8, 10), (4, 4, 17))
_LONG_RUN = re.compile(rb"[A-Za-z0-9_-]{%d,}" % LONG_RUN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """`text` is looked for. `whole` is what it is a part of, beginning at `place`: a find goes on as far as that is there.

    `folded`: it is the same in capitals (hex)."""

    text: str
    whole: str
    place: int = 0
    folded: bool = False


Sought = tuple[bytes, Form]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What is sought, by the `width` bytes that it may have at a multiple of `step`."""

    width: int
    step: int
    by_word: Mapping[int, tuple[Sought, ...]]

    def found(self, text: bytes) -> Iterator[Form]:
        """The forms of which what is sought is in this text."""
        size = len(text) // self.width * self.width
        words = memoryview(text)[:size].cast("Q" if self.width == 8 else "I")[:: self.step // self.width] if size else ()
        for first in range(0, len(words), _AT_ONCE):
            start, end = first * self.step, (first + _AT_ONCE) * self.step
            # A stretch at a time: a word that is there by chance leads to a search of that stretch and not of everything.
            for word in self.by_word.keys() & words[first : first + _AT_ONCE]:
                for sought, form in self.by_word[word]:
                    if text.find(sought, max(0, start - len(sought)), end + len(sought)) >= 0:
                        yield form


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """`in_runs` are the forms with a long run of word characters in them, sought by that; of the others the shortest, `few`, are
    not worth a table. `spaced` have white space in them."""

    in_runs: Table | None = None
    others: Table | None = None
    few: tuple[Sought, ...] = ()
    spaced: tuple[str, ...] = ()

    def found(self, text: bytes, runs: bytes) -> set[Form]:
        """The forms that may be in a text with these long runs, given in small letters; none that is there is missing."""
        found = {form for sought, form in self.few if sought in text} if self.few else set()
        if self.others is not None:
            found.update(self.others.found(text))
        if self.in_runs is not None and runs:
            found.update(self.in_runs.found(runs))
        return found


def prepared(secrets: Iterable[str]) -> Known:
    """Made once for a set of secrets, then asked for every text."""
    forms = forms_of(secrets)
    in_runs: list[Sought] = []
    others: list[Sought] = []
    for form in forms:
        sought = as_bytes(form.text)
        run = max(_LONG_RUN.findall(sought), key=len, default=b"")
        # Hex is always one long run: only there capitals are as good as small letters.
        (in_runs if run else others).append((run.lower() or sought, form))
    few = _few(others)
    return Known(
        in_runs=_table(in_runs),
        others=_table(others[few:]),
        few=tuple(others[:few]),
        spaced=tuple(form.text for form in forms if any(letter.isspace() for letter in form.text)),
    )


def forms_of(secrets: Iterable[str]) -> tuple[Form, ...]:
    """Every form of each, shortest first and bounded. A half is enough: what a cut output shows of a secret is as telling."""
    found: dict[str, Form] = {}
    for secret in secrets:
        if len(secret.strip()) >= SHORTEST:
            for form in _forms(secret):
                found.setdefault(form.text, form)
    return tuple(sorted(found.values(), key=lambda form: len(form.text)))[:_MOST_FORMS]


def as_bytes(text: str) -> bytes:
    """One byte for each character: what is found in it has the same place in the text."""
    return text.encode("latin-1", "replace")


def _few(others: list[Sought]) -> int:
    """How many of these, the shortest come first, are searched for one by one: as it costs least in all."""
    lengths = [len(sought) for sought, _ in others]
    ways = [(bisect_left(lengths, width + step - 1), cost) for width, step, cost in _TABLES]
    return min((len(others), 0), *ways, key=sum)[0]


def _table(all_sought: list[Sought]) -> Table | None:
    if not all_sought:
        return None
    shortest = min(len(sought) for sought, _ in all_sought)
    width, step = next((width, step) for width, step, _ in _TABLES if width + step - 1 <= shortest)
    by_word: dict[int, tuple[Sought, ...]] = {}
    for sought, form in all_sought:
        # The middle tells more than a beginning that all keys of a provider have.
        middle = (len(sought) - width - step + 1) // 2
        for at in range(middle, middle + step):
            word = int.from_bytes(sought[at : at + width], sys.byteorder)
            by_word[word] = (*by_word.get(word, ()), (sought, form))
    return Table(width=width, step=step, by_word=by_word)


def _forms(secret: str) -> Iterator[Form]:
    for plain in {secret, secret.strip()}:
        yield from _halved(plain)
    for written in escaped(secret):
        yield Form(text=written, whole=written)
    if len(secret) < _SHORTEST_ENCODED:
        return
    yield Form(text=secret[::-1], whole=secret[::-1])
    raw = secret.encode("utf-8", "surrogatepass")
    yield from _halved(raw.hex(), folded=True)
    for written in _base64(raw):
        yield from _halved(written)
        yield from _halved(written.translate(_URL_SAFE))


_URL_SAFE = str.maketrans("+/", "-_")


def _halved(written: str, *, folded: bool = False) -> Iterator[Form]:
    if len(written) < _SHORTEST_HALVED:
        yield Form(text=written, whole=written, folded=folded)
        return
    half = max(_LEAST_HALF, len(written) // 2)
    yield Form(text=written[:half], whole=written, folded=folded)
    yield Form(text=written[-half:], whole=written, place=len(written) - half, folded=folded)


def _base64(raw: bytes) -> Iterator[str]:
    """The letters that stay the same whatever is encoded before and after, for each of the three ways to be aligned."""
    for offset, spoilt in ((0, 0), (1, 2), (2, 3)):
        letters = b64encode(bytes(offset) + raw).decode()
        yield letters[spoilt : (offset + len(raw)) * 8 // 6]
