"""Every read as SQL, over one connection that sees one committed state."""

from typing import Any

import apsw

from ostiary.adapters.store import chain
from ostiary.adapters.store.codec import decode_event, decode_inbox, decode_outbound, decode_record
from ostiary.adapters.store.sqlite.connection import fetch
from ostiary.contracts.errors import StoreRefused
from ostiary.contracts.events import Erased, Event, Recorded
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import InboxItem, OpenTurn, OutboxItem, Pending, SessionRecord, Snapshot

_INBOX = "SELECT id, state, turn, ready_at, kept, spoken FROM inbox"
_OUTBOX = "SELECT message, session, turn, state, attempts, next_at, error, receipt, place FROM outbox"
_RECORD = "SELECT s.record, (SELECT max(seq) FROM events e WHERE e.session = s.id) FROM sessions s"


_EVENTS = (
    "SELECT e.seq, e.turn, e.at, e.kind, e.version, e.erased, e.digest, p.body"
    " FROM events e LEFT JOIN payloads p ON p.event = e.id"
)
_OF_SESSION = "(SELECT id FROM sessions WHERE key = ?)"
_JOURNAL = f"{_EVENTS} WHERE e.session = {_OF_SESSION} AND e.seq > ? ORDER BY e.seq LIMIT ?"
# A leading + keeps SQLite from walking the whole session where the turn's own index finds a handful of rows.
_TURN = f"{_EVENTS} WHERE e.turn = ? AND +e.session = {_OF_SESSION} AND +e.seq > ? ORDER BY +e.seq LIMIT ?"


def pending(connection: apsw.Connection) -> Pending:
    """One transaction, so that the three lists belong to the same moment."""
    connection.execute("BEGIN")
    try:
        return Pending(
            inbox=tuple(_inbox_item(row) for row in fetch(connection, f"{_INBOX} WHERE spoken IS NOT NULL ORDER BY id")),
            turns=tuple(
                OpenTurn(turn=turn, session=SessionKey.parse(session), lane=lane, state=state, deadline=deadline)
                for turn, session, lane, state, deadline in fetch(
                    connection, "SELECT turn, session, lane, state, deadline FROM turns ORDER BY place"
                )
            ),
            outbox=tuple(
                _outbox_item(row) for row in fetch(connection, f"{_OUTBOX} WHERE state IN ('pending', 'sending') ORDER BY place")
            ),
        )
    finally:
        connection.execute("ROLLBACK")


def inbox_item(connection: apsw.Connection, item: int) -> InboxItem | None:
    rows = fetch(connection, f"{_INBOX} WHERE id = ?", (item,))
    return _inbox_item(rows[0]) if rows else None


def outbox_item(connection: apsw.Connection, key: str) -> OutboxItem | None:
    rows = fetch(connection, f"{_OUTBOX} WHERE key = ?", (key,))
    return _outbox_item(rows[0]) if rows else None


def journal(connection: apsw.Connection, session: str, after: int, turn: str, limit: int) -> tuple[Recorded, ...]:
    bounds = (session, after, limit or -1)
    rows = fetch(connection, _TURN, (turn, *bounds)) if turn else fetch(connection, _JOURNAL, bounds)
    return tuple(_recorded(session, row) for row in rows)


def verify(connection: apsw.Connection, session: str) -> str:
    rows: Any = connection.execute(
        "SELECT e.seq, e.turn, e.at, e.kind, e.version, e.erased, e.digest, e.chain, p.salt, p.body"
        " FROM events e LEFT JOIN payloads p ON p.event = e.id"
        " WHERE e.session = (SELECT id FROM sessions WHERE key = ?) ORDER BY e.seq",
        (session,),
    )
    before, expected = chain.GENESIS, 1
    for seq, turn, at, kind, version, erased, digest, linked, salt, body in rows:
        if seq != expected:
            return f"Event {expected} of {session} is missing."
        if linked != chain.link(before, session=session, seq=seq, turn=turn, kind=kind, version=version, at=at, digest=digest):
            return f"Event {seq} of {session} does not follow from the one before it: the chain is broken."
        if body is None and not erased:
            return f"The payload of event {seq} of {session} is missing although nobody erased it."
        if body is not None and digest != chain.digest_of(salt, body):
            return f"The payload of event {seq} of {session} is not the one that was written."
        before, expected = linked, seq + 1
    return ""


def snapshot(connection: apsw.Connection, session: str) -> Snapshot | None:
    rows = fetch(
        connection, "SELECT seq, schema, state FROM snapshots WHERE session = (SELECT id FROM sessions WHERE key = ?)", (session,)
    )
    return Snapshot(seq=rows[0][0], schema=rows[0][1], state=rows[0][2]) if rows else None


def session_record(connection: apsw.Connection, key: str) -> SessionRecord | None:
    rows = fetch(connection, f"{_RECORD} WHERE s.key = ? AND s.record IS NOT NULL", (key,))
    return decode_record(rows[0][0], last_seq=rows[0][1] or 0) if rows else None


def session_records(connection: apsw.Connection, limit: int, prefix: str, include_ephemeral: bool) -> tuple[SessionRecord, ...]:
    only_lasting = "" if include_ephemeral else " AND s.ephemeral = 0"
    rows = fetch(
        connection,
        f"{_RECORD} WHERE s.record IS NOT NULL{only_lasting} AND substr(s.key, 1, ?) = ?"
        " ORDER BY s.updated_at DESC, s.id DESC LIMIT ?",
        (len(prefix), prefix, limit),
    )
    return tuple(decode_record(record, last_seq=seq or 0) for record, seq in rows)


def value(connection: apsw.Connection, space: str, key: str, now: float) -> bytes | None:
    rows = fetch(
        connection, "SELECT value FROM vals WHERE space = ? AND key = ? AND (expires_at = 0 OR expires_at > ?)", (space, key, now)
    )
    return rows[0][0] if rows else None


def values(connection: apsw.Connection, space: str, now: float) -> dict[str, bytes]:
    rows: Any = fetch(
        connection,
        "SELECT key, value FROM vals WHERE space = ? AND (expires_at = 0 OR expires_at > ?) ORDER BY key",
        (space, now),
    )
    return dict(rows)


def events_after(connection: apsw.Connection, after: int, limit: int) -> tuple[tuple[int, Recorded], ...]:
    rows = fetch(
        connection,
        "SELECT e.id, s.key, e.seq, e.turn, e.at, e.kind, e.version, e.erased, e.digest, p.body"
        " FROM events e JOIN sessions s ON s.id = e.session LEFT JOIN payloads p ON p.event = e.id"
        " WHERE e.id > ? ORDER BY e.id LIMIT ?",
        (after, max(0, limit)),
    )
    return tuple((row[0], _recorded(row[1], row[2:])) for row in rows)


def session_of(connection: apsw.Connection, turn: str) -> SessionKey | None:
    """Nothing for the empty turn, which belongs to no session."""
    rows = fetch(
        connection,
        "SELECT s.key FROM events e JOIN sessions s ON s.id = e.session WHERE e.turn = ?1 AND ?1 <> ''"
        " UNION ALL SELECT session FROM turns WHERE turn = ?1 LIMIT 1",
        (turn,),
    )
    return SessionKey.parse(rows[0][0]) if rows else None


def _inbox_item(row: tuple[Any, ...]) -> InboxItem:
    item, state, turn, ready_at, kept, spoken = row
    return decode_inbox(kept, spoken, {"id": item, "state": state, "turn": turn, "ready_at": ready_at})


def _outbox_item(row: tuple[Any, ...]) -> OutboxItem:
    message, session, turn, state, attempts, next_at, error, receipt, place = row
    return OutboxItem(
        message=decode_outbound(message),
        session=session,
        turn=turn,
        state=state,
        attempts=attempts,
        next_at=next_at,
        error=error,
        receipt=receipt,
        place=place,
    )


def _recorded(session: str, row: tuple[Any, ...]) -> Recorded:
    seq, turn, at, kind, version, erased, digest, body = row
    event: Event
    if body is not None:
        event = decode_event(kind, version, body)
    elif erased:
        event = Erased(kind=kind, digest=digest.hex())
    else:
        raise StoreRefused(
            f"The payload of event {seq} of {session} is missing although nobody erased it", hint="Restore the last backup."
        )
    return Recorded(session=session, seq=seq, turn=turn, at=at, event=event)
