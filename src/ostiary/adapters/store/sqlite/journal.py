"""Writing journals: append to a chain, erase a payload, delete a session whole."""

from typing import NamedTuple

from ostiary.adapters.store import chain
from ostiary.adapters.store.codec import encode, encode_event
from ostiary.adapters.store.erasures import SESSIONS
from ostiary.adapters.store.sqlite.writer import Transaction, Unit
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.store import Append, DeleteSession, ErasePayload, SaveSession, SaveSnapshot


class Head(NamedTuple):
    """Where a session's journal ends."""

    id: int
    seq: int
    chain: bytes


def head_of(transaction: Transaction, session: str) -> Head | None:
    """None if the store has never heard of the session."""
    known: Head | None = transaction.recall("head", session)
    if known is not None:
        return known
    row = transaction.row(
        "SELECT s.id, e.seq, e.chain FROM sessions s LEFT JOIN events e ON e.session = s.id"
        " WHERE s.key = ? ORDER BY e.seq DESC LIMIT 1",
        (session,),
    )
    if row is None:
        return None
    head = Head(row[0], row[1] or 0, row[2] or chain.GENESIS)
    transaction.remember("head", session, head)
    return head


def check_ends_at(transaction: Transaction, session: str, seq: int) -> None:
    head = head_of(transaction, session)
    found = head.seq if head else 0
    if found != seq:
        raise Conflict(f"The journal of {session} ends with event {found}, not {seq}", hint="Read it again, then decide again.")


def append(write: Append) -> tuple[Unit, int]:
    kind, version, body = encode_event(write.event)
    salt, digest = chain.seal(body)
    session, turn, at = str(write.session), write.turn, float(write.at)

    def run(transaction: Transaction) -> int:
        before = head_of(transaction, session) or _begin(transaction, session, at)
        seq = before.seq + 1
        linked = chain.link(before.chain, session=session, seq=seq, turn=turn, kind=kind, version=version, at=at, digest=digest)
        event = _next_place(transaction)
        transaction.run(
            "INSERT INTO events (id, session, seq, turn, kind, version, at, digest, chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (event, before.id, seq, turn, kind, version, at, digest, linked),
        )
        transaction.run("INSERT INTO payloads (event, salt, body) VALUES (?, ?, ?)", (event, salt, body))
        transaction.remember("head", session, Head(before.id, seq, linked))
        return seq

    return run, len(body)


def _next_place(transaction: Transaction) -> int:
    """The id of the next event. It only grows, also when the newest events were deleted with their session: who follows the
    journals by place would miss the ones that took the old places."""
    newest = transaction.recall("event", "")
    if newest is None:
        row = transaction.row("SELECT max(coalesce((SELECT max(id) FROM events), 0), value) FROM counters WHERE name = 'events'")
        newest = row[0] if row else 0
    transaction.remember("event", "", newest + 1)
    return int(newest + 1)


def _begin(transaction: Transaction, session: str, at: float) -> Head:
    row = transaction.insert("INSERT INTO sessions (key, updated_at) VALUES (?, ?)", (session, at))
    return Head(row, 0, chain.GENESIS)


def save_session(write: SaveSession) -> tuple[Unit, int]:
    record = write.record
    body = encode(record)
    session = str(record.key)

    def run(transaction: Transaction) -> int:
        transaction.run(
            "INSERT INTO sessions (key, updated_at, ephemeral, record) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE"
            " SET updated_at = excluded.updated_at, ephemeral = excluded.ephemeral, record = excluded.record",
            (session, float(record.updated_at), int(record.ephemeral), body),
        )
        return 0

    return run, len(body)


def save_snapshot(write: SaveSnapshot) -> tuple[Unit, int]:
    session = str(write.session)

    def run(transaction: Transaction) -> int:
        head = head_of(transaction, session)
        if head is None or not 0 <= write.seq <= head.seq:
            raise Conflict(f"A snapshot of {session} at event {write.seq} is ahead of its journal")
        transaction.run(
            "INSERT INTO snapshots (session, seq, schema, state) VALUES (?, ?, ?, ?) ON CONFLICT (session) DO UPDATE"
            " SET seq = excluded.seq, schema = excluded.schema, state = excluded.state",
            (head.id, write.seq, write.schema, write.state),
        )
        return 0

    return run, len(write.state)


def erase_payload(write: ErasePayload) -> tuple[Unit, int]:
    session = str(write.session)

    def run(transaction: Transaction) -> int:
        head = head_of(transaction, session)
        found = head and transaction.row("SELECT id, turn FROM events WHERE session = ? AND seq = ?", (head.id, write.seq))
        if not head or not found:
            raise BadInput(f"The journal of {session} has no event {write.seq}")
        event, turn = found
        transaction.run("DELETE FROM payloads WHERE event = ?", (event,))
        transaction.run("UPDATE events SET erased = 1 WHERE id = ?", (event,))
        if turn:
            _hush_replies(transaction, session, turn)
        # The cached fold may hold what was erased.
        transaction.run("DELETE FROM snapshots WHERE session = ?", (head.id,))
        transaction.note_erasure(SESSIONS, session)
        return 0

    return run, 0


def delete_session(write: DeleteSession) -> tuple[Unit, int]:
    session = str(write.key)

    def run(transaction: Transaction) -> int:
        opened = transaction.row("SELECT turn FROM turns WHERE session = ? LIMIT 1", (session,))
        if opened is not None:
            raise Conflict(f"{session} cannot be deleted while its turn {opened[0]} is open", hint="Stop the turn first.")
        head = head_of(transaction, session)
        if head is None:
            return 0
        of_it = (head.id,)
        for (turn,) in transaction.rows("SELECT DISTINCT turn FROM events WHERE session = ? AND turn <> ''", of_it):
            _hush_replies(transaction, session, turn)
        transaction.run("UPDATE counters SET value = max(value, (SELECT max(id) FROM events)) WHERE name = 'events'")
        transaction.run("DELETE FROM payloads WHERE event IN (SELECT id FROM events WHERE session = ?)", of_it)
        transaction.run("DELETE FROM events WHERE session = ?", of_it)
        transaction.run("DELETE FROM snapshots WHERE session = ?", of_it)
        transaction.run("DELETE FROM sessions WHERE id = ?", of_it)
        transaction.remember("head", session, None)
        transaction.note_erasure(SESSIONS, session)
        return 0

    return run, 0


def _hush_replies(transaction: Transaction, session: str, turn: str) -> None:
    """Replies that were delivered keep their key, so that none is ever queued twice, and lose their words.

    A key begins with its turn's id and a colon, which finds them without an index that every turn would pay for."""
    hush(
        transaction,
        "key >= ? AND key < ? AND session = ? AND state IN ('sent', 'failed', 'cancelled')",
        (f"{turn}:", f"{turn};", session),
    )


def hush(transaction: Transaction, which: str, bindings: tuple[str, ...]) -> None:
    """Take the words out of these rows of the outbox; their keys stay."""
    transaction.run(
        "UPDATE outbox SET message = CAST(json_set(CAST(message AS TEXT), '$.text', '', '$.attachments', json('[]'),"  # noqa: S608
        f" '$.choices', json('[]')) AS BLOB) WHERE {which}",
        bindings,
    )
