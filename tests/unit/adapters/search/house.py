"""A store with an index beside it, and an embedder that tests hold in their hand."""

import math
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel

from ostiary.adapters.search.index import SearchIndex, SearchOptions
from ostiary.adapters.search.opening import open_search
from ostiary.adapters.store.sqlite.opening import open_store
from ostiary.adapters.store.sqlite.store import SqliteStore
from ostiary.contracts.content import Label
from ostiary.contracts.errors import EmbedderUnavailable
from ostiary.contracts.search import Embedder, EmbedKind, Reach
from ostiary.contracts.store import Put
from ostiary.kit.clock import ManualClock

KEY = bytes(range(32))
NOTES = Reach(collections=("_memory",))


class Letters:
    """Vectors by the words of a text, so that texts which share words are near. Can be down, slow, or of a wrong size."""

    def __init__(self, name: str = "letters", dimensions: int = 64) -> None:
        self.name = name
        self.dimensions = dimensions
        self.asked: list[str] = []
        self.problem = ""
        self.made_dimensions = dimensions
        self.gate: anyio.Event | None = None
        self.waiting = 0

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        if self.gate is not None:
            self.waiting += 1
            await self.gate.wait()
            self.waiting -= 1
        if self.problem:
            raise EmbedderUnavailable(self.problem)
        self.asked += texts
        return tuple(self._vector(text) for text in texts)

    def _vector(self, text: str) -> bytes:
        numbers = [0.001] * self.made_dimensions
        for word in text.lower().split():
            numbers[zlib.crc32(word.encode()) % self.made_dimensions] += 1.0
        length = math.sqrt(sum(number * number for number in numbers))
        return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


class WatchedClock(ManualClock):
    """Tells whether somebody sleeps by it."""

    @property
    def sleepers(self) -> int:
        return len(self._sleepers)


class House:
    def __init__(self, store: SqliteStore, index: SearchIndex, clock: WatchedClock) -> None:
        self.store = store
        self.index = index
        self.clock = clock

    async def put(self, path: str, text: str | bytes, *, collection: str = "_memory", label: Label | None = None) -> None:
        content = text.encode() if isinstance(text, str) else text
        await self.store.commit(
            [Put(collection=collection, path=path, content=content, at=self.clock.now(), author="owner", label=label)]
        )

    async def paths(self, question: str, reach: Reach = NOTES, limit: int = 6) -> list[str]:
        found = await self.index.query(question, reach=reach, limit=limit)
        return [passage.path for passage in found.passages]


async def wait_until(holds: Callable[[], bool]) -> None:
    """Threads tell nobody when they are done, so this looks again at every turn of the loop, for five seconds at most."""
    with anyio.fail_after(5):
        while not holds():
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def open_house(
    folder: Path, *, embedder: Embedder | None = None, options: SearchOptions | None = None, key: bytes = KEY
) -> AsyncIterator[House]:
    clock = WatchedClock()
    async with (
        open_store(folder / "store.db", KEY, clock=clock) as store,
        open_search(folder / "search.db", key, store=store, embedder=embedder, clock=clock, options=options) as index,
    ):
        yield House(store, index, clock)
