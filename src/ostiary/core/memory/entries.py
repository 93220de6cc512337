"""A memory file read as entries: list items, paragraphs and headings, each with its lines."""

import re
from collections.abc import Collection, Iterator

from ostiary.contracts.records import dataclass
from ostiary.core.memory.text import holds, normal

_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_MEANT_FOR = re.compile(r"\(for (long|daily|shared|private|me)\) ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Lines `start` to `end` (1-based, both included). `text` is how they stand there."""

    start: int
    end: int
    text: str
    is_heading: bool = False

    @property
    def is_item(self) -> bool:
        return _ITEM.match(self.text) is not None

    @property
    def said(self) -> str:
        """What it says, without the mark of the list and of the quarantine."""
        return _MEANT_FOR.sub("", _ITEM.sub("", self.text, count=1), count=1)


def entries(text: str) -> tuple[Entry, ...]:
    """In order. A list item holds what is indented below it; a fence is never torn."""
    lines = text.split("\n")
    found: list[Entry] = []
    start = -1
    for number, line in enumerate(lines):
        if start >= 0 and not _goes_on(lines, start, number):
            found.append(_entry(lines, start, number))
            start = -1
        if start < 0 and line.strip():
            start = number
    if start >= 0:
        found.append(_entry(lines, start, len(lines)))
    return tuple(found)


def _goes_on(lines: list[str], start: int, number: int) -> bool:
    """Whether line `number` belongs to the entry that began at `start`."""
    line = lines[number]
    if sum(1 for each in lines[start:number] if _FENCE.match(each)) % 2:
        return True
    if lines[start].startswith("#"):
        return False
    if not line.strip():
        following = next((each for each in lines[number + 1 :] if each.strip()), "")
        return _ITEM.match(lines[start]) is not None and following.startswith(("  ", "\t"))
    if not lines[number - 1].strip():
        return line.startswith(("  ", "\t"))
    return not (_ITEM.match(line) or line.startswith("#"))


def _entry(lines: list[str], start: int, end: int) -> Entry:
    while not lines[end - 1].strip():
        end -= 1
    return Entry(
        start=start + 1, end=end, text="\n".join(lines[start:end]), is_heading=lines[start].startswith("#") and end == start + 1
    )


def rendered(text: str, *, title: str = "", meant_for: str = "") -> str:
    """An entry as it is written: one list item, whatever the text looks like, so that no note can forge another one."""
    first, *rest = text.split("\n")
    if _FENCE.match(first):
        rest, first = [first, *rest], ""
    head = f"**{title}:** {first}".rstrip() if title else first
    mark = f"(for {meant_for}) " if meant_for else ""
    return "\n".join((f"- {mark}{head}".rstrip(), *(f"  {line}".rstrip() for line in rest)))


def meant_for(entry: Entry) -> str:
    """The area a quarantined entry was written for, empty if it does not say."""
    found = _MEANT_FOR.match(_ITEM.sub("", entry.text, count=1))
    return found[1] if found else ""


def holding(text: str, wanted: str) -> tuple[Entry, ...]:
    """The entries that hold the normal text `wanted`. Of a paragraph only the lines that are needed for it, so that one
    sentence forgotten does not take a whole page with it."""
    # Most texts are told apart by one word, at a hundredth of the cost.
    if text.isascii() and max(wanted.split(), key=len, default="") not in text.lower():
        return ()
    if not holds(normal(text), wanted):
        return ()
    found: list[Entry] = []
    for entry in entries(text):
        if holds(normal(entry.text), wanted):
            found.extend((entry,) if entry.is_item else _narrowed(entry, wanted))
    return tuple(found)


def _narrowed(entry: Entry, wanted: str) -> Iterator[Entry]:
    """The shortest runs of lines that hold it, none overlapping another."""
    lines = entry.text.split("\n")
    start = 0
    for end in range(1, len(lines) + 1):
        if not holds(normal("\n".join(lines[start:end])), wanted):
            continue
        while holds(normal("\n".join(lines[start + 1 : end])), wanted):
            start += 1
        yield Entry(start=entry.start + start, end=entry.start + end - 1, text="\n".join(lines[start:end]))
        start = end


def without(text: str, gone: Collection[Entry]) -> str:
    """The text without these entries and without the empty lines they would leave behind."""
    doomed = {number for entry in gone for number in range(entry.start, entry.end + 1)}
    kept = [line for number, line in enumerate(text.split("\n"), 1) if number not in doomed]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept))


def replaced(text: str, old: Entry, new: str) -> str:
    lines = text.split("\n")
    return "\n".join((*lines[: old.start - 1], new, *lines[old.end :]))
