"""Versioned documents: each version names a blob by its digest; nothing is overwritten."""

import hashlib
from typing import Any

import apsw

from ostiary.adapters.store.codec import decode_label, encode
from ostiary.adapters.store.paths import check_collection, check_path, literal_prefix, matches, range_end
from ostiary.adapters.store.sqlite.connection import fetch
from ostiary.adapters.store.sqlite.writer import Transaction, Unit
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.store import DocumentVersion, Put, PutBlob, Tombstone

_COLUMNS = "collection, path, version, digest, size, at, author, turn, label"
_INSERT = f"INSERT INTO documents ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608


def put_blob(write: PutBlob) -> tuple[Unit, int]:
    def run(transaction: Transaction) -> int:
        if hashlib.sha256(write.content).hexdigest() != write.digest:
            raise BadInput(f"The bytes of blob {write.digest[:80]!r} do not have that digest")
        _store_blob(transaction, write.digest, write.content)
        return 0

    return run, len(write.content)


def put(write: Put) -> tuple[Unit, int]:
    check_collection(write.collection)
    check_path(write.path)
    label = None if write.label is None else encode(write.label)

    def run(transaction: Transaction) -> int:
        version = _next_version(transaction, write)
        digest = hashlib.sha256(write.content).hexdigest()
        _store_blob(transaction, digest, write.content)
        row = (
            write.collection,
            write.path,
            version,
            digest,
            len(write.content),
            float(write.at),
            write.author,
            write.turn,
            label,
        )
        transaction.run(_INSERT, row)
        return version

    return run, len(write.content)


def tombstone(write: Tombstone) -> tuple[Unit, int]:
    check_collection(write.collection)
    check_path(write.path)

    def run(transaction: Transaction) -> int:
        version = _next_version(transaction, write)
        newest = _newest(transaction, write.collection, write.path)
        if newest is None or not newest[1]:
            raise BadInput(f"There is no document {write.path!r} in {write.collection!r} to delete")
        row = (write.collection, write.path, version, "", 0, float(write.at), write.author, write.turn, None)
        transaction.run(_INSERT, row)
        return version

    return run, 0


def restore(collection: str, path: str, version: int, *, at: float, author: str) -> Unit:
    """A unit that gives the new DocumentVersion."""
    check_collection(collection)
    check_path(path)

    def run(transaction: Transaction) -> DocumentVersion:
        old = transaction.row(
            f"SELECT {_COLUMNS} FROM documents WHERE collection = ? AND path = ? AND version = ?",  # noqa: S608
            (collection, path, version),
        )
        newest = _newest(transaction, collection, path)
        if old is None or newest is None:
            raise BadInput(f"There is no version {version} of {path!r} in {collection!r}")
        if not old[3]:
            raise BadInput(f"Version {version} of {path!r} says that it was deleted; it has no content to restore")
        row = (collection, path, newest[0] + 1, old[3], old[4], float(at), author, "", old[8])
        transaction.run(_INSERT, row)
        return _version(row)

    return run


def get(connection: apsw.Connection, collection: str, path: str, version: int | None) -> tuple[DocumentVersion, bytes] | None:
    which = "ORDER BY version DESC LIMIT 1" if version is None else "AND version = ?"
    bindings = (collection, path) if version is None else (collection, path, version)
    row = fetch(
        connection,
        f"SELECT {_COLUMNS}, (SELECT content FROM blobs b WHERE b.digest = d.digest) FROM documents d"  # noqa: S608
        f" WHERE collection = ? AND path = ? {which}",
        bindings,
    )
    if not row or (version is None and not row[0][3]):
        return None
    return _version(row[0][:9]), row[0][9] or b""


def listing(connection: apsw.Connection, collection: str, pattern: str) -> tuple[DocumentVersion, ...]:
    prefix = literal_prefix(pattern)
    end = range_end(prefix)
    rows = fetch(
        connection,
        f"SELECT {_COLUMNS}, max(version) FROM documents"  # noqa: S608
        " WHERE collection = ? AND path >= ? AND (? IS NULL OR path < ?) GROUP BY path ORDER BY path",
        (collection, prefix, end, end),
    )
    return tuple(_version(row[:9]) for row in rows if row[3] and matches(pattern, row[1]))


def history(connection: apsw.Connection, collection: str, path: str) -> tuple[DocumentVersion, ...]:
    rows = fetch(
        connection,
        f"SELECT {_COLUMNS} FROM documents WHERE collection = ? AND path = ? ORDER BY version",  # noqa: S608
        (collection, path),
    )
    return tuple(map(_version, rows))


def changed_by(connection: apsw.Connection, turn: str) -> tuple[DocumentVersion, ...]:
    """Nothing for the empty turn: that is what people wrote by themselves."""
    rows = fetch(connection, f"SELECT {_COLUMNS} FROM documents WHERE turn = ? AND turn <> '' ORDER BY id", (turn,))  # noqa: S608
    return tuple(map(_version, rows))


def _version(row: tuple[Any, ...]) -> DocumentVersion:
    collection, path, version, digest, size, at, author, turn, label = row
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
    )


def _newest(transaction: Transaction, collection: str, path: str) -> tuple[int, str] | None:
    row = transaction.row(
        "SELECT version, digest FROM documents WHERE collection = ? AND path = ? ORDER BY version DESC LIMIT 1",
        (collection, path),
    )
    return None if row is None else (row[0], row[1])


def _next_version(transaction: Transaction, write: Put | Tombstone) -> int:
    """Raises Conflict if `expect_version` does not hold; 0 also fits a document whose newest version is a tombstone."""
    version, digest = _newest(transaction, write.collection, write.path) or (0, "")
    expected = write.expect_version
    holds = expected is None or expected == version or (expected == 0 and not digest)
    if not holds:
        raise Conflict(
            f"{write.path!r} in {write.collection!r} is at version {version}, not {expected}",
            hint="Read it again, then write again.",
        )
    return version + 1


def _store_blob(transaction: Transaction, digest: str, content: bytes) -> None:
    transaction.run("INSERT INTO blobs (digest, content) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING", (digest, content))
