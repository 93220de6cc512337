"""From what a model wrote to what people read: silence, thinking tags, stray control characters, repetitions.

Everything here works on a stream: what has been shown depends only on the text so far, never on how it was cut up, and
no half of a `NO_REPLY` or of a tag is ever shown. The whole reply is shaped by the same machine.
"""

import re
from collections.abc import Iterable

from ostiary.contracts.records import dataclass

NO_REPLY = "NO_REPLY"

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_TAG = re.compile(r"<(/?)(think|thinking|thought|antthinking|final)(?:\s[^<>\n]{0,64})?>", re.IGNORECASE)
_TAG_NAMES = ("think", "thinking", "thought", "antthinking", "final")
_LONGEST_TAG = 96
_SPACE = re.compile(r"\s+")
_TOKEN_START = re.compile(r"(?<!\w)N")
_NOT_WORD = re.compile(r"\W+")
_LEADING_MARKS = frozenset("*`\"'([")
_MOST_MARKS = 8
_MIN_REPEATED = 10
_MAX_ERROR = 300


class StreamFilter:
    """Feed it the deltas of one answer; it gives back what may be shown now. `finish` gives the rest.

    `thinking` is what stood between thinking tags. `silent` is final after `finish`: the answer asked for silence, and what
    was shown before a trailing NO_REPLY is void. `starts_thinking` is for models whose template opens the tag for them.
    """

    __slots__ = ("_silence", "_tags")

    def __init__(self, *, starts_thinking: bool = False) -> None:
        self._tags = _Tags(starts_thinking)
        self._silence = _Silence()

    @property
    def thinking(self) -> str:
        return "".join(self._tags.thinking).strip()

    @property
    def silent(self) -> bool:
        return self._silence.silent

    def feed(self, delta: str) -> str:
        return self._silence.feed(self._tags.feed(_CONTROLS.sub("", delta)))

    def finish(self) -> str:
        return self._silence.feed(self._tags.finish()) + self._silence.finish()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """`text` is empty when nothing is to be said; `silent` tells that this was the model's wish."""

    text: str
    thinking: str
    silent: bool


def shape(text: str, *, starts_thinking: bool = False) -> Shaped:
    """A whole answer through the same machine as a streamed one."""
    filtered = StreamFilter(starts_thinking=starts_thinking)
    shown = filtered.feed(text) + filtered.finish()
    return Shaped(text="" if filtered.silent else shown, thinking=filtered.thinking, silent=filtered.silent)


def shape_reply(text: str, *, failed_tool: str = "", sent: Iterable[str] = ()) -> str:
    """What people are told at the end of a turn; empty means silence.

    `sent` holds the texts a message tool already delivered: a reply that only repeats one is dropped. `failed_tool`
    ("name: what went wrong") becomes the reply when there is nothing else, unless the model chose silence or has already
    spoken through a message tool.
    """
    shaped = shape(text)
    delivered = [spoken for spoken in map(_normal, sent) if spoken]
    if shaped.silent or (delivered and repeats(shaped.text, delivered)):
        return ""
    if shaped.text or delivered or not failed_tool:
        return shaped.text
    name, _, reason = _CONTROLS.sub("", failed_tool).partition(":")
    said = " ".join(reason.split())
    if len(said) > _MAX_ERROR:
        said = said[:_MAX_ERROR].rstrip() + "…"
    return f"The tool {name.strip()} failed: {said}" if said else f"The tool {name.strip()} failed."


def repeats(text: str, sent: Iterable[str]) -> bool:
    """Whether the text says nothing that was not sent before: equal to it, or a longer piece of it."""
    own = _normal(text)
    if not own:
        return False
    return any(own == spoken or (len(own) >= _MIN_REPEATED and own in spoken) for spoken in map(_normal, sent))


def _normal(text: str) -> str:
    return " ".join(_NOT_WORD.sub(" ", text.casefold()).split())


class _Tags:
    """Takes thinking out of the visible text. A tag counts only at the beginning of a line outside code fences, so that
    an answer may speak about tags; a closing tag counts wherever its opening one is in force."""

    __slots__ = ("_fenced", "_final", "_held", "_line_start", "_thinking", "thinking")

    def __init__(self, starts_thinking: bool) -> None:
        self.thinking: list[str] = []
        self._held = ""
        self._thinking = starts_thinking
        self._final = False
        self._fenced = False
        self._line_start = True

    def feed(self, delta: str) -> str:
        text = self._held + delta
        self._held = ""
        shown: list[str] = []
        place = 0
        while place < len(text):
            if self._thinking:
                place = self._think(text, place)
            elif self._line_start:
                place = self._begin_line(text, place, shown)
            else:
                place = self._go_on(text, place, shown)
        return "".join(shown)

    def finish(self) -> str:
        rest, self._held = self._held, ""
        # Three characters of a tag are a tag cut off, fewer are text.
        if self._thinking or (rest.startswith("<") and len(rest) > 2):
            return ""
        return rest

    def _think(self, text: str, place: int) -> int:
        sign = text.find("<", place)
        if sign < 0:
            self.thinking.append(text[place:])
            return len(text)
        self.thinking.append(text[place:sign])
        tag = _TAG.match(text, sign)
        if tag is not None and tag[1] and tag[2].lower() != "final":
            self._thinking = False
            self._line_start = True
            return tag.end()
        if tag is None and _may_become_tag(text[sign : sign + _LONGEST_TAG + 1]):
            self._held = text[sign:]
            return len(text)
        self.thinking.append("<")
        return sign + 1

    def _begin_line(self, text: str, place: int, shown: list[str]) -> int:
        character = text[place]
        if character.isspace():
            shown.append(character)
            return place + 1
        if character in "`~":
            if len(text) - place < 3 and text[place:] == character * (len(text) - place):
                self._held = text[place:]
                return len(text)
            if text.startswith(character * 3, place):
                self._fenced = not self._fenced
        if character == "<" and not self._fenced:
            after = self._tag(text, place)
            if after is not None:
                return after
        self._line_start = False
        shown.append(character)
        return place + 1

    def _go_on(self, text: str, place: int, shown: list[str]) -> int:
        line_end = text.find("\n", place)
        stop = len(text) if line_end < 0 else line_end + 1
        if self._final and not self._fenced:
            sign = text.find("<", place, stop)
            if sign >= 0:
                shown.append(text[place:sign])
                after = self._tag(text, sign)
                if after is not None:
                    return after
                shown.append("<")
                return sign + 1
        shown.append(text[place:stop])
        self._line_start = line_end >= 0
        return stop

    def _tag(self, text: str, place: int) -> int | None:
        """Behind a tag that counts here; the end of the text if it must be waited for; None if it is plain text."""
        tag = _TAG.match(text, place)
        if tag is None:
            if not _may_become_tag(text[place : place + _LONGEST_TAG + 1]):
                return None
            self._held = text[place:]
            return len(text)
        opens = not tag[1]
        if tag[2].lower() == "final":
            self._final = opens
        elif opens:
            self._thinking = True
        self._line_start = True
        return tag.end()


def _may_become_tag(text: str) -> bool:
    """Whether more characters could make this the beginning of a tag. `text` begins with `<`."""
    if len(text) > _LONGEST_TAG or ">" in text or "<" in text[1:] or "\n" in text:
        return False
    rest = text[1:].lower().removeprefix("/")
    return any(name.startswith(rest) or (rest.startswith(name) and not rest[len(name)].isalnum()) for name in _TAG_NAMES)


class _Silence:
    """Holds back what may turn out to be NO_REPLY, and white space that may turn out to be the end."""

    __slots__ = ("_after", "_held", "_marks", "_matched", "_started", "_word", "silent")

    def __init__(self) -> None:
        self.silent = False
        self._held: list[str] = []
        self._after: list[str] = []
        self._matched = 0
        self._marks = 0
        self._started = False
        self._word = False

    def feed(self, text: str) -> str:
        shown: list[str] = []
        place = 0
        while place < len(text) and not self.silent:
            if self._matched == len(NO_REPLY):
                place = self._behind_token(text, place, shown)
            elif self._matched:
                place = self._in_token(text, place, shown)
            elif self._started:
                place = self._in_text(text, place, shown)
            else:
                place = self._in_front(text, place, shown)
        return "".join(shown)

    def finish(self) -> str:
        matched, self._matched = self._matched, 0
        if self.silent or matched == len(NO_REPLY):
            self.silent = True
            return ""
        # "NO" is an answer; "NO_" and more is the token cut off.
        if matched > 2:
            self.silent = not self._started
            return ""
        if matched:
            return "".join(self._held) + NO_REPLY[:matched]
        return "".join(self._held).rstrip()

    def _show(self, shown: list[str], text: str) -> None:
        shown.extend(self._held)
        shown.append(text)
        self._held.clear()
        self._started = True

    def _in_text(self, text: str, place: int, shown: list[str]) -> int:
        """Show up to where the token may begin, except white space in front of that."""
        start = _TOKEN_START.search(text, place)
        if start is not None and start.start() == 0 and self._word:
            start = _TOKEN_START.search(text, 1)
        stop = len(text) if start is None else start.start()
        run = text[place:stop]
        said = run.rstrip()
        if said:
            self._show(shown, said)
        if len(said) < len(run):
            self._held.append(run[len(said) :])
        if run:
            self._word = run[-1].isalnum() or run[-1] == "_"
        if start is None:
            return stop
        self._matched = 1
        return stop + 1

    def _in_front(self, text: str, place: int, shown: list[str]) -> int:
        """Before anything was shown: white space is dropped, a few marks may stand around the token."""
        character = text[place]
        if character == "N":
            self._matched = 1
            return place + 1
        space = _SPACE.match(text, place)
        if space is not None:
            if self._held:
                self._held.append(space[0])
            return space.end()
        if character in _LEADING_MARKS and self._marks < _MOST_MARKS:
            self._held.append(character)
            self._marks += 1
            return place + 1
        self._show(shown, character)
        self._word = character.isalnum() or character == "_"
        return place + 1

    def _in_token(self, text: str, place: int, shown: list[str]) -> int:
        if text[place] == NO_REPLY[self._matched]:
            self._matched += 1
            return place + 1
        self._show(shown, NO_REPLY[: self._matched])
        self._matched = 0
        self._word = True
        return place

    def _behind_token(self, text: str, place: int, shown: list[str]) -> int:
        gap = _NOT_WORD.match(text, place)
        if gap is not None:
            self.silent = not self._started
            self._after.append(gap[0])
            return gap.end()
        self._show(shown, NO_REPLY + "".join(self._after))
        self._word = not self._after
        self._after.clear()
        self._matched = 0
        return place
