"""Checking a store file from its pages up to what they say: a report in sentences, whatever has happened to the file."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import apsw

from ostiary.adapters.store.sqlite import audit, document_checks, reads
from ostiary.adapters.store.sqlite.connection import connect_reader, fetch
from ostiary.adapters.store.sqlite.migrations import check_current
from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.contracts.audit import AuditHead
from ostiary.contracts.records import dataclass

Progress = Callable[[str, int, int], None]
"""Told the stage, how many of its parts are done, and how many there are."""

_MOST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`problems` are sentences for the owner, none if the store is whole. The numbers count what was looked at."""

    problems: tuple[str, ...]
    documents: int = 0
    versions: int = 0
    blobs: int = 0
    bytes: int = 0
    sessions: int = 0
    events: int = 0
    audit_entries: int = 0

    @property
    def is_whole(self) -> bool:
        return not self.problems


def verify(
    path: Path, key: bytes, *, progress: Progress = lambda stage, done, total: None, heads: tuple[AuditHead, ...] = ()
) -> Report:
    """Never raises for what the file holds: a wrong key, a damaged or missing file are problems in the report.

    Reads only, also beside a gateway that writes. Takes about as long as reading the file: give it to a thread. `heads` are
    earlier ends of the audit log as they were kept outside the store."""
    try:
        connection = connect_reader(path, key)
    except Exception as error:  # noqa: BLE001 - whatever it is, the owner wants a sentence
        return Report(problems=(_sentence(error, path),))
    try:
        check_current(connection, path)
        return _examined(connection, path, progress, heads)
    except Exception as error:  # noqa: BLE001 - as above
        return Report(problems=(_sentence(error, path),))
    finally:
        connection.close()


def _examined(connection: apsw.Connection, path: Path, progress: Progress, heads: tuple[AuditHead, ...]) -> Report:
    stages: dict[str, Iterable[str]] = {
        "pages": _pages(connection),
        "foreign keys": _foreign_keys(connection),
        "contents": _contents(connection, progress),
        "documents": document_checks.problems(connection),
        "journals": _journals(connection, progress),
        "audit log": _audit(connection, heads),
    }
    problems: list[str] = []
    for place, (name, stage) in enumerate(stages.items()):
        progress(name, 0, 1)
        problems += _bounded(name, stage, path)
        progress(name, 1, 1)
        if place == 0 and problems:
            # Nothing read from broken pages can be believed, and one sentence is better than hundreds that follow from it.
            break
    numbers = {} if problems else _numbers(connection)
    return Report(problems=tuple(problems), **numbers)


def _bounded(name: str, stage: Iterable[str], path: Path) -> list[str]:
    """Some problems of a stage, and how it ended if it could not be finished."""
    found: list[str] = []
    try:
        found += islice(stage, _MOST)
        more = sum(1 for _ in stage) if len(found) == _MOST else 0
    except Exception as error:  # noqa: BLE001 - a damaged file fails in more ways than can be named
        found.append(f"Checking the {name} ended early: {_sentence(error, path)}")
        return found
    if more:
        found.append(f"There are {more} more problems with the {name}.")
    return found


def _sentence(error: Exception, path: Path) -> str:
    told = explain(error, path)
    return f"{told}. {told.hint}".rstrip() if told.hint else f"{told}."


def _pages(connection: apsw.Connection) -> Iterator[str]:
    """One problem at most: after a page that cannot be read, everything else that SQLite says follows from it."""
    for (told,) in connection.execute("PRAGMA integrity_check(1)"):
        lines = [line for line in str(told).splitlines() if line and not line.startswith("***")]
        if lines != ["ok"]:
            yield f"The file is damaged ({' '.join(lines[:1])}). Keep a copy of it and restore the last backup."


def _foreign_keys(connection: apsw.Connection) -> Iterator[str]:
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"Row {row} of the table {table} belongs to a row of {parent} that is not there."


def _contents(connection: apsw.Connection, progress: Progress) -> Iterator[str]:
    total = fetch(connection, "SELECT count(*) FROM blobs")[0][0]
    for done, (blob, digest, content, is_split) in enumerate(
        connection.execute(
            "SELECT b.id, b.digest, b.content, coalesce(h.is_split, 0) FROM blobs b LEFT JOIN held h ON h.blob = b.id"
        )
    ):
        if done % 256 == 0:
            progress("contents", done, total)
        found = _hash_of_pieces(connection, blob) if is_split else hashlib.sha256(content).hexdigest()
        if found != digest:
            yield f"The content {digest[:12]}… is not what was written: its hash is {found[:12]}…."


def _hash_of_pieces(connection: apsw.Connection, blob: int) -> str:
    whole = hashlib.sha256()
    for (piece,) in connection.execute(
        "SELECT p.content FROM blob_pieces j JOIN pieces p ON p.id = j.piece WHERE j.blob = ? ORDER BY j.place", (blob,)
    ):
        whole.update(piece)
    return whole.hexdigest()


def _journals(connection: apsw.Connection, progress: Progress) -> Iterator[str]:
    keys = fetch(connection, "SELECT key FROM sessions ORDER BY id")
    for done, (key,) in enumerate(keys):
        if done % 16 == 0:
            progress("journals", done, len(keys))
        broken = reads.verify(connection, key)
        if broken:
            yield broken


def _audit(connection: apsw.Connection, heads: tuple[AuditHead, ...]) -> Iterator[str]:
    broken = audit.verify(connection, heads)
    if broken:
        yield broken


def _numbers(connection: apsw.Connection) -> dict[str, int]:
    names = ("documents", "versions", "blobs", "bytes", "sessions", "events", "audit_entries")
    (row,) = fetch(
        connection,
        "SELECT (SELECT count(*) FROM documents WHERE living = 1), (SELECT count(*) FROM versions),"
        " (SELECT count(*) FROM blobs), (SELECT value FROM counters WHERE name = 'stored'),"
        " (SELECT count(*) FROM sessions), (SELECT count(*) FROM events), (SELECT count(*) FROM audit)",
    )
    return dict(zip(names, row, strict=True))
