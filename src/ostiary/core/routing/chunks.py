"""Cutting Markdown text to a channel's limit without breaking code fences or characters.

This is for text that goes out as it is. Channels with a formatting of their own are cut by their renderer, which knows what
its marks take up.
"""

import re
from typing import Literal, NamedTuple

from ostiary.contracts.graphemes import boundary

_FENCE = re.compile(r"^ {0,12}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_SHORTEST = 16
_GAP = "\u200b"


class Fence(NamedTuple):
    """A code fence that is open: its first line, its mark, and where it began."""

    line: str
    mark: str
    at: int

    @property
    def closing(self) -> str:
        return f"\n{self.mark}"


def split_text(text: str, limit: int, *, lines: int = 0, mode: Literal["length", "newline"] = "length") -> list[str]:
    """Pieces of at most `limit` characters and, if set, `lines` lines; a limit under 16 counts as 16.

    Cut at a paragraph, else a line, a sentence, a word, else anywhere but inside a visible character. A code block that fits
    into a message stays whole; in one that does not, the fence is closed at the cut and opened again in the next piece. In
    `newline` mode every paragraph is a piece of its own."""
    limit = max(limit, _SHORTEST)
    parts = _paragraphs(text.strip()) if mode == "newline" else [text.strip()]
    return [piece for part in parts for piece in _pieces(part, limit, max(lines, 3) if lines else 0)]


def open_fence(text: str, start: int = 0, end: int | None = None, fence: Fence | None = None) -> Fence | None:
    """The fence that is open at `end`, given the one that is open at `start`."""
    for found in _FENCE.finditer(text, start, len(text) if end is None else end):
        mark, rest = found[1], found[2]
        if fence is None:
            # A backtick in the info line makes it inline code.
            if mark[0] == "~" or "`" not in rest:
                fence = Fence(found[0].strip(), mark, found.start())
        elif mark[0] == fence.mark[0] and len(mark) >= len(fence.mark) and not rest.strip():
            fence = None
    return fence


def past_closing(text: str, fence: Fence) -> int:
    """Where `text`, which begins inside `fence`, goes on after the closing line if that comes first; else 0."""
    start = len(text) - len(text.lstrip("\n"))
    found = _FENCE.match(text, start)
    return found.end() if found and open_fence(text, start, found.end(), fence) is None else 0


def best_break(text: str, low: int, high: int) -> int:
    """Where to end a piece of `text` between `low` and `high`: after a paragraph, line, sentence or word, else at `high`."""
    for mark in ("\n\n", "\n", ". ", "! ", "? ", " "):
        at = text.rfind(mark, low, high + 1)
        if at > 0:
            return min(at + (1 if mark[0] in ".!?" else 0), high)
    return max(boundary(text, high), 1)


def _paragraphs(text: str) -> list[str]:
    parts: list[str] = []
    start, fence = 0, None
    seen = 0
    for gap in _BLANK.finditer(text):
        fence = open_fence(text, seen, gap.start(), fence)
        seen = gap.start()
        if fence is None:
            parts.append(text[start : gap.start()])
            start = seen = gap.end()
    return [part for part in (*parts, text[start:]) if part.strip()]


def _pieces(text: str, limit: int, lines: int) -> list[str]:
    pieces: list[str] = []
    at, opening, fence = 0, "", None
    while at < len(text):
        end = _end(text, at, limit - len(opening), lines - opening.count("\n") if lines else 0)
        now = open_fence(text, at, end, fence) if end < len(text) else None
        if now is not None and now is not fence and at < now.at:
            # The block began in this piece: it goes whole into the next one if it can.
            end, now = now.at, None
        elif now is not None:
            room = limit - len(opening) - len(now.closing)
            end = min(end, _end(text, at, max(room, 1), lines - opening.count("\n") - 1 if lines else 0))
            now = open_fence(text, at, end, fence)
        closing = now.closing if now is not None and end < len(text) else ""
        piece = opening + (text[at:end].rstrip() if not closing else text[at:end].rstrip("\n")) + closing
        if piece.strip():
            pieces.append(piece)
        at = _skip(text, end, in_code=bool(closing))
        past = past_closing(text[at : at + limit], now) if closing and now is not None else 0
        if past:
            at, now = _skip(text, at + past, in_code=False), None
        fence = now
        opening = _opening(now, limit) or _harmless(text, at)
    return pieces


def _end(text: str, at: int, room: int, lines: int) -> int:
    room = max(room, 1)
    if lines:
        place = at - 1
        for _ in range(max(lines, 1)):
            place = text.find("\n", place + 1)
            if place < 0:
                break
        else:
            room = min(room, max(place - at, 1))
    if at + room >= len(text):
        return len(text)
    return at + max(best_break(text[at : at + room + 1], room // 2, room), 1)


def _skip(text: str, at: int, *, in_code: bool) -> int:
    """Past the white space at a cut; within code only past the line's end, so that the indentation stays."""
    if in_code:
        return at + (text[at : at + 1] == "\n")
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _harmless(text: str, at: int) -> str:
    """Backticks from the middle of a line must not open a fence where the next piece begins with them."""
    return _GAP if text.startswith(("```", "~~~"), at) and text.rfind("\n", 0, at) < len(text[:at].rstrip(" ")) - 1 else ""


def _opening(fence: Fence | None, limit: int) -> str:
    if fence is None:
        return ""
    return f"{fence.line if len(fence.line) < limit // 2 else fence.mark}\n"
