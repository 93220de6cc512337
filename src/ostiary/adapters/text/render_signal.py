"""Signal: plain text and a list of ranges, counted in UTF-16 units.

The styles are drawn with Unicode's noncharacters, which no text may hold, and turned into ranges at the end.
"""

import re

from ostiary.adapters.text.layout import Dialect, prefixed
from ostiary.adapters.text.messages import written_in
from ostiary.adapters.text.render_plain import label_and_address
from ostiary.contracts.text import Code, Rendered, StyleRange

_STYLES = ("BOLD", "ITALIC", "STRIKETHROUGH", "SPOILER", "MONOSPACE")
_FIRST = 0xFDD0
_CLOSES = 0x10
_MARK = re.compile("[\ufdd0-\ufdef]")


def _marks(place: int) -> tuple[str, str]:
    return chr(_FIRST + place), chr(_FIRST + _CLOSES + place)


_MONO = _marks(4)


def _escape(text: str) -> str:
    return _MARK.sub("\ufffd", text)


def _link(label: str, url: str) -> str:
    return _escape(label_and_address(label, url))


def _fence(code: Code) -> list[str]:
    return (_MONO[0] + _escape(code.text) + _MONO[1]).split("\n")


def with_ranges(text: str) -> Rendered:
    """Take the marks out and say where they stood. A range never begins or ends inside a surrogate pair."""
    parts: list[str] = []
    ranges: list[StyleRange] = []
    opened: dict[int, int] = {}
    at = units = 0
    for mark in _MARK.finditer(text):
        piece = text[at : mark.start()]
        parts.append(piece)
        units += len(piece) + (0 if piece.isascii() else sum(char > "\uffff" for char in piece))
        at = mark.end()
        place = ord(mark[0]) - _FIRST
        if place < _CLOSES:
            opened[place] = units
        else:
            start = opened.pop(place - _CLOSES)
            if units > start:
                ranges.append(StyleRange(start, units - start, _STYLES[place - _CLOSES]))
    parts.append(text[at:])
    return Rendered("".join(parts), tuple(sorted(ranges, key=lambda each: (each.start, -each.length))))


SIGNAL = Dialect(
    escape=_escape,
    marks={"bold": _marks(0), "italic": _marks(1), "strike": _marks(2), "spoiler": _marks(3)},
    link=_link,
    code=lambda text: _MONO[0] + _escape(text) + _MONO[1],
    fence=_fence,
    quote=prefixed("> "),
    tables="bullets",
    bullet="• ",
)

render = written_in(SIGNAL, with_ranges)
