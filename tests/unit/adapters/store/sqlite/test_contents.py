"""Contents: how much fits, how large ones are cut, and what is gone for ever."""

import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.store.sqlite import SqliteStore, StoreLimits, open_store
from ostiary.adapters.store.sqlite.blobs import LARGEST_ROW, PIECE, measured, staging
from ostiary.adapters.store.sqlite.connection import connect_reader, connect_writer, fetch
from ostiary.adapters.store.sqlite.verify import verify
from ostiary.contracts.errors import BadInput, QuotaExceeded
from ostiary.contracts.store import EraseVersions, Extend, PutBlob, SetValue
from ostiary.kit.clock import ManualClock
from tests.conformance.store.words import NOW, put, sha256
from tests.unit.adapters.store.conftest import KEY

SMALL = StoreLimits(document_bytes=3_000_000, quota_bytes=4_000_000)
_WORDS = b"the quick brown fox never sleeps"


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def extend(path: str, content: bytes) -> Extend:
    return Extend(collection="notes", path=path, content=content, at=NOW, author="owner")


def erase(path: str) -> EraseVersions:
    return EraseVersions(collection="notes", path=path)


def ask(path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = connect_reader(path, KEY)
    try:
        return fetch(connection, sql)
    finally:
        connection.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def narrow(path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    async with open_store(path, KEY, clock=clock, limits=SMALL) as opened:
        yield opened


async def test_a_document_that_is_too_large_is_refused_before_anything_is_written(narrow: SqliteStore, path: Path) -> None:
    with pytest.raises(BadInput, match=r"'a\.bin' has 3000001 bytes, and a document may have at most 3000000"):
        await narrow.commit([put("a.bin", bytes(3_000_001))])
    with pytest.raises(BadInput):
        await narrow.commit([PutBlob(digest=sha256(b""), content=bytes(3_000_001))])
    await narrow.commit([put("b.bin", bytes(2_999_999))])
    with pytest.raises(BadInput, match="3000001 bytes"):
        await narrow.commit([extend("b.bin", b"xx")])
    assert await narrow.commit([extend("b.bin", b"x")]) == (2,)
    assert ask(path, "SELECT count(*) FROM staged") == [(0,)]


async def test_a_large_document_whose_name_is_bad_is_refused_before_anything_is_written(store: SqliteStore, path: Path) -> None:
    with pytest.raises(BadInput, match=r"it holds a \.\. segment"):
        await store.commit([put("good.bin", noise(2_000_000)), put("../bad.bin", noise(2_000_000, 2))])
    assert ask(path, "SELECT count(*) FROM pieces") == [(0,)]


async def test_what_does_not_fit_into_the_store_is_refused_whole(narrow: SqliteStore, path: Path) -> None:
    await narrow.commit([put("a.bin", noise(2_500_000))])
    with pytest.raises(QuotaExceeded, match="may hold 4000000 bytes"):
        await narrow.commit([put("b.md", b"small"), put("c.bin", noise(900_000, 2)), put("d.bin", noise(900_000, 3))])
    with pytest.raises(QuotaExceeded):
        await narrow.commit([put("b.bin", noise(2_500_000, 2))])
    with pytest.raises(QuotaExceeded):
        await narrow.commit([PutBlob(digest=sha256(noise(1_600_000, 2)), content=noise(1_600_000, 2))])
    assert ask(path, "SELECT value, (SELECT count(*) FROM staged) FROM counters WHERE name = 'stored'") == [(2_500_000, 0)]
    assert [each.path for each in await narrow.documents.list("notes")] == ["a.bin"]
    assert await narrow.commit([put("b.md", b"small")]) == (1,)


async def test_the_same_content_twice_counts_once_and_erasing_makes_room(narrow: SqliteStore, path: Path) -> None:
    await narrow.commit([put("a.bin", noise(2_500_000)), put("b.bin", noise(2_500_000)), put("c.bin", noise(1_000_000, 2))])
    with pytest.raises(QuotaExceeded):
        await narrow.commit([put("d.bin", noise(2_500_000, 3))])
    await narrow.commit([erase("a.bin"), erase("b.bin")])
    assert await narrow.commit([put("d.bin", noise(2_500_000, 3))]) == (1,)
    assert verify(path, KEY).problems == ()


@pytest.mark.parametrize("size", [0, 1, LARGEST_ROW, LARGEST_ROW + 1, 5 * PIECE, 5 * PIECE + 1])
async def test_content_of_every_size_is_kept_whole(store: SqliteStore, path: Path, size: int) -> None:
    content = noise(size)
    await store.commit([put("a.bin", content), PutBlob(digest=sha256(content), content=content)])
    found = await store.documents.get("notes", "a.bin")
    assert found is not None
    assert (found[1] == content, found[0].size, found[0].digest) == (True, size, sha256(content))
    assert ask(path, "SELECT count(*) FROM staged") == [(0,)]
    assert verify(path, KEY).problems == ()


async def test_appending_to_a_large_document_stores_its_end_alone(store: SqliteStore, path: Path) -> None:
    await store.commit([put("log.bin", noise(20 * PIECE + 5))])
    await store.commit([extend("log.bin", b"one")])
    await store.commit([extend("log.bin", b"two")])
    assert ask(path, "SELECT sum(length(content)) FROM pieces") == [(20 * PIECE + 5 + 8 + 11,)]


async def test_small_commits_go_on_while_a_large_document_is_written(store: SqliteStore) -> None:
    order: list[str] = []

    async def large() -> None:
        await store.commit([put("big.bin", noise(40 * PIECE))])
        order.append("large")

    async def small() -> None:
        for number in range(5):
            await store.commit([SetValue(space="s", key="k", value=b"%d" % number)])
            order.append("small")

    async with anyio.create_task_group() as group:
        group.start_soon(large)
        group.start_soon(small)
    assert order.index("large") > 1


async def test_pieces_of_a_document_that_never_came_mean_nothing_and_are_swept(
    store: SqliteStore, path: Path, clock: ManualClock
) -> None:
    content = measured(noise(9 * PIECE))
    for unit, _ in staging(content, SMALL, clock.now()):
        await store._writing.run(unit)
    assert await store.blob(content.digest) is None
    assert verify(path, KEY).problems == ()
    assert await store.sweep(clock.now() + 60) == 0
    assert await store.sweep(clock.now() + 7200) == 9
    assert ask(path, "SELECT count(*), (SELECT value FROM counters WHERE name = 'stored') FROM pieces") == [(0, 0)]


async def test_sweeping_leaves_pieces_that_a_document_needs(store: SqliteStore, path: Path, clock: ManualClock) -> None:
    whole = noise(9 * PIECE)
    await store.commit([put("a.bin", whole)])
    for unit, _ in staging(measured(whole[: 8 * PIECE]), SMALL, clock.now()):
        await store._writing.run(unit)
    await store.sweep(clock.now() + 7200)
    found = await store.documents.get("notes", "a.bin")
    assert found is not None
    assert found[1] == whole
    assert verify(path, KEY).problems == ()


async def test_a_cancelled_put_of_a_large_document_writes_all_or_nothing(store: SqliteStore, path: Path) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.commit([put("a.bin", noise(9 * PIECE))])
    assert await store.documents.list("notes") == ()
    assert verify(path, KEY).problems == ()


@pytest.mark.parametrize("filler", [b"", noise(2 * LARGEST_ROW)])
async def test_an_erased_document_is_gone_from_the_log_and_from_the_decrypted_file(path: Path, filler: bytes) -> None:
    async with open_store(path, KEY, clock=ManualClock()) as store:
        await store.commit([put("a.md", b"secret-" + _WORDS + filler), put("b.md", b"kept-" + _WORDS)])
        await store.commit([extend("a.md", b"more-" + _WORDS)])
        await store.commit([erase("a.md")])
        assert os.stat(f"{path}-wal").st_size == 0
    plain = connect_writer(path, KEY)
    fetch(plain, "PRAGMA journal_mode = delete")
    fetch(plain, "PRAGMA rekey = ''")
    plain.close()
    found = await anyio.Path(path).read_bytes()
    assert b"kept-" + _WORDS in found
    assert b"secret-" + _WORDS not in found
    assert b"more-" + _WORDS not in found
    assert filler[5000:5100] not in found or not filler
