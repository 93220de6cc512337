"""The index on disk: generations, their documents, and the text that results are cut from.

It is derived data. A unit of work (some documents and how far the store was read) is one transaction, so after any crash the
index holds whole documents and goes on where it was.
"""

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw

from ostiary.adapters.search.rows import Row
from ostiary.adapters.store.sqlite.connection import connect_reader, connect_writer, fetch
from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.contracts.records import dataclass

LAYOUT = 1
_PIECE = 32_768
_SCHEMA = """
CREATE TABLE generations (
    id INTEGER PRIMARY KEY, embedder TEXT NOT NULL, dimensions INTEGER NOT NULL, chunking TEXT NOT NULL, is_live INTEGER NOT NULL,
    documents_place INTEGER NOT NULL DEFAULT 0, events_place INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, collection TEXT NOT NULL, path TEXT NOT NULL, version INTEGER NOT NULL,
    at REAL NOT NULL, label BLOB, units INTEGER NOT NULL, places BLOB NOT NULL, sizes BLOB NOT NULL, terms BLOB NOT NULL,
    counts BLOB NOT NULL, vectors BLOB, UNIQUE (generation, collection, path)
) STRICT;
CREATE INDEX unembedded ON documents (generation) WHERE vectors IS NULL AND units > 0;
CREATE TABLE texts (
    document INTEGER NOT NULL, begins INTEGER NOT NULL, text BLOB NOT NULL, PRIMARY KEY (document, begins)
) STRICT, WITHOUT ROWID;
CREATE TABLE journals (
    generation INTEGER NOT NULL, session TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (generation, session)
) STRICT, WITHOUT ROWID;
CREATE TABLE embeddings (
    key BLOB PRIMARY KEY, vector BLOB NOT NULL, place INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX embeddings_by_place ON embeddings (place);
"""
_GENERATION = "id, embedder, dimensions, chunking, is_live, documents_place, events_place"
_ROW = "id, collection, path, version, at, label, places, sizes, terms, counts, vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One complete index in the making or in use. The places say how far the store has been read into it."""

    id: int
    embedder: str
    dimensions: int
    chunking: str
    is_live: bool
    documents_place: int
    events_place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """A document ready to be written. Without units it is remembered as looked at."""

    collection: str
    path: str
    version: int
    at: float
    label: bytes | None
    text: str
    units: int = 0
    places: bytes = b""
    sizes: bytes = b""
    terms: bytes = b""
    counts: bytes = b""
    vectors: bytes | None = None


def open_writer(path: Path, key: bytes) -> apsw.Connection:
    """Makes the tables. What cannot be read (damaged, another key, another layout) is thrown away: it can be made again.

    Raises StoreUnavailable."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        try:
            return _opened(path, key)
        except (apsw.NotADBError, apsw.CorruptError, _OtherLayout):
            discard(path)
            return _opened(path, key)
    except (apsw.Error, OSError) as error:
        raise explain(error, path) from error


def open_reading(path: Path, key: bytes) -> apsw.Connection:
    try:
        return connect_reader(path, key)
    except (apsw.Error, OSError) as error:
        raise explain(error, path) from error


def discard(path: Path) -> None:
    for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        each.unlink(missing_ok=True)


class _OtherLayout(Exception):
    pass


def _opened(path: Path, key: bytes) -> apsw.Connection:
    if not path.exists():
        # A log that outlived its file belongs to nothing.
        discard(path)
    path.touch(mode=0o600, exist_ok=True)
    connection = connect_writer(path, key)
    try:
        # Losing the last moments in a power cut loses nothing: they are indexed again.
        connection.execute("PRAGMA synchronous = normal")
        layout = fetch(connection, "PRAGMA user_version")[0][0]
        if layout not in (0, LAYOUT):
            raise _OtherLayout
        if layout == 0:
            with connection:
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA user_version = {LAYOUT}")
    except BaseException:
        connection.close()
        raise
    return connection


def generations(connection: apsw.Connection) -> tuple[Generation, ...]:
    rows = fetch(connection, f"SELECT {_GENERATION} FROM generations ORDER BY id")  # noqa: S608
    return tuple(
        Generation(
            id=row[0],
            embedder=row[1],
            dimensions=row[2],
            chunking=row[3],
            is_live=bool(row[4]),
            documents_place=row[5],
            events_place=row[6],
        )
        for row in rows
    )


def begin(connection: apsw.Connection, *, embedder: str, dimensions: int, chunking: str, is_live: bool) -> int:
    connection.execute(
        "INSERT INTO generations (embedder, dimensions, chunking, is_live) VALUES (?, ?, ?, ?)",
        (embedder, dimensions, chunking, int(is_live)),
    )
    return int(connection.last_insert_rowid())


def go_live(connection: apsw.Connection, generation: int) -> None:
    with connection:
        connection.execute("UPDATE generations SET is_live = (id = ?)", (generation,))


def drop(connection: apsw.Connection, generation: int, *, at_most: int = 500) -> bool:
    """A bounded part of it; True when nothing is left."""
    with connection:
        ids = [
            row[0] for row in fetch(connection, "SELECT id FROM documents WHERE generation = ? LIMIT ?", (generation, at_most))
        ]
        for number in ids:
            _remove(connection, number)
        if len(ids) < at_most:
            connection.execute("DELETE FROM journals WHERE generation = ?", (generation,))
            connection.execute("DELETE FROM generations WHERE id = ?", (generation,))
    return len(ids) < at_most


def advance(connection: apsw.Connection, generation: int, *, documents: int | None = None, events: int | None = None) -> None:
    """Inside a transaction of the caller's."""
    if documents is not None:
        connection.execute("UPDATE generations SET documents_place = ? WHERE id = ?", (documents, generation))
    if events is not None:
        connection.execute("UPDATE generations SET events_place = ? WHERE id = ?", (events, generation))


def versions(connection: apsw.Connection, generation: int, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Which version of each (collection, path) is indexed; absent ones are left out."""
    known = {}
    for collection, path in wanted:
        row = fetch(
            connection,
            "SELECT version FROM documents WHERE generation = ? AND collection = ? AND path = ?",
            (generation, collection, path),
        )
        if row:
            known[(collection, path)] = int(row[0][0])
    return known


def write(connection: apsw.Connection, generation: int, document: Indexed) -> tuple[int, int]:
    """Inside a transaction of the caller's. The new document's id, and the id of the one it replaces (0 if none)."""
    old = remove(connection, generation, document.collection, document.path)
    connection.execute(
        "INSERT INTO documents (generation, collection, path, version, at, label, units, places, sizes, terms, counts, vectors)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            generation,
            document.collection,
            document.path,
            document.version,
            document.at,
            document.label,
            document.units,
            document.places,
            document.sizes,
            document.terms,
            document.counts,
            document.vectors,
        ),
    )
    number = int(connection.last_insert_rowid())
    for begins in range(0, len(document.text) if document.units else 0, _PIECE):
        piece = zlib.compress(document.text[begins : begins + _PIECE].encode("utf-8", "surrogatepass"), 1)
        connection.execute("INSERT INTO texts (document, begins, text) VALUES (?, ?, ?)", (number, begins, piece))
    return number, old


def remove(connection: apsw.Connection, generation: int, collection: str, path: str) -> int:
    """Inside a transaction of the caller's. The id of what was there, 0 if nothing."""
    row = fetch(
        connection,
        "SELECT id FROM documents WHERE generation = ? AND collection = ? AND path = ?",
        (generation, collection, path),
    )
    if not row:
        return 0
    _remove(connection, row[0][0])
    return int(row[0][0])


def remove_under(connection: apsw.Connection, generation: int, collection: str, prefix: str) -> list[int]:
    """Inside a transaction of the caller's. Everything whose path begins with the prefix; the ids of what was there."""
    rows = fetch(
        connection,
        "SELECT id FROM documents WHERE generation = ? AND collection = ? AND substr(path, 1, ?) = ?",
        (generation, collection, len(prefix), prefix),
    )
    for (number,) in rows:
        _remove(connection, number)
    return [int(number) for (number,) in rows]


def _remove(connection: apsw.Connection, number: int) -> None:
    connection.execute("DELETE FROM texts WHERE document = ?", (number,))
    connection.execute("DELETE FROM documents WHERE id = ?", (number,))


def rows(connection: apsw.Connection, generation: int, *, after: int, limit: int) -> list[Row]:
    """Documents with units, in the order of their ids."""
    found = fetch(
        connection,
        f"SELECT {_ROW} FROM documents WHERE generation = ? AND id > ? AND units > 0 ORDER BY id LIMIT ?",  # noqa: S608
        (generation, after, limit),
    )
    return [_row(row) for row in found]


def rows_of(connection: apsw.Connection, ids: Sequence[int]) -> list[Row]:
    found = [fetch(connection, f"SELECT {_ROW} FROM documents WHERE id = ? AND units > 0", (number,)) for number in ids]  # noqa: S608
    return [_row(row[0]) for row in found if row]


def _row(row: tuple[object, ...]) -> Row:
    names = _ROW.split(", ")
    return Row(**dict(zip(names, row, strict=True)))  # type: ignore[arg-type]


def unembedded(connection: apsw.Connection, generation: int, limit: int) -> list[tuple[int, str, int]]:
    """Documents that wait for vectors: id, path and version."""
    found = fetch(
        connection,
        "SELECT id, path, version FROM documents WHERE generation = ? AND vectors IS NULL AND units > 0 ORDER BY id DESC LIMIT ?",
        (generation, limit),
    )
    return [(int(number), str(path), int(version)) for number, path, version in found]


def set_vectors(connection: apsw.Connection, number: int, path: str, version: int, vectors: bytes) -> bool:
    """False if the document changed since: its id may belong to its next version, or to another document."""
    connection.execute(
        "UPDATE documents SET vectors = ? WHERE id = ? AND path = ? AND version = ?", (vectors, number, path, version)
    )
    return connection.changes() > 0


def text(connection: apsw.Connection, number: int, begin: int, end: int) -> str:
    """Characters `begin` to `end` of a document as far as they are kept."""
    found = fetch(
        connection,
        "SELECT begins, text FROM texts WHERE document = ? AND begins > ? AND begins < ? ORDER BY begins",
        (number, begin - _PIECE, end),
    )
    if not found:
        return ""
    joined = "".join(zlib.decompress(piece).decode("utf-8", "surrogatepass") for _, piece in found)
    first = found[0][0]
    return joined[max(0, begin - first) : end - first]


def whole_text(connection: apsw.Connection, number: int) -> str:
    found = fetch(connection, "SELECT text FROM texts WHERE document = ? ORDER BY begins", (number,))
    return "".join(zlib.decompress(piece).decode("utf-8", "surrogatepass") for (piece,) in found)


def forget_vectors(connection: apsw.Connection, keys: Iterable[bytes]) -> None:
    """Inside a transaction of the caller's."""
    for key in keys:
        connection.execute("DELETE FROM embeddings WHERE key = ?", (key,))


def text_of(connection: apsw.Connection, generation: int, collection: str, path: str) -> list[str]:
    """The whole text of a document, if there is one."""
    found = fetch(
        connection,
        "SELECT id FROM documents WHERE generation = ? AND collection = ? AND path = ?",
        (generation, collection, path),
    )
    return [whole_text(connection, number) for (number,) in found]


def texts_under(connection: apsw.Connection, generation: int, collection: str, prefix: str) -> list[str]:
    """The whole text of every document whose path begins with the prefix."""
    found = fetch(
        connection,
        "SELECT id FROM documents WHERE generation = ? AND collection = ? AND substr(path, 1, ?) = ?",
        (generation, collection, len(prefix), prefix),
    )
    return [whole_text(connection, number) for (number,) in found]


def tally(connection: apsw.Connection, generation: int) -> tuple[int, int]:
    """How many documents have something to find, and how many units they hold."""
    row = fetch(
        connection, "SELECT count(*), coalesce(sum(units), 0) FROM documents WHERE generation = ? AND units > 0", (generation,)
    )[0]
    return int(row[0]), int(row[1])
