import random
from pathlib import Path

import apsw
import pytest

from ostiary.adapters.backup.pages import KEPT, copied, rebuild
from ostiary.adapters.store.sqlite.connection import connect_reader, connect_writer
from ostiary.contracts.errors import StoreRefused

KEY, OTHER = bytes(32), bytes([7]) * 32
WORDS = b"a secret that nobody may read on the disk"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    path.touch()
    connection = connect_writer(path, KEY)
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, content BLOB)")
    with connection:
        for n in range(100):
            connection.execute("INSERT INTO t VALUES (?, ?)", (n, WORDS + random.Random(n).randbytes(5000)))
    connection.close()
    return path


def rows(path: Path, key: bytes) -> list[object]:
    connection = connect_reader(path, key)
    try:
        return connection.execute("SELECT * FROM t ORDER BY id").fetchall()
    finally:
        connection.close()


def test_a_database_comes_back_under_another_key_and_nothing_of_it_is_plain_on_the_disk(database: Path, tmp_path: Path) -> None:
    with copied(database, KEY, tmp_path) as copy:
        pages = [copy.read(number, 1) for number in range(copy.pages)]
        on_disk = b"".join(path.read_bytes() for path in tmp_path.glob("copy-*"))
    rebuild(tmp_path / "b.db", OTHER, pages.__getitem__, len(pages))
    assert rows(tmp_path / "b.db", OTHER) == rows(database, KEY)
    assert WORDS in b"".join(pages)
    assert WORDS not in on_disk + (tmp_path / "b.db").read_bytes()
    assert (tmp_path / "b.db").stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.glob("copy-*")) == []


def test_a_copy_is_of_one_moment_while_somebody_writes(database: Path, tmp_path: Path) -> None:
    writer = connect_writer(database, KEY)
    before = rows(database, KEY)
    with copied(database, KEY, tmp_path) as copy:
        writer.execute("DELETE FROM t")
        pages = [copy.read(number, 1) for number in range(copy.pages)]
    writer.close()
    rebuild(tmp_path / "b.db", OTHER, pages.__getitem__, len(pages))
    assert rows(tmp_path / "b.db", OTHER) == before


def test_two_copies_differ_only_in_the_pages_that_were_written(database: Path, tmp_path: Path) -> None:
    with copied(database, KEY, tmp_path) as copy:
        before = [copy.read(number, 1) for number in range(copy.pages)]
    writer = connect_writer(database, KEY)
    writer.execute("UPDATE t SET content = 'other' WHERE id = 50")
    writer.close()
    with copied(database, KEY, tmp_path) as copy:
        after = [copy.read(number, 1) for number in range(copy.pages)]
    assert len(before[5]) == KEPT
    assert 1 <= sum(one != other for one, other in zip(before, after, strict=True)) <= 6


def test_a_wrong_key_copies_nothing(database: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="key does not open"), copied(database, OTHER, tmp_path):
        pass
    assert list(tmp_path.glob("copy-*")) == []


def test_why_a_page_cannot_be_had_is_said_and_not_an_input_error(tmp_path: Path) -> None:
    def read(number: int) -> bytes:
        raise StoreRefused("the third piece is gone")

    with pytest.raises(StoreRefused, match="third piece"):
        rebuild(tmp_path / "b.db", KEY, read, 10)


def test_pages_that_are_no_database_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused):
        rebuild(tmp_path / "b.db", KEY, lambda number: b"x" * KEPT, 10)
    assert apsw.vfs_names()[0] == "multipleciphers-unix"
