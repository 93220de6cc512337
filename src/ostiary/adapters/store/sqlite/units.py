"""Every kind of write as SQL. Encoding and checks that need no database happen before a unit is queued."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import apsw

from ostiary.adapters.store.codec import encode, encode_inbox
from ostiary.adapters.store.limits import DEFAULT_LIMITS, StoreLimits
from ostiary.adapters.store.sqlite import audit, blobs, documents, erasing, journal, leases, twins
from ostiary.adapters.store.sqlite.blobs import LARGEST_ROW, Content
from ostiary.adapters.store.sqlite.writer import Transaction, Unit
from ostiary.contracts import store as words
from ostiary.contracts.errors import AlreadyAccepted, BadInput, Conflict
from ostiary.contracts.store import Lease, Write


def plan(
    writes: Sequence[Write],
    fence: Lease | None = None,
    expect: Mapping[str, int] | None = None,
    *,
    limits: StoreLimits = DEFAULT_LIMITS,
    prepared: Mapping[int, Content] = MappingProxyType({}),
) -> tuple[Unit, int]:
    """The whole unit, and the bytes it holds while it waits. Raises BadInput for what could never be stored.

    `prepared` holds large contents that were hashed before, by their write's place."""
    steps: list[Unit] = []
    weight = 0
    for place, write in enumerate(writes):
        step, size = _planned(write, limits, prepared.get(place))
        steps.append(step)
        weight += size
    expected = tuple(expect.items()) if expect else ()

    def run(transaction: Transaction) -> tuple[int, ...]:
        if fence is not None:
            leases.check(transaction, fence)
        for session, seq in expected:
            journal.check_ends_at(transaction, session, seq)
        given = tuple([step(transaction) for step in steps])
        if transaction.created:
            twins.check(transaction)
        return given

    return run, weight


_LARGE = (words.Put, words.PutBlob)


def large_contents(writes: Sequence[Write]) -> dict[int, bytes]:
    """What should be hashed in a thread and written ahead, by its write's place."""
    return {
        place: write.content
        for place, write in enumerate(writes)
        if isinstance(write, _LARGE) and len(write.content) > LARGEST_ROW
    }


def _planned(write: Write, limits: StoreLimits, prepared: Content | None) -> tuple[Unit, int]:
    kind = type(write)
    if kind in _PLANNERS:
        return _PLANNERS[kind](write)
    if kind in _CONTENTS:
        return _CONTENTS[kind](write, limits, prepared)
    if kind in _DOCUMENTS:
        return _DOCUMENTS[kind](write, limits)
    raise BadInput(f"The store does not know how to write a {kind.__name__}")


def _accept(write: words.Accept) -> tuple[Unit, int]:
    item = write.item
    kept, spoken = encode_inbox(item)
    address = item.message.address
    key = (address.channel, address.account, address.chat, address.thread, item.message.id)
    row = (
        *key,
        item.state,
        item.turn,
        float(item.accepted_at),
        float(item.ready_at),
        kept,
        None if item.state == "done" else spoken,
    )

    def run(transaction: Transaction) -> int:
        try:
            return transaction.insert(
                "INSERT INTO inbox (channel, account, chat, thread, message, state, turn, accepted_at, ready_at, kept, spoken)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        except apsw.ConstraintError:
            first = transaction.row(
                "SELECT id FROM inbox WHERE channel = ? AND account = ? AND chat = ? AND thread = ? AND message = ?", key
            )
            if first is None:
                raise
            raise AlreadyAccepted(f"Message {item.message.id[:80]!r} was accepted before", item=first[0]) from None

    return run, len(kept) + len(spoken)


def _mark_inbox(write: words.MarkInbox) -> tuple[Unit, int]:
    changes: dict[str, Any] = {"state": write.state, "turn": write.turn, "ready_at": write.ready_at}
    changes = {column: value for column, value in changes.items() if value is not None}
    assigned = [f"{column} = ?" for column in changes]
    if write.state == "done":
        assigned.append("spoken = NULL")
    # A finished row has given up its message: it cannot be put back to work.
    reopens = write.state is not None and write.state != "done"
    sql = f"UPDATE inbox SET {', '.join(assigned)} WHERE id = ?{' AND spoken IS NOT NULL' if reopens else ''}"  # noqa: S608
    values = tuple(changes.values())

    def run(transaction: Transaction) -> int:
        if assigned:
            for item in write.ids:
                if not transaction.change(sql, (*values, item)):
                    raise Conflict(f"Inbox row {item} is finished or does not exist")
        return 0

    return run, 0


def _mark_turn(write: words.MarkTurn) -> tuple[Unit, int]:
    session = str(write.session)

    def run(transaction: Transaction) -> int:
        if write.state == "ended":
            transaction.run("DELETE FROM turns WHERE turn = ?", (write.turn,))
        else:
            transaction.run(
                "INSERT INTO turns (turn, place, session, lane, state, deadline)"
                " VALUES (?, (SELECT coalesce(max(place), 0) + 1 FROM turns), ?, ?, ?, ?) ON CONFLICT (turn) DO UPDATE"
                " SET session = excluded.session, lane = excluded.lane, state = excluded.state, deadline = excluded.deadline",
                (write.turn, session, write.lane, write.state, float(write.deadline)),
            )
        return 0

    return run, 0


def _enqueue(write: words.Enqueue) -> tuple[Unit, int]:
    item = write.item
    body = encode(item.message)
    row = (
        item.message.key, item.session, item.turn, item.state, item.attempts, float(item.next_at), item.error, item.receipt, body,
    )  # fmt: skip

    def run(transaction: Transaction) -> int:
        transaction.run(
            "INSERT INTO outbox (key, session, turn, state, attempts, next_at, error, receipt, message)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
            row,
        )
        return 0

    return run, len(body)


def _mark_outbox(write: words.MarkOutbox) -> tuple[Unit, int]:
    row = (write.state, write.attempts, float(write.next_at), write.error, write.receipt, write.key)

    def run(transaction: Transaction) -> int:
        if not transaction.change(
            "UPDATE outbox SET state = ?, attempts = ?, next_at = ?, error = ?, receipt = ? WHERE key = ?", row
        ):
            raise Conflict(f"There is no reply {write.key[:80]!r} in the outbox")
        if write.state == "sent":
            # The answer to a command stands nowhere else: once it is delivered nobody needs its words, and forgetting must not
            # have to look for them here.
            journal.hush(transaction, "key = ? AND turn = ''", (write.key,))
        return 0

    return run, 0


def _set_value(write: words.SetValue) -> tuple[Unit, int]:
    row = (write.space, write.key, write.value, float(write.expires_at))

    def run(transaction: Transaction) -> int:
        transaction.run(
            "INSERT INTO vals (space, key, value, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT (space, key) DO UPDATE"
            " SET value = excluded.value, expires_at = excluded.expires_at",
            row,
        )
        return 0

    return run, len(write.value)


def _delete_value(write: words.DeleteValue) -> tuple[Unit, int]:
    def run(transaction: Transaction) -> int:
        transaction.run("DELETE FROM vals WHERE space = ? AND key = ?", (write.space, write.key))
        return 0

    return run, 0


def sweep(*, now: float, keep_keys: float, limit: int) -> Unit:
    """A unit that gives how many rows went. It looks at no more than `limit` rows of each table.

    The newest inbox row always stays: its id is the one the next row is counted from."""

    def run(transaction: Transaction) -> int:
        expired = transaction.change(
            "DELETE FROM vals WHERE rowid IN (SELECT rowid FROM vals WHERE expires_at > 0 AND expires_at <= ? LIMIT ?)",
            (now, limit),
        )
        forgotten = transaction.change(
            "DELETE FROM inbox WHERE state = 'done' AND accepted_at <= ? AND id < (SELECT max(id) FROM inbox)"
            " AND id IN (SELECT id FROM inbox ORDER BY id LIMIT ?)",
            (now - keep_keys, limit),
        )
        return expired + forgotten + blobs.sweep(transaction, now, limit)

    return run


_PLANNERS: Mapping[type, Callable[[Any], tuple[Unit, int]]] = {
    words.Accept: _accept,
    words.MarkInbox: _mark_inbox,
    words.Append: journal.append,
    words.MarkTurn: _mark_turn,
    words.Enqueue: _enqueue,
    words.MarkOutbox: _mark_outbox,
    words.SaveSession: journal.save_session,
    words.DeleteSession: journal.delete_session,
    words.ErasePayload: journal.erase_payload,
    words.SetValue: _set_value,
    words.DeleteValue: _delete_value,
    words.Audit: audit.append,
    words.SaveSnapshot: journal.save_snapshot,
}
_CONTENTS: Mapping[type, Callable[[Any, StoreLimits, Content | None], tuple[Unit, int]]] = {
    words.PutBlob: documents.put_blob,
    words.Put: documents.put,
}
_DOCUMENTS: Mapping[type, Callable[[Any, StoreLimits], tuple[Unit, int]]] = {
    words.Extend: documents.extend,
    words.Move: documents.move,
    words.Restore: documents.restore,
    words.Tombstone: documents.tombstone,
    words.EraseVersions: erasing.erase_versions,
    words.EraseBlob: erasing.erase_blob,
}
