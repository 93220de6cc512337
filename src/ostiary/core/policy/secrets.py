"""The secret guard: takes secrets out of text before the model, the journal, a log or a person far away sees it.

Two ways of knowing one: the secrets we hold ourselves, in every form of `known_secrets`, and the shapes of `secret_shapes`.
Pure, and linear in the text: a search for each anchor, then a pattern only where its anchor stands.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from ostiary.core.policy.known_secrets import GRAMMED, Form, forms_of, grams_of, may_hold
from ostiary.core.policy.protected import protected_path
from ostiary.core.policy.secret_commands import secret_command
from ostiary.core.policy.secret_shapes import (
    ABOUT,
    AFTER_PREFIX,
    DISCORD,
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

_BEFORE_RUN = 12
_WORTH_CONDENSING = 16 * 1024
_ALNUM = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_WORDS = bytes(97 if c in _ALNUM or c in b"_-" else 32 for c in range(256))
_STRUCTURE = bytes(97 if c in _ALNUM else 95 if c in b"_-" else 32 for c in range(256))
# Word characters as they are, all else a blank.
_SPACED = bytes(c if c in _ALNUM or c in b"_-" else 32 for c in range(256))
_MANY = 512
_RUN = b"a" * LONG_RUN
_KEY = b"_" + b"a" * 20
_IN_RUNS: Final = tuple(shape for shape in SHAPES if shape.in_run)
_ANYWHERE: Final = tuple(shape for shape in SHAPES if not shape.in_run and not shape.folded)
_FOLDED: Final = tuple(shape for shape in SHAPES if shape.folded)
# Words before a dash that people also write: what follows must have been drawn.
_WORDY = frozenset({b"key", b"secret", b"fw", b"ol", b"odt", b"csk", b"glc", b"hf", b"phc"})


_ALL_HEADS: Final = frozenset(
    {*(shape.anchor.translate(_SPACED).lstrip() for shape in _IN_RUNS), *(prefix + b"_" for prefix in PREFIXES), b"M "}
)


def _by_ending() -> dict[bytes, tuple[bytes, ...]]:
    found: dict[bytes, tuple[bytes, ...]] = {}
    for prefix in PREFIXES:
        found[prefix[-2:]] = (*found.get(prefix[-2:], ()), prefix)
    return found


_BY_ENDING: Final = _by_ending()


@cache
def _heads() -> "re.Pattern[bytes]":
    """How shapes that stand in a long run begin, in text whose other signs are all blanks: the engine flies from blank to
    blank."""
    anchors = {_plain(shape.anchor) for shape in _IN_RUNS}
    by_letter: dict[bytes, list[bytes]] = {}
    for anchor in sorted(anchors):
        by_letter.setdefault(anchor[:1], []).append(re.escape(anchor[1:]))
    for prefix in sorted(PREFIXES):
        by_letter.setdefault(prefix[:1], []).append(re.escape(prefix[1:]) + rb"[_-](?=[A-Za-z0-9]{20})")
    tree = b"|".join(re.escape(letter) + b"(?:" + b"|".join(rest) + b")" for letter, rest in by_letter.items())
    return re.compile(rb" (" + tree + rb"|[MNO][A-Za-z0-9]{22,27}+ )")


def _plain(anchor: bytes) -> bytes:
    return anchor.translate(_SPACED).lstrip()


class Guard:
    """`known` gives the secrets we hold, at each call as they are then; `state` are our own folders on this machine."""

    __slots__ = ("_forms", "_grams", "_known", "_secrets", "_spaced", "_state")

    def __init__(self, known: Callable[[], tuple[str, ...]] = tuple, *, state: tuple[str, ...] = ()) -> None:
        self._known = known
        self._state = state
        self._secrets: tuple[str, ...] = ()
        self._forms: tuple[Form, ...] = ()
        self._grams: frozenset[int] = frozenset()
        self._spaced: tuple[str, ...] = ()

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
        # One byte for each character: what is found has the same place in the text.
        view = text.encode("latin-1", "replace")
        core = _condensed(view)
        found = [*_shaped(view, core), *self._held(text, view, core)]
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
        self._current()
        return self._spaced

    def _current(self) -> tuple[Form, ...]:
        secrets = self._known()
        if secrets is not self._secrets and secrets != self._secrets:
            self._forms = forms_of(secrets)
            self._grams = grams_of(self._forms)
            self._spaced = tuple(form.text for form in self._forms if form.is_spaced)
        self._secrets = secrets
        return self._forms

    def _held(self, text: str, view: bytes, core: bytes) -> Iterator[Span]:
        folded = b""
        forms = self._current()
        is_likely = len(view) < _WORTH_CONDENSING or may_hold(core, self._grams)
        for form in forms:
            if len(form.text) > len(text):
                return
            if not is_likely and form.run and len(form.sought) >= GRAMMED:
                continue
            if form.folded:
                folded = folded or core.lower()
                if form.sought in folded:
                    # Lowered as bytes: lowering text may change how long it is.
                    yield from _everywhere(view.lower().decode("latin-1"), form)
            elif not form.sought or ((not form.run or core is view or form.run in core) and form.sought in view):
                yield from _everywhere(text, form)


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


def _condensed(view: bytes) -> bytes:
    """Only the long runs of word characters, each with a little of what stands before it: where most shapes can be at all.

    The text itself if it is short or has so many that leaving the rest out would save nothing."""
    if len(view) < _WORTH_CONDENSING:
        return view
    words = view.translate(_WORDS)
    if words.count(_RUN) * LONG_RUN * 4 > len(view):
        return view
    pieces: list[bytes] = []
    start = words.find(_RUN)
    while start >= 0:
        end = words.find(b" ", start)
        end = len(view) if end < 0 else end
        pieces.append(view[max(0, start - _BEFORE_RUN) : end + 1])
        start = words.find(_RUN, end)
    return b"\n".join(pieces)


def _shaped(view: bytes, core: bytes) -> Iterator[Span]:
    heads = _beginnings(core)
    if heads:
        yield from _in_runs(view, heads)
    for shape in _ANYWHERE:
        yield from _matches(shape, view, view)
    folded = view.lower()
    for shape in _FOLDED:
        yield from _matches(shape, view, folded)


def _beginnings(core: bytes) -> frozenset[bytes]:
    """Which shapes seem to begin somewhere. With very many beginnings all of them: looking on would cost more."""
    found: set[bytes] = set()
    for number, match in enumerate(_heads().finditer(b" " + core.translate(_SPACED))):
        found.add(match[1])
        if number == _MANY:
            return _ALL_HEADS
    return frozenset(found)


def _in_runs(view: bytes, heads: frozenset[bytes]) -> Iterator[Span]:
    for shape in _IN_RUNS:
        if _plain(shape.anchor) in heads:
            yield from _matches(shape, view, view)
    if any(head[:-1] in PREFIXES for head in heads):
        yield from _prefixed(view, view.translate(_STRUCTURE))
    if any(head[:1] in b"MNO" and head.endswith(b" ") for head in heads):
        for match in compiled(DISCORD).finditer(view):
            yield match.start(), match.end(), "discord"


def _matches(shape: Shape, view: bytes, searched: bytes) -> Iterator[Span]:
    first = searched.find(shape.anchor)
    if first < 0:
        return
    pattern = shape.pattern
    has_rest = "rest" in pattern.groupindex
    group: str | int = "secret" if "secret" in pattern.groupindex else 0
    # A lookbehind still sees what stands before the place where the search begins.
    for match in pattern.finditer(searched, first):
        start, end = match.span(group)
        if has_rest and ABOUT.match(match["rest"]):
            continue
        if shape.accept is None or shape.accept(view[start:end]):
            yield start, end, "anthropic" if view.startswith(b"sk-ant-", start) else shape.kind


def _prefixed(view: bytes, structure: bytes) -> Iterator[Span]:
    rest = compiled(AFTER_PREFIX)
    at = structure.find(_KEY)
    while at >= 0:
        for prefix in _BY_ENDING.get(view[max(0, at - 2) : at], ()):
            start = at - len(prefix)
            if view[max(0, start) : at] == prefix and (start == 0 or view[start - 1] not in _ALNUM):
                match = rest.match(view, at)
                if match is not None and (is_random if prefix in _WORDY else is_no_example)(match[0]):
                    yield start, match.end(), PREFIXES[prefix]
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
