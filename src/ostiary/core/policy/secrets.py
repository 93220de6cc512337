"""The secret guard: takes secrets out of text before the model, the journal, a log or a person far away sees it.

Two ways of knowing one: the secrets we hold ourselves, in every form of `known_secrets`, and the shapes of `secret_shapes`.
Pure, and linear in the text: a search for each anchor, then a pattern only where its anchor stands.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Final

from ostiary.contracts.records import dataclass
from ostiary.core.policy.known_secrets import Form, Known, as_bytes, prepared
from ostiary.core.policy.protected import protected_path
from ostiary.core.policy.secret_commands import secret_command
from ostiary.core.policy.secret_shapes import (
    ABOUT,
    AFTER_PREFIX,
    BEFORE_RUN,
    DISCORD,
    FOLD,
    LONG_RUN,
    PREFIXES,
    SHAPES,
    Shape,
    compiled,
    is_no_example,
    is_random,
)

Span = tuple[int, int, str]

KNOWN: Final = "known"

_WORTH_CONDENSING = 512
_ALNUM = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_WORDS = bytes(97 if c in _ALNUM or c in b"_-" else 32 for c in range(256))
_STRUCTURE = bytes(97 if c in _ALNUM else 95 if c in b"_-" else 32 for c in range(256))
# Word characters as they are, all else a blank.
_SPACED = bytes(c if c in _ALNUM or c in b"_-" else 32 for c in range(256))
_FAR_APART = 400
_AT_FIRST = 64 * _FAR_APART
_MANY = 512
_RUN = b"a" * LONG_RUN
_KEY = b"_" + b"a" * 20
_ANYWHERE: Final = tuple(shape for shape in SHAPES if not shape.in_run and not shape.folded)
_FOLDED: Final = tuple(shape for shape in SHAPES if shape.folded)
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
class _Runs:
    """The long runs of word characters of a text, each with a little of what stands before it: where most shapes begin.

    The piece of `text` that begins at `begins[n]` stands `further[n]` characters further on in the whole."""

    text: bytes
    begins: tuple[int, ...] = (0,)
    further: tuple[int, ...] = (0,)

    def place(self, at: int) -> int:
        return at + self.further[bisect_right(self.begins, at) - 1]


_NO_RUNS: Final = _Runs(text=b"")


class Guard:
    """`known` gives the secrets we hold, at each call as they are then; `state` are our own folders on this machine."""

    __slots__ = ("_known", "_secrets", "_state", "_table")

    def __init__(self, known: Callable[[], tuple[str, ...]] = tuple, *, state: tuple[str, ...] = ()) -> None:
        self._known = known
        self._state = state
        self._secrets: tuple[str, ...] = ()
        self._table = Known()

    def redact(self, text: str) -> str:
        """The same text with `[redacted:<kind>]` for each secret; the very same object if there is none."""
        spans = self.spans(text)
        if not spans:
            return text
        pieces: list[str] = []
        place = 0
        for start, end, kind in spans:
            pieces += (text[place:start], f"[redacted:{kind}]")
            place = end
        pieces.append(text[place:])
        return "".join(pieces)

    def finds(self, text: str) -> tuple[str, ...]:
        """The kinds of secrets in it, each once, in order."""
        return tuple(dict.fromkeys(kind for _, _, kind in self.spans(text)))

    def spans(self, text: str) -> tuple[Span, ...]:
        """Where they are, in order, none touching another."""
        view = as_bytes(text)
        runs = _runs(view)
        found = [*_shaped(view, runs), *self._held(text, view, runs)]
        return _apart(found) if found else ()

    def stream(self) -> "Stream":
        """For text that comes in pieces."""
        return Stream(self)

    def protected_path(self, path: str) -> str:
        """Why this path may not be touched, else empty."""
        return protected_path(path, state=self._state)

    def secret_command(self, command: str) -> str:
        """Why this command would show secrets, else empty."""
        return secret_command(command, state=self._state)

    def spaced_forms(self) -> tuple[str, ...]:
        """The forms that have white space in them: waiting for a word's end is not enough for those."""
        return self._current().spaced

    def _current(self) -> Known:
        secrets = self._known()
        if secrets is not self._secrets and secrets != self._secrets:
            self._table = prepared(secrets)
        self._secrets = secrets
        return self._table

    def _held(self, text: str, view: bytes, runs: _Runs) -> Iterator[Span]:
        for form in self._current().found(view, runs.text.lower()):
            # Lowered as bytes: lowering text may change how long it is.
            yield from _everywhere(view.lower().decode("latin-1") if form.folded else text, form)


def _everywhere(text: str, form: Form) -> Iterator[Span]:
    """Each place of the form, with as much of the whole before and after it as is there."""
    before, after = form.whole[: form.place], form.whole[form.place + len(form.text) :]
    start = text.find(form.text)
    while start >= 0:
        end = start + len(form.text)
        first, last = start, end
        for letter in after:
            if text[last : last + 1] != letter:
                break
            last += 1
        for letter in reversed(before):
            if first == 0 or text[first - 1] != letter:
                break
            first -= 1
        yield first, last, KNOWN
        start = text.find(form.text, end)


def _runs(view: bytes) -> _Runs:
    """Nothing if there is none; all of the text if it is short or has so many that leaving the rest out would save nothing."""
    words = view.translate(_WORDS)
    if _RUN not in words:
        return _NO_RUNS
    if len(view) < _WORTH_CONDENSING:
        return _Runs(text=view)
    pieces: list[bytes] = []
    begins, further = [0], [0]
    size = 0
    start = words.find(_RUN)
    while start >= 0:
        end = words.find(b" ", start)
        end = len(view) if end < 0 else end
        first = max(0, start - BEFORE_RUN)
        pieces.append(view[first : end + 1])
        begins.append(size)
        further.append(first - size)
        size += len(pieces[-1])
        if len(pieces) * _FAR_APART > min(len(view), end + _AT_FIRST):
            return _Runs(text=view)
        start = words.find(_RUN, end)
    return _Runs(text=b"".join(pieces), begins=tuple(begins), further=tuple(further))


def _shaped(view: bytes, runs: _Runs) -> Iterator[Span]:
    if runs is not _NO_RUNS:
        yield from _in_runs(view, runs)
        yield from _prefixed(runs)
    for shape in _ANYWHERE:
        if (first := view.find(shape.anchor)) >= 0:
            yield from _judged(shape, view, shape.pattern.finditer(view, first))
    folded = view.translate(FOLD)
    for shape in _FOLDED:
        if (first := folded.find(shape.anchor)) >= 0:
            yield from _judged(shape, view, shape.pattern.finditer(folded, first))


def _in_runs(view: bytes, runs: _Runs) -> Iterator[Span]:
    most = _MANY + len(view) // _FAR_APART
    heads = list(islice(_heads().finditer(b" " + runs.text.translate(_SPACED)), most))
    if len(heads) == most:
        # So many would cost more one by one than the whole text does.
        for shape in (*_IN_RUNS.values(), DISCORD):
            yield from _judged(shape, view, shape.pattern.finditer(view))
        return
    for head in heads:
        shape = _IN_RUNS.get(head[1], DISCORD)
        # The blank before the head may be the colon that the anchor begins with.
        match = shape.pattern.match(view, runs.place(head.start()) - shape.anchor.startswith(b":"))
        if match is not None:
            yield from _judged(shape, view, (match,))


def _judged(shape: Shape, view: bytes, matches: Iterable["re.Match[bytes]"]) -> Iterator[Span]:
    """Those of the matches that are secrets."""
    has_rest = "rest" in shape.pattern.groupindex
    group: str | int = "secret" if "secret" in shape.pattern.groupindex else 0
    # The same text is often there many times.
    verdicts: dict[bytes, bool] = {}
    for match in matches:
        start, end = match.span(group)
        if has_rest and ABOUT.match(match["rest"]):
            continue
        secret = view[start:end]
        is_secret = verdicts.get(secret)
        if is_secret is None:
            is_secret = verdicts[secret] = shape.accept is None or shape.accept(secret)
        if is_secret:
            yield start, end, "anthropic" if secret.startswith(b"sk-ant-") else shape.kind


def _prefixed(runs: _Runs) -> Iterator[Span]:
    rest = compiled(AFTER_PREFIX)
    view = runs.text
    structure = view.translate(_STRUCTURE)
    at = structure.find(_KEY)
    while at >= 0:
        for prefix in _BY_ENDING.get(view[max(0, at - 2) : at], ()):
            start = at - len(prefix)
            if start >= 0 and view.startswith(prefix, start) and (start == 0 or view[start - 1] not in _ALNUM):
                match = rest.match(view, at)
                if match is not None and (is_random if prefix in _WORDY else is_no_example)(match[0]):
                    yield runs.place(start), runs.place(at) + match.end() - at, PREFIXES[prefix]
        at = structure.find(_KEY, at + len(_KEY))


def _apart(found: list[Span]) -> tuple[Span, ...]:
    """Overlapping and touching finds become one, named after the longest; what we hold ourselves keeps its name."""
    found.sort()
    joined: list[Span] = []
    for start, end, kind in found:
        if joined and start <= joined[-1][1]:
            first, last, name = joined[-1]
            if name != KNOWN and (kind == KNOWN or end - start > last - first):
                name = kind
            joined[-1] = (first, max(last, end), name)
        else:
            joined.append((start, end, kind))
    return tuple(joined)


_HOLD = 8192
_HOLD_KEY = 40_000
_CONTEXT = 120
_KEY_BEGINS = "-----BEGIN "
_KEY_ENDS = re.compile("-----END [^-]{1,40}+-----")
_OPEN = re.compile(
    r"(?i:passw(?:or)?d|passphrase|pwd|secret|token|key|authorization|bearer)[\w-]{0,16}+[\"'`\]]{0,2}+\s{0,3}+"
    r"(?:(?:=>|:=|={1,2}|:)\s{0,3}+)?[\"'`]?(?:(?i:basic|bearer|token|apikey|api-key|digest|key)\s{0,3}+)?\Z"
)


class Stream:
    """Pieces in, safe pieces out. Held back is the word that is not finished yet, the name before a value that is still to
    come, and a private key until its end; never more than 40,000 characters."""

    __slots__ = ("_guard", "_held")

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._held = ""

    def feed(self, piece: str) -> str:
        """What may be shown now; empty while the text could still become a secret."""
        self._held += piece
        cut = self._safe_until()
        if cut <= 0:
            return ""
        ready, self._held = self._held[:cut], self._held[cut:]
        return self._guard.redact(ready)

    def end(self) -> str:
        """The rest."""
        ready, self._held = self._held, ""
        return self._guard.redact(ready)

    def _safe_until(self) -> int:
        text = self._held
        cut = max(text.rfind(" "), text.rfind("\n"), text.rfind("\t")) + 1
        if len(text) - cut > _HOLD:
            return self._inside_long_word(cut)
        if cut:
            opened = _OPEN.search(text, max(0, cut - _CONTEXT), cut)
            if opened is not None:
                # The name's own beginning decides too what it is the name of.
                cut = _word_start(text, opened.start())
        begins = text.rfind(_KEY_BEGINS)
        if 0 <= begins < cut and len(text) - begins < _HOLD_KEY and cut < _key_end(text, begins):
            cut = begins
        for form in self._guard.spaced_forms():
            place = text.rfind(form)
            if 0 <= place < cut < place + len(form):
                cut = place
            cut = min(cut, len(text) - _overlap(text, form))
        return cut

    def _inside_long_word(self, start: int) -> int:
        """A word longer than any key (an image, say) goes on in halves, cut where no secret is."""
        cut = len(self._held) - _HOLD // 2
        for first, last, _ in self._guard.spans(self._held):
            if first < cut < last:
                cut = first
        return cut if cut > 0 or len(self._held) < 2 * _HOLD else len(self._held)


def _word_start(text: str, place: int) -> int:
    while place > 0 and not text[place - 1].isspace():
        place -= 1
    return place


def _key_end(text: str, begins: int) -> int:
    """Where the private key that begins here is over; beyond the text while it is not. Other blocks are over at once."""
    if len(text) - begins >= 60 and "PRIVATE KEY" not in text[begins : begins + 60]:
        return begins
    ends = _KEY_ENDS.search(text, begins)
    return len(text) + 1 if ends is None else ends.end()


def _overlap(text: str, form: str) -> int:
    """How much of the text's end is the form's beginning."""
    return next((size for size in range(min(len(form) - 1, len(text)), 0, -1) if text.endswith(form[:size])), 0)
