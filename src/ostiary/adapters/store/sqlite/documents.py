"""Writing versioned documents: each version names content by its digest; nothing is overwritten."""

from typing import Any, NamedTuple

from ostiary.adapters.store.codec import decode_label, encode
from ostiary.adapters.store.erasures import SESSIONS
from ostiary.adapters.store.limits import StoreLimits, check_size
from ostiary.adapters.store.paths import check_collection, check_path, fold
from ostiary.adapters.store.sqlite import blobs
from ostiary.adapters.store.sqlite.blobs import Content, measured
from ostiary.adapters.store.sqlite.writer import Transaction, Unit
from ostiary.contracts.content import Label
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.store import Extend, Move, Put, PutBlob, Restore, Tombstone

_INSERT = (
    "INSERT INTO versions (id, document, version, digest, size, at, author, turn, label, executable)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_HEAD = (
    "SELECT d.id, d.newest, d.living, v.digest, v.size, v.label, v.executable FROM documents d JOIN versions v ON v.id = d.head"
    " WHERE d.collection = ? AND d.path = ?"
)


class Head(NamedTuple):
    """The newest version of a document. `id` 0: the store has never heard of the path."""

    id: int
    version: int
    living: int
    digest: str
    size: int
    label: bytes | None
    executable: int


_NOTHING = Head(0, 0, 0, "", 0, None, 0)


class What(NamedTuple):
    """What a version consists of. No digest: it says "deleted"."""

    digest: str
    size: int
    label: bytes | None
    executable: int


_DELETED = What("", 0, None, 0)


def put_blob(write: PutBlob, limits: StoreLimits, prepared: Content | None = None) -> tuple[Unit, int]:
    check_size(len(write.content), f"The blob {write.digest[:12]}", limits)

    def run(transaction: Transaction) -> int:
        # Prompts and schemas are put again with every step of every turn.
        if transaction.recall("pinned", write.digest):
            return 0
        content = prepared or measured(write.content)
        if content.digest != write.digest:
            raise BadInput(f"The bytes of blob {write.digest[:80]!r} do not have that digest")
        blobs.keep(transaction, content, limits, for_version=False)
        transaction.remember("pinned", write.digest, True)
        return 0

    return run, _weight(write.content, prepared)


def put(write: Put, limits: StoreLimits, prepared: Content | None = None) -> tuple[Unit, int]:
    _check(write.collection, write.path)
    check_size(len(write.content), repr(write.path), limits)
    label = _encoded(write.label)

    def run(transaction: Transaction) -> int:
        head = head_of(transaction, write.collection, write.path)
        _expect(write, head)
        content = prepared or measured(write.content)
        blobs.keep(transaction, content, limits, for_version=True)
        executable = head.executable if write.executable is None else int(write.executable)
        return add(transaction, write, head, What(content.digest, len(write.content), label, executable))

    return run, _weight(write.content, prepared)


def extend(write: Extend, limits: StoreLimits) -> tuple[Unit, int]:
    _check(write.collection, write.path)
    check_size(len(write.content), repr(write.path), limits)
    label = _encoded(write.label)

    def run(transaction: Transaction) -> int:
        head = head_of(transaction, write.collection, write.path)
        if not head.living:
            before, joined = b"", label
        else:
            check_size(head.size + len(write.content), repr(write.path), limits)
            before = blobs.read(transaction.connection, head.digest) or b""
            joined = _joined(head.label, write.label)
        content = measured(before + write.content)
        blobs.keep(transaction, content, limits, for_version=True)
        return add(transaction, write, head, What(content.digest, len(content.content), joined, head.executable))

    return run, len(write.content)


def move(write: Move, _: StoreLimits) -> tuple[Unit, int]:
    _check(write.collection, write.path)
    check_path(write.to)

    def run(transaction: Transaction) -> int:
        head = head_of(transaction, write.collection, write.path)
        _expect(write, head)
        if not head.living:
            raise BadInput(f"There is no document {write.path!r} in {write.collection!r} to move")
        there = head_of(transaction, write.collection, write.to)
        if there.living:
            raise Conflict(
                f"{write.to!r} in {write.collection!r} is there already", hint="Move or delete it first, or choose another name."
            )
        add(transaction, write, head, _DELETED)
        blobs.use_again(transaction, head.digest, for_version=True)
        what = What(head.digest, head.size, head.label, head.executable)
        return add(transaction, write, there, what, path=write.to)

    return run, 0


def restore(write: Restore, _: StoreLimits) -> tuple[Unit, int]:
    _check(write.collection, write.path)

    def run(transaction: Transaction) -> int:
        head = head_of(transaction, write.collection, write.path)
        _expect(write, head)
        old = transaction.row(
            "SELECT digest, size, label, executable, erased FROM versions WHERE document = ? AND version = ?",
            (head.id, write.version),
        )
        if old is None:
            raise BadInput(f"There is no version {write.version} of {write.path!r} in {write.collection!r}")
        *what, erased = old
        if erased:
            raise BadInput(f"Version {write.version} of {write.path!r} was erased for ever")
        if not what[0]:
            raise BadInput(f"Version {write.version} of {write.path!r} says that it was deleted; it has no content to restore")
        blobs.use_again(transaction, what[0], for_version=True)
        return add(transaction, write, head, What(*what))

    return run, 0


def tombstone(write: Tombstone, _: StoreLimits) -> tuple[Unit, int]:
    _check(write.collection, write.path)

    def run(transaction: Transaction) -> int:
        head = head_of(transaction, write.collection, write.path)
        _expect(write, head)
        if not head.living:
            raise BadInput(f"There is no document {write.path!r} in {write.collection!r} to delete")
        return add(transaction, write, head, _DELETED)

    return run, 0


def head_of(transaction: Transaction, collection: str, path: str) -> Head:
    row = transaction.row(_HEAD, (collection, path))
    return _NOTHING if row is None else Head(*row)


def add(transaction: Transaction, write: Any, head: Head, what: What, *, path: str = "") -> int:
    """Write the version that follows `head`, by the write's author at its time; gives its number."""
    path = path or write.path
    version, living = head.version + 1, int(bool(what.digest))
    place = _next_place(transaction)
    if head.id:
        document = head.id
        transaction.run(
            "UPDATE documents SET newest = ?, head = ?, size = ?, living = ? WHERE id = ?",
            (version, place, what.size, living, document),
        )
    else:
        folded = fold(path)
        document = transaction.insert(
            "INSERT INTO documents (collection, path, folded, newest, head, size, living) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (write.collection, path, None if folded == path else folded, version, place, what.size, living),
        )
    transaction.run(
        _INSERT,
        (
            place,
            document,
            version,
            what.digest,
            what.size,
            float(write.at),
            write.author,
            write.turn,
            what.label,
            what.executable,
        ),
    )
    if living and not head.living:
        transaction.created.append((write.collection, path))
    return version


def _next_place(transaction: Transaction) -> int:
    newest = transaction.recall("place", "")
    if newest is None:
        newest = (transaction.row("SELECT max(id) FROM versions") or (0,))[0] or 0
    transaction.remember("place", "", newest + 1)
    return int(newest + 1)


def _weight(content: bytes, prepared: Content | None) -> int:
    """What was written ahead waits in nobody's way."""
    return 0 if prepared is not None else len(content)


def _check(collection: str, path: str) -> None:
    check_collection(collection)
    if collection == SESSIONS:
        # The index shows journals under this name: a document there would pass for something that was said.
        raise BadInput(f"{collection!r} holds conversations, and they are only read", hint="Choose another collection.")
    check_path(path)


def _encoded(label: Label | None) -> bytes | None:
    return None if label is None else encode(label)


def _joined(before: bytes | None, label: Label | None) -> bytes | None:
    """Who adds to a text does not vouch for what was there, and the other way round."""
    known = decode_label(before)
    if known is None or label is None:
        return before if label is None else _encoded(label)
    return _encoded(known.join(label))


def _expect(write: Put | Move | Restore | Tombstone, head: Head) -> None:
    """Raises Conflict if `expect_version` does not hold; 0 also fits a document that was deleted or erased."""
    expected = write.expect_version
    if expected is None or expected == head.version or (expected == 0 and not head.living):
        return
    raise Conflict(
        f"{write.path!r} in {write.collection!r} is at version {head.version}, not {expected}",
        hint="Read it again, then write again.",
    )
