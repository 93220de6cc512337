"""Making a backup: every part cut into pieces, and only those that are not on the shelf yet written to it."""

import calendar
import hashlib
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from ostiary.adapters.backup.manifest import LIST_LENGTH, PIECE_BYTES, PIECE_PAGES, Manifest, Part, encode, join_names
from ostiary.adapters.backup.pages import KEPT, Copy, copied
from ostiary.adapters.backup.sealing import Seal
from ostiary.adapters.backup.shelf import Shelf
from ostiary.contracts.records import dataclass

_STAMP = "%Y%m%dT%H%M%SZ"

Progress = Callable[[str, int, int], None]
"""Told the part, how many of its bytes are done, and how many there are. What it raises ends the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """`name` is its path in the state directory."""

    name: str
    path: Path
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A small file. `read` is called after every database was copied, with the copies by name."""

    name: str
    read: Callable[[dict[str, Copy]], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to put into a backup. `scratch` is a private folder on the same disk, for the copies."""

    databases: Sequence[Database]
    files: Sequence[Plain]
    scratch: Path
    release: str
    now: float
    is_incremental: bool


def manifest_aad(id: str) -> bytes:
    return f"manifest {id}".encode()


def new_id(now: float) -> str:
    """Sorts by time, also within a second."""
    return f"{time.strftime(_STAMP, time.gmtime(now))}-{int(now % 1 * 1_000_000):05x}{secrets.token_hex(1)}"


def made_at(id: str) -> float:
    """When, to the second. What is no id of ours never grows old."""
    try:
        return float(calendar.timegm(time.strptime(id.partition("-")[0], _STAMP)))
    except ValueError:
        return float("inf")


def make(order: Order, shelf: Shelf, seal: Seal, progress: Progress) -> Manifest:
    """All databases are copied first, so that they are of nearly the same moment, each consistent in itself.

    Raises StoreRefused, StoreUnavailable, and what `progress` raises; then there is no backup."""
    writing = _Writing(shelf, seal, again=not order.is_incremental)
    parts: list[Part] = []
    with ExitStack() as stack:
        copies: dict[str, Copy] = {}
        for database in order.databases:
            progress(database.name, 0, 1)
            copies[database.name] = stack.enter_context(copied(database.path, database.key, order.scratch))
        for name, copy in copies.items():
            parts.append(writing.part(name, "database", copy.pages * KEPT, _pages(copy), progress))
        for file in order.files:
            content = file.read(copies)
            parts.append(writing.part(file.name, "file", len(content), _cut(content), progress))
    id = new_id(order.now)
    made = Manifest(
        id=id,
        made_at=order.now,
        release=order.release,
        is_incremental=order.is_incremental,
        parts=tuple(parts),
        stored=writing.stored,
    )
    shelf.finish(id, seal.close(encode(made), manifest_aad(id)))
    return made


def _pages(copy: Copy) -> Iterator[bytes]:
    for first in range(0, copy.pages, PIECE_PAGES):
        yield copy.read(first, PIECE_PAGES)


def _cut(content: bytes) -> Iterator[bytes]:
    for place in range(0, len(content), PIECE_BYTES):
        yield content[place : place + PIECE_BYTES]


class _Writing:
    """With `again`, what is on the shelf already is written once more: a piece that was damaged there is whole afterwards."""

    def __init__(self, shelf: Shelf, seal: Seal, *, again: bool) -> None:
        self._shelf = shelf
        self._seal = seal
        self._again = again
        self._wrote: set[bytes] = set()
        self.stored = 0

    def part(self, name: str, kind: str, size: int, pieces: Iterator[bytes], progress: Progress) -> Part:
        digest = hashlib.sha256()
        names: list[bytes] = []
        lists: list[bytes] = []
        done = 0
        for piece in pieces:
            digest.update(piece)
            names.append(self._put(piece))
            if len(names) == LIST_LENGTH:
                lists.append(self._put(join_names(names)))
                names = []
            done += len(piece)
            progress(name, done, size)
        if names:
            lists.append(self._put(join_names(names)))
        is_database = kind == "database"
        return Part(
            name=name,
            kind="database" if is_database else "file",
            size=done,
            digest=digest.hexdigest(),
            lists=tuple(lists),
        )

    def _put(self, content: bytes) -> bytes:
        name = self._seal.name(content)
        if name in self._wrote or (not self._again and self._shelf.has(name)):
            return name
        sealed = self._seal.close(content, name)
        self._shelf.put(name, sealed)
        if self._again:
            self._wrote.add(name)
        self.stored += len(sealed)
        return name
