"""Content by its digest: stored once, counted, and removed when nobody needs it any more.

Content of up to a mebibyte lies in one row. Larger content is cut into pieces that blobs share, so that appending to a large
document stores its end alone, and that no single transaction carries a hundred megabytes: pieces are written ahead, a few at a
time between other commits, and mean nothing until a unit joins them to a blob.
"""

import hashlib
from collections.abc import Iterator
from io import BytesIO
from typing import NamedTuple

import apsw

from ostiary.adapters.store.limits import StoreLimits
from ostiary.adapters.store.sqlite.connection import fetch
from ostiary.adapters.store.sqlite.writer import Transaction, Unit
from ostiary.contracts.errors import QuotaExceeded

LARGEST_ROW = 1 << 20
PIECE = 1 << 18
_AHEAD = 8
_KEEP_STAGED = 3600.0


class Content(NamedTuple):
    """`pieces` are the digests of its pieces, none if it lies in one row."""

    content: bytes
    digest: str
    pieces: tuple[bytes, ...] = ()


def measured(content: bytes) -> Content:
    """Hash it. Takes a second per gigabyte and lets go of the interpreter meanwhile: give large content to a thread."""
    digest = hashlib.sha256(content).hexdigest()
    if len(content) <= LARGEST_ROW:
        return Content(content, digest)
    return Content(content, digest, tuple(hashlib.sha256(piece).digest() for piece in _cut(content)))


def keep(transaction: Transaction, content: Content, limits: StoreLimits, *, for_version: bool) -> None:
    """Count one use by a document version, or pin it. Raises QuotaExceeded."""
    body = b"" if content.pieces else content.content
    size = len(content.content)
    is_new = transaction.change(
        "INSERT INTO blobs (digest, content) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING", (content.digest, body)
    )
    if not is_new:
        use_again(transaction, content.digest, for_version=for_version)
        return
    blob = transaction.new_id
    if content.pieces:
        _join(transaction, blob, content, limits)
    else:
        _count(transaction, size, limits)
    transaction.run(
        "INSERT INTO held (blob, size, uses, pinned, is_split) VALUES (?, ?, ?, ?, ?)",
        (blob, size, int(for_version), int(not for_version), int(bool(content.pieces))),
    )


def use_again(transaction: Transaction, digest: str, *, for_version: bool) -> None:
    """One more use of content that is there."""
    change = "uses = uses + 1" if for_version else "pinned = 1"
    condition = "" if for_version else " AND pinned = 0"
    transaction.run(f"UPDATE held SET {change} WHERE blob = (SELECT id FROM blobs WHERE digest = ?){condition}", (digest,))  # noqa: S608


def let_go(transaction: Transaction, digest: str) -> None:
    """One use less; content that nobody uses is removed and its bytes are overwritten."""
    _drop(transaction, digest, "uses = uses - 1")


def unpin(transaction: Transaction, digest: str) -> bool:
    """Nobody holds it any more but document versions; whether it was removed."""
    return _drop(transaction, digest, "pinned = 0")


def _drop(transaction: Transaction, digest: str, change: str) -> bool:
    found = transaction.row("SELECT id FROM blobs WHERE digest = ?", (digest,))
    if found is None:
        return False
    (blob,) = found
    transaction.run(f"UPDATE held SET {change} WHERE blob = ?", (blob,))  # noqa: S608
    left = transaction.row("SELECT size, is_split FROM held WHERE blob = ? AND uses <= 0 AND pinned = 0", (blob,))
    if left is None:
        return False
    size, is_split = left
    transaction.run("DELETE FROM held WHERE blob = ?", (blob,))
    freed = _unjoin(transaction, blob) if is_split else size
    transaction.run("DELETE FROM blobs WHERE id = ?", (blob,))
    transaction.count("stored", -freed)
    transaction.wants_truncation = True
    return True


def read_pinned(connection: apsw.Connection, digest: str) -> bytes | None:
    """None if it is not there, or only documents hold it."""
    is_pinned = "SELECT 1 FROM blobs b JOIN held h ON h.blob = b.id WHERE b.digest = ? AND h.pinned"
    return read(connection, digest) if fetch(connection, is_pinned, (digest,)) else None


def read(connection: apsw.Connection, digest: str) -> bytes | None:
    """None if it is not there."""
    rows = fetch(
        connection, "SELECT b.id, b.content, h.is_split FROM blobs b JOIN held h ON h.blob = b.id WHERE b.digest = ?", (digest,)
    )
    if not rows:
        return None
    blob, content, is_split = rows[0]
    return joined(connection, blob) if is_split else content


def joined(connection: apsw.Connection, blob: int) -> bytes:
    """The content of a blob that was cut, without ever holding it twice."""
    whole = BytesIO()
    for (piece,) in connection.execute(
        "SELECT p.content FROM blob_pieces j JOIN pieces p ON p.id = j.piece WHERE j.blob = ? ORDER BY j.place", (blob,)
    ):
        whole.write(piece)
    return whole.getvalue()


def staging(content: Content, limits: StoreLimits, now: float) -> Iterator[tuple[Unit, int]]:
    """Units that write the pieces of large content ahead, with the bytes each holds. What no blob needs later is swept."""
    for first in range(0, len(content.pieces), _AHEAD):
        part = memoryview(content.content)[first * PIECE : (first + _AHEAD) * PIECE]
        yield _stage(content, range(first, min(first + _AHEAD, len(content.pieces))), limits, now), len(part)


def sweep(transaction: Transaction, now: float, limit: int) -> int:
    """Remove pieces that were written ahead for a unit that never came."""
    rows = transaction.rows("SELECT piece FROM staged WHERE at <= ? LIMIT ?", (now - _KEEP_STAGED, limit))
    for (piece,) in rows:
        transaction.run("DELETE FROM staged WHERE piece = ?", (piece,))
        _drop_if_unused(transaction, piece)
    return len(rows)


def _stage(content: Content, places: range, limits: StoreLimits, now: float) -> Unit:
    def run(transaction: Transaction) -> None:
        if transaction.row("SELECT 1 FROM blobs WHERE digest = ?", (content.digest,)):
            return
        if places.start == 0:
            _check_room(transaction, content, limits)
        for place in places:
            piece = _piece(transaction, content, place, limits)
            transaction.run(
                "INSERT INTO staged (piece, at) VALUES (?, ?) ON CONFLICT (piece) DO UPDATE SET at = excluded.at", (piece, now)
            )

    return run


def _check_room(transaction: Transaction, content: Content, limits: StoreLimits) -> None:
    """Large content that will not fit is refused before any of it is written."""
    missing = {
        digest: min(PIECE, len(content.content) - place * PIECE)
        for place, digest in enumerate(content.pieces)
        if transaction.row("SELECT 1 FROM pieces WHERE digest = ?", (digest,)) is None
    }
    wanted = sum(missing.values())
    _refuse_beyond(transaction.count("stored", 0) + wanted, wanted, limits)


def _join(transaction: Transaction, blob: int, content: Content, limits: StoreLimits) -> None:
    for place in range(len(content.pieces)):
        piece = _piece(transaction, content, place, limits)
        transaction.run("INSERT INTO blob_pieces (blob, place, piece) VALUES (?, ?, ?)", (blob, place, piece))
        transaction.run("DELETE FROM staged WHERE piece = ?", (piece,))


def _piece(transaction: Transaction, content: Content, place: int, limits: StoreLimits) -> int:
    """The id of the piece, which is written if it is not there."""
    digest = content.pieces[place]
    known = transaction.row("SELECT id FROM pieces WHERE digest = ?", (digest,))
    if known is not None:
        return int(known[0])
    body = memoryview(content.content)[place * PIECE : (place + 1) * PIECE]
    _count(transaction, len(body), limits)
    return transaction.insert("INSERT INTO pieces (digest, content) VALUES (?, ?)", (digest, body))


def _unjoin(transaction: Transaction, blob: int) -> int:
    rows = transaction.rows("SELECT DISTINCT piece FROM blob_pieces WHERE blob = ?", (blob,))
    transaction.run("DELETE FROM blob_pieces WHERE blob = ?", (blob,))
    return sum(_drop_if_unused(transaction, piece, counted=False) for (piece,) in rows)


def _drop_if_unused(transaction: Transaction, piece: int, *, counted: bool = True) -> int:
    """How many bytes went."""
    used = "SELECT 1 FROM blob_pieces WHERE piece = ? UNION ALL SELECT 1 FROM staged WHERE piece = ? LIMIT 1"
    if transaction.row(used, (piece, piece)) is not None:
        return 0
    size = (transaction.row("SELECT length(content) FROM pieces WHERE id = ?", (piece,)) or (0,))[0]
    transaction.run("DELETE FROM pieces WHERE id = ?", (piece,))
    if counted:
        transaction.count("stored", -size)
    transaction.wants_truncation = True
    return int(size)


def _count(transaction: Transaction, size: int, limits: StoreLimits) -> None:
    _refuse_beyond(transaction.count("stored", size), size, limits)


def _refuse_beyond(total: int, size: int, limits: StoreLimits) -> None:
    if total > limits.quota_bytes:
        raise QuotaExceeded(
            f"The store may hold {limits.quota_bytes} bytes of documents, and these {size} more do not fit",
            hint="Erase old versions of large documents, or raise vault.quotaBytes.",
        )


def _cut(content: bytes) -> Iterator[memoryview]:
    view = memoryview(content)
    for start in range(0, len(view), PIECE):
        yield view[start : start + PIECE]
