"""The secret guard: takes secrets out of text before the model, the journal, a log or a person far away sees it.

Two ways of knowing one: the secrets we hold ourselves, in every form of `known_secrets`, and the shapes of `secret_shapes`.
Pure, and linear in the text.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from ostiary.core.policy.invisible import visible
from ostiary.core.policy.known_secrets import Form, Known, as_bytes, prepared
from ostiary.core.policy.protected import protected_path
from ostiary.core.policy.secret_commands import secret_command
from ostiary.core.policy.secret_search import Runs, Span, runs_of, shaped

KNOWN: Final = "known"
KNOWN_MARK: Final = f"[redacted:{KNOWN}]"


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
        return _without(text, self.spans(text))

    def redact_known(self, text: str) -> str:
        """As `redact`, for text that may hold what looks like a secret: only those that we hold ourselves are taken out."""
        return _without(text, self._spans(text, self._held))

    def finds(self, text: str) -> tuple[str, ...]:
        """The kinds of secrets in it, each once, in order."""
        return tuple(dict.fromkeys(kind for _, _, kind in self.spans(text)))

    def spans(self, text: str) -> tuple[Span, ...]:
        """Where they are, in order, none touching another."""
        return self._spans(text, self._found)

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

    def _spans(self, text: str, find: Callable[[str, bytes, Runs], Iterator[Span]]) -> tuple[Span, ...]:
        view = as_bytes(text)
        found = list(find(text, view, runs_of(view)))
        seen = visible(text, view)
        if seen is not None:
            seen_view = as_bytes(seen.text)
            places = find(seen.text, seen_view, runs_of(seen_view))
            found += ((seen.place(start), seen.place(end - 1) + 1, kind) for start, end, kind in places)
        return _apart(found) if found else ()

    def _found(self, text: str, view: bytes, runs: Runs) -> Iterator[Span]:
        yield from shaped(view, runs)
        yield from self._held(text, view, runs)

    def _held(self, text: str, view: bytes, runs: Runs) -> Iterator[Span]:
        for form in self._current().found(view, runs.text.lower()):
            # Lowered as bytes: lowering text may change how long it is.
            yield from _everywhere(view.lower().decode("latin-1") if form.folded else text, form)


def _without(text: str, spans: tuple[Span, ...]) -> str:
    if not spans:
        return text
    pieces: list[str] = []
    place = 0
    for start, end, kind in spans:
        pieces += (text[place:start], f"[redacted:{kind}]")
        place = end
    pieces.append(text[place:])
    return "".join(pieces)


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
