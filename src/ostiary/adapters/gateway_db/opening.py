"""Opening `gateway.db`: by one thread for itself, or for a gateway whose loop reads while a thread writes."""

import fcntl
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

import apsw

from ostiary.adapters.gateway_db.answers import Answers
from ostiary.adapters.gateway_db.devices import Devices, end_device
from ostiary.adapters.gateway_db.pairings import Links, Pairings
from ostiary.adapters.gateway_db.schema import Tables, migrate
from ostiary.adapters.store.sqlite.connection import connect_reader, connect_writer
from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.adapters.store.sqlite.threads import Job, Threads
from ostiary.contracts.errors import StoreUnavailable

T = TypeVar("T")

_IDLE_SECONDS = 30.0
_LONGEST_OPENING = 10.0
_READS_WAIT_MS = 50
_REVOCATIONS_KEPT = 24 * 3600.0
_REVOKED_KEPT = 90 * 24 * 3600.0


class GatewayDb:
    """The file, for the one thread that opened it. Every call raises StoreUnavailable or StoreRefused if it cannot be done."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._tables = Tables(connection, path)
        self.devices = Devices(self._tables)
        self.pairings = Pairings(self._tables)
        self.links = Links(self._tables)
        self.answers = Answers(self._tables)

    def sweep(self, now: float) -> None:
        """Forget what has expired."""
        with self._tables.unit():
            self._tables.change("DELETE FROM pairings WHERE expires_at <= ?", now)
            self._tables.change("DELETE FROM links WHERE expires_at <= ?", now)
            self._tables.change("DELETE FROM answers WHERE expires_at <= ?", now)
            self._tables.change("DELETE FROM revocations WHERE at <= ?", now - _REVOCATIONS_KEPT)
            self._tables.change("DELETE FROM devices WHERE revoked_at > 0 AND revoked_at <= ?", now - _REVOKED_KEPT)
            for id, kind in self._tables.rows("SELECT id, kind FROM devices WHERE expires_at > 0 AND expires_at <= ?", now):
                end_device(self._tables, id, kind, now)

    def close(self) -> None:
        self._connection.close()


class SharedGatewayDb:
    """`reads` is for the event loop: it waits for nobody and takes some tens of microseconds a call.

    `write` runs a job on the one thread that writes. Both raise StoreUnavailable or StoreRefused.
    """

    def __init__(self, reads: GatewayDb, threads: Threads) -> None:
        self.reads = reads
        self._threads = threads

    async def write(self, job: Callable[[GatewayDb], T]) -> T:
        """Cancelling the caller does not undo the job: it waits until it is known to be done."""
        return await self._threads.run(job, certain=True)


@contextmanager
def connect_gateway_db(path: Path, key: bytes) -> Iterator[GatewayDb]:
    """For a command: one thread, also while a gateway runs. Makes the file (0600) if it is not there.

    Raises StoreUnavailable, StoreRefused.
    """
    db = _connect(path, key)
    try:
        yield db
    finally:
        db.close()


@asynccontextmanager
async def open_gateway_db(path: Path, key: bytes) -> AsyncIterator[SharedGatewayDb]:
    """For a gateway. Raises StoreUnavailable, StoreRefused."""
    threads = Threads(lambda: _Hand(path, key), name="gateway-db", size=1, batch=64, idle=_IDLE_SECONDS)
    reads: GatewayDb | None = None
    try:
        await threads.run(lambda _: None)
        reads = _connect_reads(path, key)
        yield SharedGatewayDb(reads, threads)
    finally:
        if reads is not None:
            reads.close()
        await threads.close()


class _Hand:
    """Works on the writing thread, each job in its own transaction."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._db = _connect(path, key)

    def work(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            try:
                job.result = job.call(self._db)
            except Exception as error:  # noqa: BLE001 - a job that fails tells its own caller
                job.error = explain(error, self._path)

    def close(self) -> None:
        self._db.close()


def _connect(path: Path, key: bytes) -> GatewayDb:
    try:
        with _opening(path):
            connection = _patiently(lambda: connect_writer(path, key), path)
            try:
                migrate(connection, path)
            except BaseException:
                connection.close()
                raise
    except Exception as error:
        raise explain(error, path) from error
    return GatewayDb(connection, path)


def _connect_reads(path: Path, key: bytes) -> GatewayDb:
    try:
        connection = _patiently(lambda: connect_reader(path, key), path)
    except Exception as error:
        raise explain(error, path) from error
    connection.set_busy_timeout(_READS_WAIT_MS)
    return GatewayDb(connection, path)


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """One process at a time sets up the file: switching to WAL and migrating tolerate no company."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(path.with_name(path.name + "-lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _patiently(lambda: fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB), path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        yield
    finally:
        os.close(lock)


def _patiently(act: Callable[[], T], path: Path) -> T:
    """Another process that is just opening or closing the file is done in a moment."""
    patience = time.monotonic() + _LONGEST_OPENING
    while True:
        try:
            return act()
        except (BlockingIOError, apsw.BusyError):
            if time.monotonic() > patience:
                raise StoreUnavailable(f"{path} is held by another process", hint="Try again in a moment.") from None
            time.sleep(0.01)
