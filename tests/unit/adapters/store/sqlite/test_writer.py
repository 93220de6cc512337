"""Group commit, driven by hand: the same batches the writing thread makes."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from ostiary.adapters.store.sqlite import units
from ostiary.adapters.store.sqlite.connection import connect_reader, connect_writer, fetch
from ostiary.adapters.store.sqlite.migrations import migrate
from ostiary.adapters.store.sqlite.threads import Job
from ostiary.adapters.store.sqlite.writer import Writer
from ostiary.contracts.errors import AlreadyAccepted, BadInput, Conflict, StoreUnavailable
from ostiary.contracts.store import Accept, SetValue, Write
from tests.conformance.store.words import MAIN, item, setting
from tests.unit.adapters.store.conftest import KEY


@pytest.fixture
def connection(path: Path) -> Iterator[apsw.Connection]:
    path.touch()
    opened = connect_writer(path, KEY)
    migrate(opened, path)
    yield opened
    opened.close()


@pytest.fixture
def writer(connection: apsw.Connection, path: Path) -> Writer:
    return Writer(connection, path)


def job(*writes: Write, expect: int | None = None) -> Job:
    unit, weight = units.plan(writes, None, None if expect is None else {str(MAIN): expect})
    return Job(unit, asyncio.Future(), weight)


def big(size: int = 200_000) -> SetValue:
    return SetValue(space="s", key="big", value=b"x" * size)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("cipher", "chacha20"), ("journal_mode", "wal"), ("synchronous", 2), ("secure_delete", 1), ("temp_store", 2)],
)
def test_commits_are_durable_and_nothing_leaves_the_encrypted_file(
    connection: apsw.Connection, name: str, expected: object
) -> None:
    assert fetch(connection, f"PRAGMA {name}") == [(expected,)]


async def test_units_that_wait_together_share_one_commit(writer: Writer, connection: apsw.Connection) -> None:
    commits: list[int] = []
    connection.set_commit_hook(lambda: bool(commits.append(1)))
    jobs = [job(setting(str(n))) for n in range(20)]
    writer.work(jobs)
    assert [one.result for one in jobs] == [(n,) for n in range(1, 21)]
    assert len(commits) == 1


async def test_a_unit_that_fails_fails_alone(writer: Writer, connection: apsw.Connection) -> None:
    jobs = [job(Accept(item=item("m1"))), job(setting("lost"), Accept(item=item("m1"))), job(setting("kept"))]
    writer.work(jobs)
    assert [type(one.error) for one in jobs] == [type(None), AlreadyAccepted, type(None)]
    assert jobs[2].result == (1,)
    assert fetch(connection, "SELECT count(*) FROM events") == [(1,)]


async def test_what_an_undone_unit_wrote_is_not_remembered(writer: Writer) -> None:
    writer.work([job(setting("a"))])
    jobs = [job(setting("lost"), setting("lost"), Accept(item=item("m1")), Accept(item=item("m1"))), job(setting("b"), expect=1)]
    writer.work(jobs)
    assert isinstance(jobs[0].error, AlreadyAccepted)
    assert jobs[1].result == (2,)


async def test_a_unit_may_rest_on_one_before_it_in_the_same_batch(writer: Writer) -> None:
    jobs = [job(setting("a"), expect=0), job(setting("b"), expect=1), job(setting("c"), expect=1)]
    writer.work(jobs)
    assert [one.result for one in jobs[:2]] == [(1,), (2,)]
    assert isinstance(jobs[2].error, Conflict)


async def test_a_full_disk_undoes_the_whole_batch_and_tells_everyone(writer: Writer, connection: apsw.Connection) -> None:
    pages = fetch(connection, "PRAGMA page_count")[0][0]
    fetch(connection, f"PRAGMA max_page_count = {pages + 5}")
    jobs = [job(Accept(item=item("m1"))), job(Accept(item=item("m1"))), job(big()), job(setting("after"))]
    writer.work(jobs)
    assert [type(one.error) for one in jobs] == [StoreUnavailable] * 4
    assert "full" in str(jobs[0].error)
    assert len({id(one.error) for one in jobs}) == 4
    assert fetch(connection, "SELECT count(*) FROM inbox") == [(0,)]


async def test_the_store_goes_on_when_the_disk_has_room_again(writer: Writer, connection: apsw.Connection) -> None:
    pages = fetch(connection, "PRAGMA page_count")[0][0]
    fetch(connection, f"PRAGMA max_page_count = {pages + 5}")
    failed = [job(setting("lost")), job(big())]
    writer.work(failed)
    fetch(connection, "PRAGMA max_page_count = 1000000")
    again = [job(setting("kept"), big())]
    writer.work(again)
    assert [type(one.error) for one in failed] == [StoreUnavailable] * 2
    assert again[0].result == (1, 0)


async def test_a_file_that_cannot_be_written_says_so(writer: Writer, path: Path) -> None:
    reading = connect_reader(path, KEY)
    jobs = [job(setting("a"))]
    Writer(reading, path).work(jobs)
    reading.close()
    assert isinstance(jobs[0].error, StoreUnavailable)
    assert "cannot be written" in str(jobs[0].error)


async def test_a_file_locked_by_another_program_says_so(writer: Writer, connection: apsw.Connection, path: Path) -> None:
    other = connect_writer(path, KEY)
    other.execute("BEGIN IMMEDIATE")
    connection.set_busy_timeout(0)
    jobs = [job(setting("a"))]
    writer.work(jobs)
    other.execute("ROLLBACK")
    other.close()
    assert isinstance(jobs[0].error, StoreUnavailable)
    assert "locked" in str(jobs[0].error)
    again = [job(setting("a"))]
    writer.work(again)
    assert again[0].result == (1,)


async def test_a_number_the_store_cannot_order_by_is_refused(writer: Writer) -> None:
    jobs = [job(setting("a", at=float("nan"))), job(setting("b"))]
    writer.work(jobs)
    assert isinstance(jobs[0].error, BadInput)
    assert jobs[1].result == (1,)
