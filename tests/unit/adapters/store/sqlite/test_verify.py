"""What a hand that has the key and edits the file cannot hide."""

from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import SqliteStore
from ostiary.adapters.store.sqlite.connection import connect_writer
from ostiary.contracts.errors import StoreRefused
from tests.conformance.store.words import MAIN, setting
from tests.unit.adapters.store.conftest import KEY


def tamper(path: Path, sql: str) -> None:
    connection = connect_writer(path, KEY)
    connection.execute(f"PRAGMA foreign_keys = off; {sql}").fetchall()
    connection.close()


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("UPDATE payloads SET body = '{}' WHERE event = 2", "payload of event 2"),
        ("UPDATE payloads SET body = (SELECT body FROM payloads WHERE event = 1) WHERE event = 2", "payload of event 2"),
        ("DELETE FROM payloads WHERE event = 3", "payload of event 3"),
        ("DELETE FROM events WHERE seq = 1", "Event 1"),
        ("DELETE FROM events WHERE seq = 2", "Event 2"),
        ("UPDATE events SET turn = 't9' WHERE seq = 2", "Event 2"),
        ("UPDATE events SET at = at + 1 WHERE seq = 3", "Event 3"),
        ("UPDATE events SET kind = 'session.reset' WHERE seq = 1", "Event 1"),
        ("UPDATE events SET version = 2 WHERE seq = 1", "Event 1"),
        ("UPDATE events SET digest = zeroblob(32) WHERE seq = 2", "Event 2"),
        ("UPDATE events SET chain = zeroblob(32) WHERE seq = 2", "Event 2"),
        ("UPDATE events SET seq = 9 WHERE seq = 2", "Event 2"),
    ],
)
async def test_a_changed_journal_does_not_verify_and_the_first_broken_event_is_named(
    store: SqliteStore, path: Path, sql: str, named: str
) -> None:
    await store.commit([setting("a"), setting("b"), setting("c")])
    assert await store.verify(MAIN) == ""
    tamper(path, sql.replace("'{}'", "CAST('{}' AS BLOB)"))
    assert named in await store.verify(MAIN)


async def test_a_journal_moved_to_another_session_does_not_verify(store: SqliteStore, path: Path) -> None:
    await store.commit([setting("a")])
    tamper(path, "UPDATE sessions SET key = 'agent:main:stolen'")
    assert "Event 1" in await store.verify(type(MAIN)("main", "stolen"))


async def test_a_payload_that_is_missing_without_having_been_erased_is_not_read_as_erased(store: SqliteStore, path: Path) -> None:
    await store.commit([setting("a")])
    tamper(path, "DELETE FROM payloads")
    with pytest.raises(StoreRefused, match="event 1"):
        await store.read(MAIN)


async def test_an_event_of_a_newer_release_is_refused_by_name(store: SqliteStore, path: Path) -> None:
    await store.commit([setting("a")])
    tamper(path, "UPDATE events SET kind = 'session.dreamt'")
    with pytest.raises(StoreRefused, match=r"session\.dreamt"):
        await store.read(MAIN)
