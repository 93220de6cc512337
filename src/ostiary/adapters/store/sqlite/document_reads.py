"""Reading versioned documents."""

from collections.abc import Generator
from contextlib import closing
from itertools import islice
from typing import Any

import apsw

from ostiary.adapters.store.codec import decode_label
from ostiary.adapters.store.paths import literal_prefix, matches, range_end
from ostiary.adapters.store.sqlite import blobs
from ostiary.adapters.store.sqlite.connection import fetch
from ostiary.contracts.store import CollectionUse, DocumentVersion

_COLUMNS = "d.collection, d.path, v.version, v.digest, v.size, v.at, v.author, v.turn, v.label, v.executable, v.erased"
_OF_DOCUMENT = f"SELECT {_COLUMNS} FROM documents d JOIN versions v ON v.document = d.id WHERE d.collection = ? AND d.path = ?"  # noqa: S608
_NEWEST = f"SELECT {_COLUMNS} FROM documents d JOIN versions v ON v.id = d.head WHERE d.collection = ?"  # noqa: S608
_AT = (
    f"SELECT {_COLUMNS} FROM documents d JOIN versions v ON v.id = (SELECT w.id FROM versions w"  # noqa: S608
    " WHERE w.document = d.id AND w.at <= ? ORDER BY w.version DESC LIMIT 1) WHERE d.collection = ?"
)


def get(connection: apsw.Connection, collection: str, path: str, version: int | None) -> tuple[DocumentVersion, bytes] | None:
    """One transaction: the content belongs to the version even if it is erased in this very moment."""
    connection.execute("BEGIN")
    try:
        found = _one(connection, collection, path, version)
        if found is None or found.erased or (version is None and not found.digest):
            return None
        content = blobs.read(connection, found.digest) if found.digest else b""
    finally:
        connection.execute("ROLLBACK")
    return None if content is None else (found, content)


def version_of(connection: apsw.Connection, collection: str, path: str, version: int) -> DocumentVersion | None:
    return _one(connection, collection, path, version)


def listing(
    connection: apsw.Connection, collection: str, pattern: str, at: float | None, limit: int, after: str
) -> tuple[DocumentVersion, ...]:
    with closing(_living(connection, collection, pattern, at, after)) as living:
        return tuple(islice(living, limit or None))


def collections(connection: apsw.Connection) -> tuple[CollectionUse, ...]:
    rows = fetch(
        connection,
        "SELECT c.collection, c.documents, c.bytes, coalesce(s.bytes, 0) FROM"
        " (SELECT collection, sum(living) AS documents, sum(iif(living, size, 0)) AS bytes FROM documents GROUP BY 1) c"
        " LEFT JOIN (SELECT collection, sum(size) AS bytes FROM (SELECT DISTINCT d.collection, v.digest, v.size FROM versions v"
        " JOIN documents d ON d.id = v.document WHERE v.digest <> '' AND v.erased = 0) GROUP BY 1) s USING (collection)"
        " ORDER BY c.collection",
    )
    return tuple(
        CollectionUse(collection=collection, documents=documents, bytes=living, stored_bytes=stored)
        for collection, documents, living, stored in rows
    )


def changes(connection: apsw.Connection, after: int, limit: int) -> tuple[tuple[int, DocumentVersion], ...]:
    rows = fetch(
        connection,
        f"SELECT v.id, {_COLUMNS} FROM versions v JOIN documents d ON d.id = v.document"  # noqa: S608
        " WHERE v.id > ? ORDER BY v.id LIMIT ?",
        (after, max(0, limit)),
    )
    return tuple((row[0], _version(row[1:])) for row in rows)


def history(connection: apsw.Connection, collection: str, path: str) -> tuple[DocumentVersion, ...]:
    return tuple(map(_version, fetch(connection, f"{_OF_DOCUMENT} ORDER BY v.version", (collection, path))))


def changed_by(connection: apsw.Connection, turn: str) -> tuple[DocumentVersion, ...]:
    """Nothing for the empty turn: that is what people wrote by themselves."""
    rows = fetch(
        connection,
        f"SELECT {_COLUMNS} FROM versions v JOIN documents d ON d.id = v.document"  # noqa: S608
        " WHERE v.turn = ? AND v.turn <> '' ORDER BY v.id",
        (turn,),
    )
    return tuple(map(_version, rows))


def _one(connection: apsw.Connection, collection: str, path: str, version: int | None) -> DocumentVersion | None:
    if version is None:
        rows = fetch(connection, f"{_NEWEST} AND d.path = ?", (collection, path))
    else:
        rows = fetch(connection, f"{_OF_DOCUMENT} AND v.version = ?", (collection, path, version))
    return _version(rows[0]) if rows else None


def _living(
    connection: apsw.Connection, collection: str, pattern: str, at: float | None, after: str
) -> Generator[DocumentVersion]:
    prefix = literal_prefix(pattern)
    conditions = [" AND d.path >= ?"]
    bounds: list[Any] = [prefix]
    end = range_end(prefix)
    if end is not None:
        conditions.append(" AND d.path < ?")
        bounds.append(end)
    if after:
        conditions.append(" AND d.path > ?")
        bounds.append(after)
    start = f"{_NEWEST} AND d.living = 1" if at is None else _AT
    moment = () if at is None else (float(at),)
    is_all = pattern == "**"
    cursor = connection.cursor()
    try:
        for row in cursor.execute(f"{start}{''.join(conditions)} ORDER BY d.path", (*moment, collection, *bounds)):
            if row[3] and not row[10] and (is_all or matches(pattern, row[1])):
                yield _version(row)
    finally:
        # An unfinished statement would hold the log back.
        cursor.close()


def _version(row: tuple[Any, ...]) -> DocumentVersion:
    collection, path, version, digest, size, at, author, turn, label, executable, erased = row
    return DocumentVersion(
        collection=collection,
        path=path,
        version=version,
        digest=digest,
        size=size,
        at=at,
        author=author,
        turn=turn,
        label=decode_label(label),
        executable=bool(executable),
        erased=bool(erased),
    )
