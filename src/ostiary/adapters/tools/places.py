"""Where lines stand in a text, and what comes nearest to lines that do not. Linear in both, whatever they are. Pure."""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate

BOM = "\ufeff"
_MOST = 100
_AHEAD = 500
_COMPARED = 5_000
_VOTES = 50
_TELLING = 3
_LINE = 160
_ALIKE = 0.5
_BLANKS = re.compile(r"\s+")
# What people's editors and models write for each other: quotes, dashes.
_TYPED = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)

Same = Callable[[str], str]


def exactly(line: str) -> str:
    return line


class Places:
    """The lines of one text, compared as `same` makes them. The search itself is that of strings, which never steps back."""

    def __init__(self, lines: Sequence[str], same: Same) -> None:
        self._same = same
        self._text = "".join(f"{same(line)}\n" for line in lines)
        self._starts = [0, *accumulate(len(line) + 1 for line in self._text.split("\n")[:-1])]

    def find(self, wanted: Sequence[str], start: int) -> list[int]:
        """The numbers (from 0) of the lines at which `wanted` begins, not before `start`; at most a hundred."""
        if not 0 <= start < len(self._starts) - 1:
            return []
        needle = "".join(f"{self._same(line)}\n" for line in wanted)
        found: list[int] = []
        # With the line break in front a match begins at a line; only the very first line has none.
        if start == 0 and self._text.startswith(needle):
            found.append(0)
        place = self._text.find(f"\n{needle}", max(0, self._starts[start] - 1))
        while place >= 0 and len(found) < _MOST:
            found.append(bisect_left(self._starts, place + 1))
            place = self._text.find(f"\n{needle}", place + 1)
        return found

    def nearest(self, wanted: Sequence[str], start: int, near: int) -> int | None:
        """The one of them that is nearest to line `near`."""
        found = self.find(wanted, max(start, near - _AHEAD)) or self.find(wanted, start)
        return min(found, key=lambda place: abs(place - near), default=None)


def told_nearest(lines: Sequence[str], wanted: Sequence[str], path: str) -> str:
    """For whoever looked for `wanted` in vain: the place that resembles it most, and where the two part. Empty if none does."""
    have = [plain(line) for line in lines[:_COMPARED]]
    asked = [plain(line) for line in wanted]
    place = _by_votes(have, asked)
    if place is None:
        return _alike(lines, have, asked, path)
    first = next((step for step, line in enumerate(asked) if have[place + step : place + step + 1] != [line]), None)
    if first is None:
        number = _first_difference(lines, wanted, place)
        what = (
            "blanks" if _without_blanks(lines[number]) == _without_blanks(wanted[number - place]) else "quotes, dashes or accents"
        )
        return f"It differs in {what} alone, from line {number + 1} of {path} on, which reads:\n{_shown(lines, number)}"
    if place + first >= len(lines):
        return f"The nearest is line {place + 1} of {path}, but the file ends after line {len(lines)}."
    return (
        f"The nearest is line {place + 1} of {path}; they part at line {place + first + 1}, which reads:\n"
        f"{_shown(lines, place + first)}\nwhere you have:\n{_cut(wanted[first])}"
    )


def plain(line: str) -> str:
    """The line as it would be typed in a hurry: blanks, kinds of quotes and dashes, and Unicode forms do not count."""
    line = line.removeprefix(BOM)
    if not line.isascii():
        line = unicodedata.normalize("NFKC", line.translate(_TYPED))
    return _BLANKS.sub(" ", line.strip())


def _without_blanks(line: str) -> str:
    return _BLANKS.sub("", line)


def _by_votes(have: list[str], asked: list[str]) -> int | None:
    """Where most of the lines asked for stand in their order: each line that is there votes for the beginning it implies."""
    where: dict[str, list[int]] = {}
    for number, line in enumerate(have):
        if len(line) >= _TELLING:
            known = where.setdefault(line, [])
            if len(known) < _VOTES:
                known.append(number)
    votes: Counter[int] = Counter()
    for step, line in enumerate(asked[:_COMPARED]):
        votes.update(number - step for number in where.get(line, ()) if number >= step)
    return max(votes, key=lambda place: (votes[place], -place), default=None)


def _alike(lines: Sequence[str], have: list[str], asked: list[str], path: str) -> str:
    first = next((line for line in asked if line), "")
    wanted = _threes(first)
    best, number = 0.0, -1
    for place, line in enumerate(have):
        threes = _threes(line)
        likeness = 2 * len(threes & wanted) / (len(threes) + len(wanted) or 1)
        if likeness > best:
            best, number = likeness, place
    return f"The nearest is line {number + 1} of {path}:\n{_cut(lines[number])}" if best >= _ALIKE else ""


def _threes(line: str) -> set[str]:
    line = line[:_LINE]
    return {line[at : at + 3] for at in range(len(line) - 2)}


def _first_difference(lines: Sequence[str], wanted: Sequence[str], place: int) -> int:
    return next((place + step for step, line in enumerate(wanted) if lines[place + step] != line), place)


def _shown(lines: Sequence[str], number: int) -> str:
    return "\n".join(_cut(line) for line in lines[number : number + 3])


def _cut(line: str) -> str:
    line = line.rstrip("\r")
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"
