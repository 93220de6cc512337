"""The newest lines of the log, and those after a cursor, also when the file was turned over in between."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ostiary.gateway.protocol.system import Level, Line, Lines

_LEVELS: tuple[Level, ...] = ("debug", "info", "warning", "error", "critical")
_LOOKED_AT = 2 * 1024 * 1024
_LONGEST = 64 * 1024


class _Entry(msgspec.Struct):
    at: str = ""
    level: str = ""
    logger: str = ""
    message: str = ""
    trace: str = ""


_entries = msgspec.json.Decoder(_Entry)


def tail(path: Path, cursor: str, limit: int, level: Level) -> Lines:
    """At most `limit` lines, and a bounded look into the file. A cursor of a file that is gone starts with the newest."""
    wanted = frozenset(_LEVELS[_LEVELS.index(level) :])
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            place = _place(cursor, about.st_ino, about.st_size)
            start = place if place is not None else max(0, about.st_size - _LOOKED_AT)
            file.seek(start)
            content = file.read(_LOOKED_AT)
    except FileNotFoundError:
        return Lines(lines=[], cursor="")
    whole = content.rfind(b"\n") + 1
    if not whole and len(content) == _LOOKED_AT:
        # A line that never ends is passed over.
        whole = len(content)
    is_cut = place is None and start > 0
    found: list[Line] = []
    end = start
    for line, after in _lines(content[:whole], start, is_cut):
        entry = _read(line)
        if entry.level in wanted or not entry.level:
            found.append(entry)
            if place is not None and len(found) == limit:
                end = after
                break
        end = after
    kept = found if place is not None else found[-limit:]
    return Lines(lines=kept, cursor=f"{about.st_ino}:{end}")


def _lines(content: bytes, start: int, is_cut: bool) -> Iterator[tuple[bytes, int]]:
    """Each line with where the next one begins. A first one that is cut off is not given."""
    place = start
    for number, line in enumerate(content.splitlines(keepends=True)):
        place += len(line)
        if number or not is_cut:
            yield line.rstrip(b"\r\n")[:_LONGEST], place


def _place(cursor: str, file: int, size: int) -> int | None:
    name, _, place = cursor.partition(":")
    if name != str(file) or not (place.isascii() and place.isdigit()) or int(place) > size:
        return None
    return int(place)


def _read(line: bytes) -> Line:
    try:
        entry = _entries.decode(line)
    except (msgspec.DecodeError, ValueError):
        return Line(at="", level="", name="", message=line.decode("utf-8", "replace"))
    return Line(at=entry.at, level=entry.level, name=entry.logger, message=entry.message, trace=entry.trace)
