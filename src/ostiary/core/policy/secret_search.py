"""The search for what has a credential's shape, in time that is linear in the text.

Most shapes begin in or shortly before a long run of word characters, and of those ordinary text has few: the runs are cut out and
only they are searched. What is left are a few anchors, and names with a value after them: a value without a digit or a long
run of letters is none, so text without either is passed over."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, takewhile
from typing import Final

from ostiary.contracts.records import dataclass
from ostiary.core.policy.secret_shapes import (
    ABOUT,
    AFTER_PREFIX,
    ASSIGNED,
    BEFORE_NAME,
    BEFORE_RUN,
    DISCORD,
    FOLD,
    HEADERS,
    LONG_RUN,
    LONGEST_ASSIGNMENT,
    LONGEST_URL,
    PREFIXES,
    PRIVATE,
    PRIVATE_KEYS,
    SHAPES,
    SHORTEST_LETTERS,
    URL_PASSWORD,
    Shape,
    compiled,
    is_no_example,
    is_random,
)

Span = tuple[int, int, str]

_ALNUM = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_WORDS = bytes(97 if c in _ALNUM or c in b"_-" else 32 for c in range(256))
_STRUCTURE = bytes(97 if c in _ALNUM else 95 if c in b"_-" else 32 for c in range(256))
# Word characters as they are, all else a blank.
_SPACED = bytes(c if c in _ALNUM or c in b"_-" else 32 for c in range(256))
_FAR_APART = 200
_AT_FIRST = 64 * _FAR_APART
_MANY = 512
_BLANKS = frozenset(b" \t\n\r")
_RUN = b"a" * LONG_RUN
_KEY = b"_" + b"a" * 20
_LETTERS = b"a" * SHORTEST_LETTERS
_STRETCH = 4096
_ANYWHERE: Final = tuple(shape for shape in SHAPES if not shape.in_run)
# As they begin in text whose other signs are all blanks.
_IN_RUNS: Final = {shape.anchor.translate(_SPACED).lstrip(): shape for shape in SHAPES if shape.in_run}
# Words before a dash that people also write: what follows must have been drawn.
_WORDY = frozenset({b"key", b"secret", b"fw", b"ol", b"odt", b"csk", b"glc", b"hf", b"phc"})


def _by_ending() -> dict[bytes, tuple[bytes, ...]]:
    found: dict[bytes, tuple[bytes, ...]] = {}
    for prefix in PREFIXES:
        found[prefix[-2:]] = (*found.get(prefix[-2:], ()), prefix)
    return found


_BY_ENDING: Final = _by_ending()


@cache
def _heads() -> "re.Pattern[bytes]":
    """How shapes that stand in a long run begin: the engine flies from blank to blank."""
    letters = bytes(sorted({head[0] for head in _IN_RUNS}))
    return re.compile(rb" (?=[MNO%s])(?=(%s|[MNO][A-Za-z0-9]{22,27}+ ))" % (letters, b"|".join(map(re.escape, sorted(_IN_RUNS)))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """The long runs of word characters of a text, each with a little of what stands before it: where most shapes begin.

    The piece of `text` that begins at `begins[n]` stands `further[n]` characters further on in the whole."""

    text: bytes
    begins: tuple[int, ...] = (0,)
    further: tuple[int, ...] = (0,)

    def place(self, at: int) -> int:
        return at + self.further[bisect_right(self.begins, at) - 1]


NO_RUNS: Final = Runs(text=b"")


def runs_of(view: bytes) -> Runs:
    """Nothing if there is none; all of the text if it is short or has so many that leaving the rest out would save nothing."""
    pieces: list[bytes] = []
    begins, further = [0], [0]
    size = last = 0
    for start, end in _long_runs(view):
        first = max(last, start - BEFORE_RUN)
        pieces.append(view[first:end])
        begins.append(size)
        further.append(first - size)
        size += end - first
        last = end
        if len(pieces) * _FAR_APART > min(len(view), end + _AT_FIRST):
            return Runs(text=view)
    return Runs(text=b"".join(pieces), begins=tuple(begins), further=tuple(further)) if pieces else NO_RUNS


def _long_runs(view: bytes) -> Iterator[tuple[int, int]]:
    """From where to where, with the sign after each."""
    words = view.translate(_WORDS)
    start = words.find(_RUN)
    while start >= 0:
        end = words.find(b" ", start) + 1 or len(view)
        yield start, end
        start = words.find(_RUN, end)


def shaped(view: bytes, runs: Runs) -> Iterator[Span]:
    """Where credentials are, in no order; some may overlap."""
    if runs is not NO_RUNS:
        yield from _in_runs(view, runs)
        yield from _prefixed(runs)
    for shape in _ANYWHERE:
        yield from _judged(shape, view, _within(shape, view, 0, len(view)))
    if b"@" in view:
        yield from _judged(URL_PASSWORD, view, _before_ats(view))
    yield from _named(view, view.translate(FOLD))


def _named(view: bytes, folded: bytes) -> Iterator[Span]:
    """What has its name before it, and the private keys."""
    for mention in _within(PRIVATE, folded, 0, len(folded)):
        yield from _private(view, mention.start())
    for shape in HEADERS:
        yield from _judged(shape, view, _within(shape, folded, 0, len(folded)))
    for start, end in _live(folded):
        for shape in ASSIGNED:
            yield from _judged(shape, view, _holding(_within(shape, folded, start, end)))


def _live(folded: bytes) -> Iterator[tuple[int, int]]:
    """The stretches with digits or long names in them: no value without either is a secret."""
    begin = stop = 0
    for first in range(0, len(folded), _STRETCH):
        last = first + _STRETCH
        reach = last + LONGEST_ASSIGNMENT
        if folded.find(b"0", first, reach) < 0 and _LETTERS not in folded[first:reach].translate(_WORDS):
            continue
        if first > stop:
            yield begin, stop
            begin = first
        stop = last
    yield begin, stop


def _within(shape: Shape, text: bytes, start: int, end: int) -> Iterable["re.Match[bytes]"]:
    """The matches that begin there; they may end further on. Mostly there is none."""
    at = text.find(shape.anchor, start, end + len(shape.anchor) - 1)
    if at < 0 or (first := shape.pattern.search(text, at, end + shape.reach)) is None:
        return ()
    return takewhile(lambda match: match.start() < end, shape.pattern.finditer(text, first.start(), end + shape.reach))


def _holding(assignments: Iterable["re.Match[bytes]"]) -> Iterable["re.Match[bytes]"]:
    """Without those whose name goes on as one that only tells about a secret."""
    return assignments and (match for match in assignments if not ABOUT.match(match["rest"]))


def _private(view: bytes, mention: int) -> Iterator[Span]:
    for shape in PRIVATE_KEYS:
        start = view.rfind(shape.anchor, max(0, mention - BEFORE_NAME), mention + len(shape.anchor))
        match = shape.pattern.match(view, start) if start >= 0 else None
        yield from _judged(shape, view, (match,) if match is not None else ())


def _before_ats(view: bytes) -> Iterator["re.Match[bytes]"]:
    """The passwords of addresses, found by the sign after them."""
    pattern = URL_PASSWORD.pattern
    count, at = 0, view.find(b"@")
    while at >= 0:
        count += 1
        if count * _FAR_APART > at + _AT_FIRST:
            yield from pattern.finditer(view, max(0, at - LONGEST_URL))
            return
        if view[at - 1] not in _BLANKS:
            start = view.rfind(URL_PASSWORD.anchor, max(0, at - LONGEST_URL), at)
            if start >= 0 and (match := pattern.match(view, start)) is not None:
                yield match
        at = view.find(b"@", at + 1)


def _in_runs(view: bytes, runs: Runs) -> Iterator[Span]:
    most = _MANY + len(view) // _FAR_APART
    heads = list(islice(_heads().finditer(b" " + runs.text.translate(_SPACED)), most))
    if len(heads) == most:
        # So many would cost more one by one than the whole text does.
        for shape in (*_IN_RUNS.values(), DISCORD):
            yield from _judged(shape, view, shape.pattern.finditer(view))
        return
    for head in heads:
        shape = _IN_RUNS.get(head[1], DISCORD)
        # The blank before the head may be the sign that the anchor begins with.
        match = shape.pattern.match(view, runs.place(head.start()) - shape.anchor.startswith((b":", b"/")))
        if match is not None:
            yield from _judged(shape, view, (match,))


def _judged(shape: Shape, view: bytes, matches: Iterable["re.Match[bytes]"]) -> Iterable[Span]:
    """Those of the matches that are secrets."""
    return _accepted(shape, view, matches) if matches else ()


def _accepted(shape: Shape, view: bytes, matches: Iterable["re.Match[bytes]"]) -> Iterator[Span]:
    # The same text is often there many times.
    verdicts: dict[bytes, bool] = {}
    for match in matches:
        start, end = match.span(shape.group)
        secret = view[start:end]
        is_secret = verdicts.get(secret)
        if is_secret is None:
            is_secret = verdicts[secret] = shape.accept is None or shape.accept(secret)
        if is_secret:
            yield start, end, "anthropic" if secret.startswith(b"sk-ant-") else shape.kind


def _prefixed(runs: Runs) -> Iterator[Span]:
    rest = compiled(AFTER_PREFIX)
    view = runs.text
    verdicts: dict[bytes, bool] = {}
    structure = view.translate(_STRUCTURE)
    at = structure.find(_KEY)
    while at >= 0:
        for prefix in _BY_ENDING.get(view[max(0, at - 2) : at], ()):
            start = at - len(prefix)
            if start >= 0 and view.startswith(prefix, start) and (start == 0 or view[start - 1] not in _ALNUM):
                match = rest.match(view, at)
                if match is not None and _is_secret(prefix, match[0], verdicts):
                    yield runs.place(start), runs.place(at) + match.end() - at, PREFIXES[prefix]
        at = structure.find(_KEY, at + len(_KEY))


def _is_secret(prefix: bytes, rest: bytes, verdicts: dict[bytes, bool]) -> bool:
    key = prefix + rest
    if key not in verdicts:
        verdicts[key] = (is_random if prefix in _WORDY else is_no_example)(rest)
    return verdicts[key]
