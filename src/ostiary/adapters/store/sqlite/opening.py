"""Opening a store: the lock, the file, its version, then threads that hold the connections."""

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from ostiary.adapters.store.limits import DEFAULT_LIMITS, StoreLimits
from ostiary.adapters.store.sqlite.connection import connect_reader, connect_writer
from ostiary.adapters.store.sqlite.key import sync_folder
from ostiary.adapters.store.sqlite.lock import hold_writer_lock
from ostiary.adapters.store.sqlite.migrations import check_current, migrate
from ostiary.adapters.store.sqlite.reader import Reader
from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.adapters.store.sqlite.store import SqliteReader, SqliteStore
from ostiary.adapters.store.sqlite.threads import Threads
from ostiary.adapters.store.sqlite.writer import Writer
from ostiary.contracts.clock import Clock

_IDLE_SECONDS = 30.0
_READERS = 3
_BATCH = 256


@asynccontextmanager
async def open_store(
    path: Path, key: bytes, *, clock: Clock, idle: float = _IDLE_SECONDS, limits: StoreLimits = DEFAULT_LIMITS
) -> AsyncIterator[SqliteStore]:
    """Read and write; this process alone. Makes the file (0600) if it is not there and migrates an older one after a backup.

    Raises StoreUnavailable (read-only, no folder, full, locked) or StoreRefused (wrong key, damaged, not ours, newer, held
    by another process). Threads and their connections are closed after `idle` seconds without work and come back by themselves.
    """
    with _held(path):
        writing = Threads(lambda: _writer(path, key), name="store-writer", size=1, batch=_BATCH, idle=idle)
        reading = _reading(path, key, idle)
        try:
            await writing.run(lambda _: None)
            yield SqliteStore(reading, writing, clock.now, limits)
        finally:
            await reading.close()
            await writing.close()


@asynccontextmanager
async def open_reader(path: Path, key: bytes, *, now: Callable[[], float] = time.time) -> AsyncIterator[SqliteReader]:
    """Read only, also while a gateway writes in another process. Raises as `open_store`; an older file is refused, too."""
    reading = _reading(path, key, _IDLE_SECONDS)
    try:
        await reading.run(lambda _: None)
        yield SqliteReader(reading, now)
    finally:
        await reading.close()


def _reading(path: Path, key: bytes, idle: float) -> Threads:
    return Threads(lambda: _reader(path, key), name="store-reader", size=_READERS, batch=1, idle=idle)


@contextmanager
def _held(path: Path) -> Iterator[None]:
    try:
        _ensure_folder(path.parent)
        lock = hold_writer_lock(path)
    except OSError as error:
        raise explain(error, path) from error
    try:
        _ensure_file(path)
        yield
    finally:
        os.close(lock)


def _ensure_folder(path: Path) -> None:
    """Each folder on the way is private: `parents=True` alone would give the upper ones the usual mode."""
    if not path.parent.exists():
        _ensure_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def _ensure_file(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise explain(error, path) from error
    os.close(handle)
    sync_folder(path.parent)


def _writer(path: Path, key: bytes) -> Writer:
    try:
        connection = connect_writer(path, key)
        try:
            migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    except Exception as error:
        raise explain(error, path) from error
    return Writer(connection, path)


def _reader(path: Path, key: bytes) -> Reader:
    try:
        connection = connect_reader(path, key)
        try:
            check_current(connection, path)
        except BaseException:
            connection.close()
            raise
    except Exception as error:
        raise explain(error, path) from error
    return Reader(connection, path)
