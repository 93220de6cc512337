"""What a hand that has the key and edits the audit table cannot hide."""

from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.adapters.store.sqlite.connection import connect_writer
from ostiary.contracts.store import Audit
from ostiary.kit.clock import ManualClock
from tests.conformance.store.words import NOW
from tests.unit.adapters.store.conftest import KEY


def rows(*subjects: str) -> list[Audit]:
    return [Audit(at=NOW, kind="tool.called", actor="owner", subject=each, outcome="ok") for each in subjects]


def tamper(path: Path, sql: str) -> None:
    connection = connect_writer(path, KEY)
    connection.execute(sql).fetchall()
    connection.close()


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("UPDATE audit SET kind = 'tool.decided' WHERE seq = 2", "Entry 2"),
        ("UPDATE audit SET actor = 'nobody' WHERE seq = 3", "Entry 3"),
        ("UPDATE audit SET subject = 'x' WHERE seq = 1", "Entry 1"),
        ("UPDATE audit SET outcome = 'error' WHERE seq = 4", "Entry 4"),
        ("UPDATE audit SET at = at + 1 WHERE seq = 2", "Entry 2"),
        ("UPDATE audit SET detail = CAST('{\"a\":1}' AS BLOB) WHERE seq = 2", "Entry 2"),
        ("UPDATE audit SET detail = CAST('{\"a\":' AS BLOB) WHERE seq = 2", "Entry 2"),
        ("UPDATE audit SET chain = zeroblob(32) WHERE seq = 2", "Entry 2"),
        ("UPDATE audit SET actor = 'ownerb', subject = '' WHERE seq = 2", "Entry 2"),
        ("DELETE FROM audit WHERE seq = 1", "Entry 1 of the audit log is missing"),
        ("DELETE FROM audit WHERE seq = 3", "Entry 3 of the audit log is missing"),
        ("UPDATE audit SET seq = 9 WHERE seq = 2", "Entry 2 of the audit log is missing"),
        ("UPDATE audit SET seq = -seq; UPDATE audit SET seq = CASE seq WHEN -2 THEN 3 WHEN -3 THEN 2 ELSE -seq END", "Entry 2"),
    ],
)
async def test_a_changed_log_does_not_verify_and_the_first_broken_entry_is_named(
    store: SqliteStore, path: Path, sql: str, named: str
) -> None:
    await store.commit(rows("a", "b", "c", "d"))
    assert await store.audit().verify() == ""
    tamper(path, sql)
    assert named in await store.audit().verify()


async def test_a_cut_tail_shows_against_the_checkpoint(store: SqliteStore, path: Path) -> None:
    await store.commit(rows("a", "b", "c"))
    head = await store.audit().head()
    tamper(path, "DELETE FROM audit WHERE seq > 1")
    assert await store.audit().verify() == ""
    assert "Entry 2 of the audit log is missing" in await store.audit((head,)).verify()


async def test_a_replaced_log_shows_against_the_checkpoint(path: Path, store: SqliteStore, tmp_path: Path) -> None:
    await store.commit(rows("a", "b"))
    head = await store.audit().head()
    async with open_store(tmp_path / "other" / "store.db", KEY, clock=ManualClock()) as other:
        await other.commit(rows("a", "innocent", "c"))
        assert "between 1 and 2" in await other.audit((head,)).verify()


async def test_the_writers_memory_of_the_head_is_not_taken_from_an_undone_batch(store: SqliteStore) -> None:
    await store.commit(rows("a"))
    failing = Audit(at=NOW, kind="tool.called", actor="\ud800", subject="", outcome="")
    with pytest.raises(Exception, match="surrogates"):
        await store.commit([*rows("b"), failing])
    assert await store.commit(rows("c")) == (2,)
    assert await store.audit().verify() == ""


async def test_an_end_spliced_from_another_log_does_not_follow(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with open_store(tmp_path / "other" / "store.db", KEY, clock=ManualClock()) as other:
        await other.commit(rows("a", "x", "y", "z"))
    await store.commit(rows("a", "b", "c", "d"))
    source = connect_writer(tmp_path / "other" / "store.db", KEY)
    taken = source.execute("SELECT * FROM audit WHERE seq > 2").fetchall()
    source.close()
    connection = connect_writer(path, KEY)
    connection.execute("DELETE FROM audit WHERE seq > 2")
    connection.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)", taken)
    connection.close()
    assert "Entry 3 of the audit log was changed, or does not follow" in await store.audit().verify()
