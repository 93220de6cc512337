"""Vectors that were made once are not made again; and what to do when the one who makes them is gone for long."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

import anyio
import apsw

from ostiary.adapters.store.sqlite.threads import Threads
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import Busy, EmbedderUnavailable, StoreError
from ostiary.contracts.search import Embedder, EmbedKind

MOST_KEPT = 50_000
_KEYS_AT_ONCE = 500
# One or two callers may have had reasons of their own to go.
_FAILURES = 3


class VectorCache(Protocol):
    """Keeps a bounded number, the newest. Raises StoreError, Busy."""

    async def get(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Those that are there."""
        ...

    async def put(self, items: Mapping[bytes, bytes]) -> None: ...


class Cached:
    """An `Embedder` that asks the other one only for texts it has not seen under that name and kind. A cache that fails
    costs time, not the answer."""

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._cache = cache

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        """Raises EmbedderUnavailable if a new text is among them and no vector can be made."""
        name, size = self._embedder.name, 4 * self._embedder.dimensions
        keys = [key_of(name, kind, text) for text in texts]
        known = {key: vector for key, vector in (await self._known(keys)).items() if len(vector) == size}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = dict(zip(missing, await self._embedder.embed(list(missing.values()), kind), strict=True))
            known |= made
            # The other may have become another one meanwhile (WithFallback): its vectors do not belong under this name.
            if self._embedder.name == name:
                await self._keep(made)
        return tuple(known[key] for key in keys)

    async def _known(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        try:
            return await self._cache.get(keys)
        except (StoreError, Busy):
            return {}

    async def _keep(self, made: Mapping[bytes, bytes]) -> None:
        try:
            await self._cache.put(made)
        except (StoreError, Busy):
            return


def key_of(name: str, kind: EmbedKind, text: str) -> bytes:
    """The text itself is not kept."""
    return hashlib.sha256("\0".join((name, kind, text)).encode("utf-8", "surrogatepass")).digest()


class TableCache:
    """A `VectorCache` in the table `embeddings` of the index's own encrypted file. Raises StoreError, Busy."""

    def __init__(self, *, reading: Threads, writing: Threads, most: int = MOST_KEPT) -> None:
        self._reading = reading
        self._writing = writing
        self._most = most

    async def get(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        return await self._reading.run(lambda connection: _get(connection, keys))

    async def put(self, items: Mapping[bytes, bytes]) -> None:
        await self._writing.run(lambda connection: _put(connection, items, self._most))


def _get(connection: apsw.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        some = keys[start : start + _KEYS_AT_ONCE]
        marks = ",".join("?" * len(some))
        for key, vector in connection.execute(f"SELECT key, vector FROM embeddings WHERE key IN ({marks})", tuple(some)):  # noqa: S608 - marks
            found[bytes(key)] = bytes(vector)
    return found


def _put(connection: apsw.Connection, items: Mapping[bytes, bytes], most: int) -> None:
    """The newest `most` stay."""
    with connection:
        last = next(iter(connection.execute("SELECT max(place) FROM embeddings")))[0] or 0
        rows = [(key, vector, last + number) for number, (key, vector) in enumerate(items.items(), 1)]
        connection.executemany("INSERT OR REPLACE INTO embeddings (key, vector, place) VALUES (?, ?, ?)", rows)
        connection.execute(
            "DELETE FROM embeddings WHERE place <= (SELECT place FROM embeddings ORDER BY place DESC LIMIT 1 OFFSET ?)", (most,)
        )


class WithFallback:
    """An `Embedder` that is the first one until that has failed several times over `after` seconds without a success between,
    and from then on, until the process ends, the second one. A call that its caller gave up waiting for counts as a failure.

    Vectors of the two are never mixed: while the first fails this fails as well (search goes on by words), and when it gives
    way its `name` and `dimensions` change, which makes the index build itself anew with the second's vectors in the
    background. A call returns vectors only if the name is still the one it began with."""

    def __init__(self, first: Embedder, second: Embedder, *, clock: Clock, after: float = 600.0) -> None:
        self._now = first
        self._second: Embedder | None = second
        self._clock = clock
        self._after = after
        self._failing_since = 0.0
        self._failures = 0

    @property
    def name(self) -> str:
        return self._now.name

    @property
    def dimensions(self) -> int:
        return self._now.dimensions

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        asked = self._now
        try:
            made = await asked.embed(texts, kind)
        except EmbedderUnavailable as error:
            if not self._gives_way(asked):
                raise
            words = f"{error} {self.name} takes its place, and the index is made anew."
            raise EmbedderUnavailable(words, hint=error.hint) from error
        except anyio.get_cancelled_exc_class():
            self._gives_way(asked)
            raise
        if self._now is not asked:
            raise EmbedderUnavailable(f"{asked.name} was given up meanwhile; {self.name} makes the vectors now.")
        self._failures = 0
        return made

    def _gives_way(self, asked: Embedder) -> bool:
        """Counts a failure; True if this was the one after which the second takes over."""
        if self._second is None or self._now is not asked:
            return False
        now = self._clock.monotonic()
        self._failing_since = self._failing_since if self._failures else now
        self._failures += 1
        if self._failures < _FAILURES or now - self._failing_since < self._after:
            return False
        self._now, self._second = self._second, None
        return True
