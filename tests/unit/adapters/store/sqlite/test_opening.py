import os
import threading
from pathlib import Path

import anyio
import apsw
import pytest

from ostiary.adapters.store.sqlite import SqliteStore, open_reader, open_store
from ostiary.adapters.store.sqlite.connection import connect_writer, fetch
from ostiary.contracts.errors import StoreError, StoreRefused, StoreUnavailable
from ostiary.contracts.store import Documents, ErasePayload, PutBlob, SetValue, Store
from ostiary.kit.clock import ManualClock
from tests.conformance.store.words import MAIN, put, setting, sha256
from tests.unit.adapters.store.conftest import KEY

_WORDS = "the quick brown fox never sleeps"


async def attempt(path: Path, key: bytes = KEY) -> StoreError:
    """The refusal that opening and reading everything gives."""
    with pytest.raises(StoreError) as refused:
        async with open_store(path, key, clock=ManualClock()) as store:
            await store.values("s")
    assert refused.value.hint
    return refused.value


async def filled(path: Path) -> None:
    async with open_store(path, KEY, clock=ManualClock()) as store:
        await store.commit([setting(_WORDS), put("a.md", _WORDS.encode())])
        await store.commit([SetValue(space="s", key=str(n), value=os.urandom(3000)) for n in range(40)])


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


def modes_in(folder: Path) -> set[int]:
    return {file.stat().st_mode & 0o777 for file in folder.iterdir()}


async def test_the_store_fits_its_contracts(store: SqliteStore) -> None:
    fits: Store = store
    documents: Documents = store.documents
    assert (fits, documents) == (store, store.documents)


async def test_nothing_on_disk_is_readable_by_others_or_without_the_key(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        await store.commit([setting(_WORDS), put("a.md", _WORDS.encode())])
        found = everything_in(tmp_path)
        assert _WORDS.encode() not in found
        assert b"session.setting" not in found
        assert b"CREATE TABLE" not in found
        assert modes_in(tmp_path) == {0o600}
    found = everything_in(tmp_path)
    assert len(found) > 4096
    assert _WORDS.encode() not in found
    assert b"SQLite format" not in found


async def test_folders_on_the_way_are_made_for_the_owner_alone(tmp_path: Path) -> None:
    async with open_store(tmp_path / "bots" / "main" / "store.db", KEY, clock=ManualClock()):
        pass
    assert os.stat(tmp_path / "bots" / "main").st_mode & 0o777 == 0o700


async def test_a_wrong_key_is_refused_and_changes_nothing(path: Path) -> None:
    await filled(path)
    before = everything_in(path.parent)
    refused = await attempt(path, bytes(32))
    assert isinstance(refused, StoreRefused)
    assert "key" in str(refused)
    assert everything_in(path.parent) == before
    with pytest.raises(StoreRefused):
        async with open_reader(path, bytes(32)):
            pass


@pytest.mark.parametrize("size", [0, 16, 31, 33])
async def test_a_key_of_another_size_is_refused(path: Path, size: int) -> None:
    with pytest.raises(StoreRefused, match="32 bytes"):
        async with open_store(path, bytes(size), clock=ManualClock()):
            pass


@pytest.mark.parametrize("content", [b"hello", b"not a database " * 1000, bytes(8192)])
async def test_a_file_of_another_kind_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    await anyio.Path(path).write_bytes(content)
    refused = await attempt(path)
    assert isinstance(refused, StoreRefused)
    assert "not a database" in str(refused)
    assert await anyio.Path(path).read_bytes() == content


async def test_a_database_without_encryption_is_refused(path: Path) -> None:
    plain = apsw.Connection(str(path))
    plain.execute("CREATE TABLE t (a)")
    plain.close()
    refused = await attempt(path)
    assert isinstance(refused, StoreRefused)
    assert "without encryption" in str(refused)


@pytest.mark.parametrize("offset", [10, 60, 4096 * 12 + 100])
async def test_one_flipped_bit_is_noticed_wherever_it_is(path: Path, offset: int) -> None:
    await filled(path)
    flip(path, -offset if offset > 4096 else offset)
    assert isinstance(await attempt(path), StoreRefused)


async def test_a_file_cut_short_is_refused(path: Path) -> None:
    await filled(path)
    os.truncate(path, 4096 * 20)
    refused = await attempt(path)
    assert isinstance(refused, StoreRefused)
    assert "damaged" in str(refused)


async def test_a_place_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert isinstance(await attempt(tmp_path / "file" / "store.db"), StoreUnavailable)
    (tmp_path / "folder.db").mkdir()
    assert isinstance(await attempt(tmp_path / "folder.db"), StoreUnavailable)
    assert isinstance(await attempt(Path("/proc/nowhere/store.db")), StoreUnavailable)


async def test_a_second_writer_is_refused_and_told_who_holds_the_store(store: SqliteStore, path: Path) -> None:
    refused = await attempt(path)
    assert isinstance(refused, StoreRefused)
    assert f"pid {os.getpid()}" in str(refused)
    assert await store.commit([setting("still here")]) == (1,)


async def test_a_store_can_be_opened_again_after_a_refused_opening(path: Path) -> None:
    await filled(path)
    await attempt(path, bytes(32))
    async with open_store(path, KEY, clock=ManualClock()) as store:
        assert await store.commit([setting("b")]) == (2,)


async def test_a_reader_sees_each_commit_while_the_store_is_open(store: SqliteStore, path: Path) -> None:
    async with open_reader(path, KEY) as reader:
        assert await reader.read(MAIN) == ()
        await store.commit([setting("a"), put("a.md", b"one")])
        assert await reader.read(MAIN) == await store.read(MAIN)
        assert await reader.documents.get("notes", "a.md") == await store.documents.get("notes", "a.md")
        assert await reader.verify(MAIN) == ""
        assert await reader.pending() == await store.pending()
    assert not hasattr(reader, "commit")


async def test_a_reader_opens_a_store_that_nobody_else_has_open(path: Path) -> None:
    await filled(path)
    async with open_reader(path, KEY) as reader:
        assert len(await reader.read(MAIN)) == 1


async def test_a_reader_does_not_make_a_store_that_is_not_there(path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        async with open_reader(path, KEY):
            pass
    assert os.listdir(path.parent) == []


async def test_a_reader_in_mid_read_does_not_delay_a_commit(store: SqliteStore, path: Path) -> None:
    await store.commit([setting("a")])
    other = connect_writer(path, KEY)
    other.execute("BEGIN")
    assert fetch(other, "SELECT count(*) FROM events") == [(1,)]
    assert await store.commit([setting("b")]) == (2,)
    assert await store.commit([ErasePayload(session=MAIN, seq=1)]) == (0,)
    assert fetch(other, "SELECT count(*) FROM payloads") == [(1,)]
    other.execute("ROLLBACK")
    other.close()


async def test_a_store_at_rest_has_no_threads_and_wakes_up_by_itself(path: Path) -> None:
    async with open_store(path, KEY, clock=ManualClock(), idle=0.01) as store:
        await store.commit([setting("a")])
        for thread in (one for one in threading.enumerate() if one.name.startswith("store-")):
            await anyio.to_thread.run_sync(thread.join, 5)
        assert store.connections == 0
        assert await store.commit([setting("b")]) == (2,)
        assert len(await store.read(MAIN)) == 2
        assert await store.verify(MAIN) == ""


async def test_a_cancelled_caller_still_learns_what_became_of_its_commit(store: SqliteStore) -> None:
    given: list[tuple[int, ...]] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        given.append(await store.commit([setting("a")]))
        await anyio.sleep_forever()
    assert given == [(1,)]
    assert len(await store.read(MAIN)) == 1


async def test_sixty_four_sessions_commit_side_by_side(store: SqliteStore) -> None:
    async def speak(number: int) -> None:
        for turn in range(5):
            await store.commit([SetValue(space="s", key=f"{number}:{turn}", value=b"x"), setting("a")])

    async with anyio.create_task_group() as group:
        for number in range(64):
            group.start_soon(speak, number)
    assert len(await store.values("s")) == 320
    assert [one.seq for one in await store.read(MAIN)] == list(range(1, 321))
    assert await store.verify(MAIN) == ""


async def test_blobs_of_many_megabytes_are_kept_whole(store: SqliteStore) -> None:
    content = os.urandom(1 << 20) * 10
    await store.commit([PutBlob(digest=sha256(content), content=content)])
    assert await store.blob(sha256(content)) == content


async def test_an_erased_payload_is_gone_from_the_log_and_from_the_decrypted_file(path: Path) -> None:
    async with open_store(path, KEY, clock=ManualClock()) as store:
        await store.commit([setting(f"secret-{_WORDS}" * 300), setting(f"small-{_WORDS}"), setting(f"kept-{_WORDS}")])
        await store.commit([ErasePayload(session=MAIN, seq=1), ErasePayload(session=MAIN, seq=2)])
        assert os.stat(f"{path}-wal").st_size == 0
    plain = connect_writer(path, KEY)
    fetch(plain, "PRAGMA journal_mode = delete")
    fetch(plain, "PRAGMA rekey = ''")
    plain.close()
    found = await anyio.Path(path).read_bytes()
    assert f"kept-{_WORDS}".encode() in found
    assert f"secret-{_WORDS}".encode() not in found
    assert f"small-{_WORDS}".encode() not in found
