"""How a database is opened: cipher and raw key first, then the settings every connection shares."""

from pathlib import Path
from typing import Any

import apsw

from ostiary.adapters.store.sqlite.key import KEY_SIZE
from ostiary.contracts.errors import StoreRefused

BUSY_MS = 5000
_WRITER_CACHE_KIB = 2048
_READER_CACHE_KIB = 512


def connect_writer(path: Path, key: bytes) -> apsw.Connection:
    """Raises apsw.Error or StoreRefused; the file must exist (empty is fine)."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        _unlock(connection, key)
        connection.set_busy_timeout(BUSY_MS)
        _set(connection, "page_size", 4096)
        _set(connection, "journal_mode", "wal")
        _set(connection, "synchronous", "full")
        _set(connection, "secure_delete", "on")
        _set(connection, "temp_store", "memory")
        _set(connection, "foreign_keys", "on")
        _set(connection, "cache_size", -_WRITER_CACHE_KIB)
        _set(connection, "journal_size_limit", 16 * 1024 * 1024)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path, key: bytes) -> apsw.Connection:
    """A handle that cannot write. Raises apsw.Error or StoreRefused."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        _unlock(connection, key)
        connection.set_busy_timeout(BUSY_MS)
        _set(connection, "temp_store", "memory")
        _set(connection, "query_only", "on")
        _set(connection, "cache_size", -_READER_CACHE_KIB)
    except BaseException:
        connection.close()
        raise
    return connection


def fetch(connection: apsw.Connection, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All rows, so that no statement stays open between two jobs."""
    return connection.execute(sql, bindings).fetchall()


def _unlock(connection: apsw.Connection, key: bytes) -> None:
    if len(key) != KEY_SIZE:
        raise StoreRefused(f"A store key has {KEY_SIZE} bytes, this one {len(key)}")
    _set(connection, "cipher", "chacha20")
    # "raw:" hands the bytes to the cipher as they are; without it they would go through a slow key derivation.
    _set(connection, "key", f"raw:{key.hex()}")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()


def _set(connection: apsw.Connection, name: str, value: str | int) -> None:
    connection.execute(f"PRAGMA {name} = '{value}'").fetchall()
