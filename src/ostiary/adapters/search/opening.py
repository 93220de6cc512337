"""Opening an index: threads that hold its connections, and what to do when its file turns out to be damaged."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import apsw

from ostiary.adapters.search.database import discard, open_reading, open_writer
from ostiary.adapters.search.embedders.cache import Cached, TableCache
from ostiary.adapters.search.embedders.embedded import Embedded
from ostiary.adapters.search.index import SearchIndex, SearchOptions
from ostiary.adapters.search.intake import Source
from ostiary.adapters.search.memory import Memory
from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.adapters.store.sqlite.threads import Job, Threads
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import StoreUnavailable
from ostiary.contracts.search import Embedder

_IDLE_SECONDS = 30.0
_READERS = 2


@asynccontextmanager
async def open_search(
    path: Path,
    key: bytes,
    *,
    store: Source,
    embedder: Embedder | None,
    clock: Clock,
    options: SearchOptions | None = None,
    idle: float = _IDLE_SECONDS,
) -> AsyncIterator[SearchIndex]:
    """The index at `path`, made if it is not there, made anew if it cannot be read. Nothing is loaded before the first use.

    Only one process may have it open for a store. Raises StoreUnavailable (no folder, full, locked)."""
    memory = Memory()
    writing = Threads(
        lambda: _Hand(lambda: open_writer(path, key), path, memory), name="search-writer", size=1, batch=1, idle=idle
    )
    reading = Threads(
        lambda: _Hand(lambda: open_reading(path, key), path, memory), name="search-reader", size=_READERS, batch=1, idle=idle
    )
    try:
        yield SearchIndex(
            source=store,
            embedder=_remembered(embedder, reading, writing),
            clock=clock,
            options=options or SearchOptions(),
            writing=writing,
            reading=reading,
            memory=memory,
        )
    finally:
        await reading.close()
        await writing.close()


def _remembered(embedder: Embedder | None, reading: Threads, writing: Threads) -> Embedder | None:
    """Vectors that cost a call to somebody else are kept; those made here are made again as fast as they are found."""
    if embedder is None or isinstance(embedder, Embedded):
        return embedder
    return Cached(embedder, TableCache(reading=reading, writing=writing))


class _Hand:
    """Work over one connection. Damage ends the connection and the file: the next job finds a new, empty index. So does a file
    that somebody took away; nobody goes on with one that is no longer at its place."""

    def __init__(self, connect: Callable[[], apsw.Connection], path: Path, memory: Memory) -> None:
        self._connect = connect
        self._path = path
        self._memory = memory
        self._connection = connect()
        self._file = _file_at(path)

    def work(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            try:
                job.result = job.call(self._current())
            except (apsw.CorruptError, apsw.NotADBError) as error:
                discard(self._path)
                self._memory.clear()
                raise StoreUnavailable(
                    "The search index was damaged and is made anew from the documents", hint="Ask again in a moment."
                ) from error
            except Exception as error:  # noqa: BLE001 - the error belongs to the one who asked
                job.error = explain(error, self._path)

    def close(self) -> None:
        self._connection.close()

    def _current(self) -> apsw.Connection:
        if _file_at(self._path) != self._file:
            self._connection.close()
            self._memory.clear()
            self._connection = self._connect()
            self._file = _file_at(self._path)
        return self._connection


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
