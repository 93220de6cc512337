"""A text cut into units: the smallest parts that are ranked by themselves.

A unit is a line where a line says something by itself (an utterance, a list item, a heading); lines of running prose are
joined, and a very long line is cut between sentences. Units know their characters and lines, so any run of neighbours can be
shown again as it was written.
"""

import re
from collections.abc import Iterator

from ostiary.contracts.records import dataclass

# Part of the index's identity: change it with anything here, in words.py or entries.py that gives other units, terms or texts.
CHUNKING = "lines-2"
LONGEST_UNIT = 480
_PROSE_UNIT = 220
MOST_CHARACTERS = 2_000_000

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_OWN_LINE = re.compile(r"\s*(?:[-*+>|]|\d{1,3}[.)])\s|\S[^:\n]{0,39}:\s|```|\|")
_SENTENCE_END = re.compile(r"[.!?;。！？]['\"”’)]*\s+|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Characters `begin` to `end` of the text, lines `first` to `last` (1-based). `heading` is what it stands under."""

    begin: int
    end: int
    first: int
    last: int
    text: str
    heading: str = ""


def units(text: str) -> Iterator[Unit]:
    """In order; together they hold every line that is not blank, up to MOST_CHARACTERS."""
    headings: list[str] = []
    open_from: tuple[int, int] | None = None
    end = last = begin = 0
    for number, line in enumerate(text[:MOST_CHARACTERS].split("\n"), 1):
        stands_alone = not line.strip() or _HEADING.match(line) is not None or _OWN_LINE.match(line) is not None
        if open_from is not None and (stands_alone or end - open_from[0] >= _PROSE_UNIT):
            yield from _cut(text, open_from, end, last, headings)
            open_from = None
        if line.strip():
            open_from = open_from or (begin, number)
            end, last = begin + len(line), number
            heading = _HEADING.match(line)
            if heading is not None:
                yield from _cut(text, open_from, end, last, headings)
                open_from = None
                del headings[len(heading[1]) - 1 :]
                headings.append(heading[2])
        begin += len(line) + 1
    if open_from is not None:
        yield from _cut(text, open_from, end, last, headings)


def _cut(text: str, start: tuple[int, int], end: int, last: int, headings: list[str]) -> Iterator[Unit]:
    begin, first = start
    heading = " > ".join(headings)
    while begin < end:
        stop = end if end - begin <= LONGEST_UNIT else _stop(text, begin)
        until = last if stop == end else first + text.count("\n", begin, stop)
        yield Unit(begin=begin, end=stop, first=first, last=until, text=text[begin:stop], heading=heading)
        first = until
        begin = stop


def _stop(text: str, begin: int) -> int:
    """Behind the last sentence, else the last word, that fits."""
    limit = begin + LONGEST_UNIT
    stop = 0
    for found in _SENTENCE_END.finditer(text, begin + LONGEST_UNIT // 4, limit):
        stop = found.end()
    return stop or text.rfind(" ", begin + 1, limit) + 1 or limit
