"""Which message a reply answers: the tags a model may write, and the channel's habit where it writes none."""

import re
from typing import Literal

from ostiary.contracts.records import dataclass

ReplyToMode = Literal["off", "first", "all"]
_TAG = re.compile(r"\[\[\s*reply_to(?:_current|\s*:\s*([^\]\s][^\]\n]{0,127}?))\s*\]\]", re.IGNORECASE)
_MARK = re.compile(r"`+|\[|\n")
_FENCE = 3
_LONGEST_TAG = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """`text` without tags. `reply_to` is what the first tag names, empty without one."""

    text: str
    reply_to: str = ""


class TagFilter:
    """Feed it the deltas of one answer; it gives them back without tags. `finish` gives what was held back.

    No half of a tag is ever given out, and what is given depends only on the text, not on how it was cut up. A tag inside code
    stays: there it is text. `first` is what the first tag names, None for the message being answered; see `found`."""

    __slots__ = ("_fenced", "_held", "_inline", "_started", "_trims", "first", "found")

    def __init__(self) -> None:
        self.found = False
        self.first: str | None = None
        self._held = ""
        self._fenced = False
        self._inline = False
        self._started = False
        self._trims = False

    def feed(self, delta: str) -> str:
        if not (self._held or self._trims or self._inline or "[" in delta or "`" in delta):
            self._started = self._started or bool(delta)
            return delta
        text, self._held = self._held + delta, ""
        given: list[str] = []
        place = self._trim(text, 0)
        while place < len(text):
            place = self._next(text, place, given)
        shown = "".join(given)
        self._started = self._started or bool(shown)
        return shown

    def finish(self) -> str:
        rest, self._held = self._held, ""
        return rest

    def _next(self, text: str, place: int, given: list[str]) -> int:
        mark = _MARK.search(text, place)
        if mark is None:
            given.append(text[place:])
            return len(text)
        given.append(text[place : mark.start()])
        if mark[0] == "[" and not (self._fenced or self._inline):
            return self._bracket(text, mark.start(), given)
        if mark[0][0] == "`" and mark.end() == len(text) and len(mark[0]) < _LONGEST_TAG:
            # The run may go on, and how long it is decides what it means.
            self._held = mark[0]
            return len(text)
        if mark[0] == "\n":
            self._inline = False
        elif len(mark[0]) >= _FENCE:
            self._fenced, self._inline = not self._fenced, False
        elif mark[0] == "`" and not self._fenced:
            self._inline = not self._inline
        given.append(mark[0])
        return mark.end()

    def _bracket(self, text: str, place: int, given: list[str]) -> int:
        tag = _TAG.match(text, place)
        if tag is not None:
            if not self.found:
                self.found, self.first = True, tag[1].strip() if tag[1] else None
            self._trims = True
            self._started = self._started or any(given)
            return self._trim(text, tag.end())
        if _may_become_tag(text[place : place + _LONGEST_TAG + 1]):
            self._held = text[place:]
            return len(text)
        given.append("[")
        return place + 1

    def _trim(self, text: str, place: int) -> int:
        """Past the white space behind a tag; at the beginning also past empty lines."""
        if not self._trims:
            return place
        spaces = " \t" if self._started else " \t\r\n"
        while place < len(text) and text[place] in spaces:
            place += 1
        self._trims = place == len(text)
        return place


def read_reply_tag(text: str, current: str) -> Tagged:
    """`current` is the id of the message being answered. Tags inside code stay: there they are text."""
    if "[[" not in text:
        return Tagged(text=text)
    tags = TagFilter()
    shown = tags.feed(text) + tags.finish()
    return Tagged(text=shown.strip(), reply_to=tags.first or current) if tags.found else Tagged(text=text)


def _may_become_tag(text: str) -> bool:
    """Whether more characters could make this the beginning of a tag. `text` begins with `[`."""
    if len(text) > _LONGEST_TAG or not (text == "[" or text.startswith("[[")):
        return False
    inner = text[2:].lstrip().lower()
    if "reply_to_current".startswith(inner):
        return True
    if inner.startswith("reply_to_current"):
        return inner.removeprefix("reply_to_current").strip() in ("", "]")
    name = inner.removeprefix("reply_to").lstrip()
    if name == inner or not (name == "" or name[0] == ":") or "\n" in name.lstrip(": \t\r\n"):
        return False
    return "]" not in name.removesuffix("]")


def reply_targets(mode: ReplyToMode, tagged: str, current: str, messages: int) -> list[str]:
    """What each of the messages of one reply answers, empty for nothing.

    A tag always counts and marks the first message, in `all` mode every one; without a tag `off` marks none."""
    target = tagged or (current if mode != "off" else "")
    return [target if place == 0 or mode == "all" else "" for place in range(messages)]


def response_prefix(settings: tuple[str | None, ...], *, first: bool = True) -> str:
    """The most specific prefix that is set (account, channel, general; an empty text means none), with a space behind it.

    Only the first message of a reply carries it."""
    chosen = next((each for each in settings if each is not None), "")
    return f"{chosen.rstrip()} " if chosen.strip() and first else ""
