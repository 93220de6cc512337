from pathlib import Path

import apsw
import pytest

from ostiary.adapters.store.sqlite import open_reader, open_store
from ostiary.adapters.store.sqlite.connection import connect_writer, fetch
from ostiary.adapters.store.sqlite.migrations import MIGRATIONS, migrate, version_of
from ostiary.adapters.store.sqlite.verify import verify
from ostiary.contracts.errors import BadInput, StoreRefused
from ostiary.contracts.store import Audit, EraseVersions
from ostiary.kit.clock import ManualClock
from tests.conformance.store.words import put, setting, sha256
from tests.unit.adapters.store.conftest import KEY

_ONE = "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('old words');"
_TWO = "ALTER TABLE notes ADD COLUMN mood TEXT DEFAULT 'calm';"
_BROKEN = "DROP TABLE notes; CREATE TABLE moods (mood TEXT); INSERT INTO nowhere VALUES (1);"


def at_version(path: Path, version: int) -> None:
    path.touch()
    connection = connect_writer(path, KEY)
    migrate(connection, path, MIGRATIONS[:version])
    connection.close()


@pytest.fixture
def old(path: Path) -> Path:
    """A file at version 1 of a made-up schema."""
    path.touch()
    connection = connect_writer(path, KEY)
    assert migrate(connection, path, (_ONE,)) is None
    connection.close()
    return path


def test_a_new_file_gets_the_newest_schema_without_a_backup(path: Path) -> None:
    path.touch()
    connection = connect_writer(path, KEY)
    assert migrate(connection, path) is None
    assert version_of(connection) == len(MIGRATIONS)
    connection.close()


def test_an_older_file_is_backed_up_and_then_migrated(old: Path) -> None:
    connection = connect_writer(old, KEY)
    backup = migrate(connection, old, (_ONE, _TWO))
    assert fetch(connection, "SELECT text, mood FROM notes") == [("old words", "calm")]
    connection.close()
    assert backup is not None
    assert backup.stat().st_mode & 0o777 == 0o600
    assert b"old words" not in backup.read_bytes()
    kept = connect_writer(backup, KEY)
    assert (version_of(kept), fetch(kept, "SELECT * FROM notes")) == (1, [("old words",)])
    kept.close()


def test_a_file_at_the_newest_version_is_left_alone(old: Path) -> None:
    connection = connect_writer(old, KEY)
    assert migrate(connection, old, (_ONE,)) is None
    connection.close()
    assert list(old.parent.glob("*.bak")) == []


def test_a_migration_that_fails_leaves_the_file_as_it_was(old: Path) -> None:
    connection = connect_writer(old, KEY)
    with pytest.raises(apsw.SQLError):
        migrate(connection, old, (_ONE, _TWO, _BROKEN))
    connection.close()
    again = connect_writer(old, KEY)
    assert (version_of(again), fetch(again, "SELECT * FROM notes")) == (1, [("old words",)])
    again.close()


def test_a_file_from_the_future_is_refused_and_left_alone(old: Path) -> None:
    connection = connect_writer(old, KEY)
    with pytest.raises(StoreRefused, match="newer release"):
        migrate(connection, old, ())
    assert version_of(connection) == 1
    connection.close()


async def test_a_store_from_the_future_is_refused_by_writers_and_readers(path: Path) -> None:
    at_version(path, 0)
    connection = connect_writer(path, KEY)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(StoreRefused, match="newer release"):
        async with open_store(path, KEY, clock=ManualClock()):
            pass
    with pytest.raises(StoreRefused, match="newer release"):
        async with open_reader(path, KEY):
            pass


@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
async def test_every_older_version_is_brought_up_to_date_by_opening(path: Path, version: int) -> None:
    at_version(path, version)
    with pytest.raises(StoreRefused, match="older release"):
        async with open_reader(path, KEY):
            pass
    async with open_store(path, KEY, clock=ManualClock()) as store:
        assert await store.commit([setting("a")]) == (1,)


async def test_a_store_of_the_first_release_keeps_its_documents_and_gains_an_audit_log(path: Path) -> None:
    at_version(path, 1)
    connection = connect_writer(path, KEY)
    connection.execute(
        "INSERT INTO blobs (digest, content) VALUES ('d', CAST('old' AS BLOB));"
        " INSERT INTO documents (collection, path, version, digest, size, at, author, turn, label)"
        " VALUES ('notes', 'a.md', 1, 'd', 3, 1.0, 'owner', 't1', NULL)"
    ).fetchall()
    connection.close()
    async with open_store(path, KEY, clock=ManualClock()) as store:
        assert [each.path for each in await store.documents.changed_by("t1")] == ["a.md"]
        await store.commit([Audit(at=1.0, kind="login", actor="owner", subject="", outcome="ok")])
        assert await store.audit().verify() == ""
    assert path.with_name("store.db.v1.bak").exists()


async def test_documents_of_format_two_keep_their_versions_order_and_contents(path: Path) -> None:
    at_version(path, 2)
    connection = connect_writer(path, KEY)
    one, two, seen = (sha256(content) for content in (b"one", b"two", b"seen"))
    for digest, content in ((one, b"one"), (two, b"two"), (seen, b"seen")):
        connection.execute("INSERT INTO blobs (digest, content) VALUES (?, ?)", (digest, content))
    rows = [("b.md", 1, one, 3), ("README.md", 1, one, 3), ("b.md", 2, two, 3), ("readme.md", 1, two, 3), ("b.md", 3, "", 0)]
    for document, version, digest, size in rows:
        connection.execute(
            "INSERT INTO documents (collection, path, version, digest, size, at, author, turn, label)"
            " VALUES ('notes', ?, ?, ?, ?, 1.0, 'owner', 't1', NULL)",
            (document, version, digest, size),
        )
    connection.close()
    async with open_store(path, KEY, clock=ManualClock()) as store:
        changes = [(each.path, each.version, each.digest, each.size) for _, each in await store.documents.changes(0)]
        assert changes == rows
        assert [each.path for each in await store.documents.list("notes")] == ["README.md", "readme.md"]
        assert await store.documents.get("notes", "b.md", version=2) is not None
        with pytest.raises(BadInput, match="is there already"):
            await store.commit([put("ReadMe.md")])
        await store.commit([EraseVersions(collection="notes", path=name) for name in ("b.md", "README.md", "readme.md")])
        assert [await store.blob(digest) for digest in (one, two, seen)] == [None, None, b"seen"]
    assert verify(path, KEY).problems == ()
