"""The audit log: one hash chain for the whole store, written in the unit of what it tells about, never changed afterwards."""

import hashlib
import struct
from typing import Any

import apsw
import msgspec

from ostiary.adapters.store.chain import GENESIS
from ostiary.adapters.store.codec import encode
from ostiary.adapters.store.sqlite.connection import fetch
from ostiary.adapters.store.sqlite.migrations import AUDIT_TURN as TURN
from ostiary.adapters.store.sqlite.threads import Threads
from ostiary.adapters.store.sqlite.writer import Transaction, Unit
from ostiary.contracts.audit import AuditEntry, AuditHead
from ostiary.contracts.errors import BadInput, StoreRefused
from ostiary.contracts.store import Audit

_COLUMNS = "seq, at, kind, actor, subject, outcome, detail, chain"
_FRAME = struct.Struct(">QdIIII")
_MOST = 1000


def append(write: Audit) -> tuple[Unit, int]:
    """Raises BadInput for a kind that is empty or holds what only patterns hold, and for detail that is not plain data."""
    if not write.kind or "*" in write.kind:
        raise BadInput(f"{write.kind[:80]!r} is not a kind of audit entry")
    detail = encode(dict(write.detail))
    at = float(write.at)
    words = (write.kind, write.actor, write.subject, write.outcome)

    def run(transaction: Transaction) -> int:
        seq, before = _head_of(transaction)
        seq += 1
        linked = link(before, seq=seq, at=at, words=words, detail=detail)
        transaction.run(
            f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constants
            (seq, at, *words, detail, linked),
        )
        transaction.remember("audit", "", (seq, linked))
        return seq

    return run, len(detail)


def _head_of(transaction: Transaction) -> tuple[int, bytes]:
    known: tuple[int, bytes] | None = transaction.recall("audit", "")
    if known is None:
        row = transaction.row("SELECT seq, chain FROM audit ORDER BY seq DESC LIMIT 1")
        known = (row[0], row[1]) if row else (0, GENESIS)
        transaction.remember("audit", "", known)
    return known


def link(before: bytes, *, seq: int, at: float, words: tuple[str, str, str, str], detail: bytes) -> bytes:
    """The chain value of one entry. Lengths are hashed too: no two entries share an encoding."""
    kind, actor, subject, outcome = (word.encode() for word in words)
    frame = _FRAME.pack(seq, at, len(kind), len(actor), len(subject), len(outcome))
    return hashlib.sha256(b"".join((before, frame, kind, actor, subject, outcome, detail))).digest()


class SqliteAudit:
    """`contracts.audit.AuditLog`. `heads` is where the chain stood at earlier moments, as kept outside the database; empty
    when nothing is kept."""

    def __init__(self, reading: Threads, heads: tuple[AuditHead, ...] = ()) -> None:
        self._reading = reading
        self._heads = heads

    async def entries(
        self, *, after: int = 0, limit: int = 100, kind: str = "", turn: str = "", newest: bool = False
    ) -> tuple[AuditEntry, ...]:
        return await self._reading.run(lambda c: _entries(c, after, min(limit, _MOST), kind, turn, newest))

    async def head(self) -> AuditHead:
        """`seq` 0 while nothing has been written."""
        return await self._reading.run(_head)

    async def verify(self) -> str:
        return await self._reading.run(lambda c: verify(c, self._heads))


def _entries(connection: apsw.Connection, after: int, limit: int, kind: str, turn: str, newest: bool) -> tuple[AuditEntry, ...]:
    conditions = ["seq > ?"]
    values: list[Any] = [after]
    if kind.endswith("*"):
        conditions.append("substr(kind, 1, ?) = ?")
        values += [len(kind) - 1, kind[:-1]]
    elif kind:
        conditions.append("kind = ?")
        values.append(kind)
    if turn:
        conditions.append(f"{TURN} = ?")
        values.append(turn)
    order = "DESC" if newest else "ASC"
    rows = fetch(
        connection,
        f"SELECT {_COLUMNS} FROM audit WHERE {' AND '.join(conditions)} ORDER BY seq {order} LIMIT ?",  # noqa: S608 - constants
        (*values, max(0, limit)),
    )
    return tuple(map(_entry, reversed(rows) if newest else rows))


def _entry(row: tuple[Any, ...]) -> AuditEntry:
    seq, at, kind, actor, subject, outcome, detail, chain = row
    return AuditEntry(
        seq=seq,
        at=at,
        kind=kind,
        actor=actor,
        subject=subject,
        outcome=outcome,
        detail=_detail(seq, detail),
        chain=chain.hex(),
    )


def _detail(seq: int, body: bytes) -> dict[str, object]:
    try:
        return msgspec.json.decode(body, type=dict[str, object])
    except msgspec.DecodeError as error:
        raise StoreRefused(f"Entry {seq} of the audit log is damaged: {error}") from error


def _head(connection: apsw.Connection) -> AuditHead:
    rows = fetch(connection, "SELECT seq, chain, at FROM audit ORDER BY seq DESC LIMIT 1")
    if not rows:
        return AuditHead(seq=0, chain=GENESIS.hex(), at=0.0)
    return AuditHead(seq=rows[0][0], chain=rows[0][1].hex(), at=rows[0][2])


def verify(connection: apsw.Connection, heads: tuple[AuditHead, ...]) -> str:
    """Empty if the log holds. One walk in order, so that whatever is wrong first is what is named."""
    kept: dict[int, set[str]] = {}
    for head in heads:
        kept.setdefault(head.seq, set()).add(head.chain)
    before, expected, sure = GENESIS, 1, 0
    for seq, at, *words, detail, chain in connection.execute(f"SELECT {_COLUMNS} FROM audit ORDER BY seq"):  # noqa: S608
        if seq != expected:
            return f"Entry {expected} of the audit log is missing."
        if chain != link(before, seq=seq, at=at, words=(words[0], words[1], words[2], words[3]), detail=detail):
            return f"Entry {seq} of the audit log was changed, or does not follow from the one before it."
        told = kept.pop(seq, None)
        if told is not None and told != {chain.hex()}:
            since = f"Entry {sure + 1}" if sure + 1 == seq else f"An entry between {sure + 1} and {seq}"
            return f"{since} of the audit log was rewritten: the checkpoint at entry {seq} tells of another one."
        sure = seq if told is not None else sure
        before, expected = chain, seq + 1
    ahead = [seq for seq in kept if seq >= expected]
    if ahead:
        return f"Entry {expected} of the audit log is missing: there is a checkpoint at entry {max(ahead)}."
    return ""
