"""Search and embeddings as the vault's process has them."""

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

import anyio

from ostiary.contracts.errors import Busy, EmbedderUnavailable, StoreError
from ostiary.contracts.search import EmbedKind, Found, IndexStatus, Reach


class Calling(Protocol):
    def call(self, name: str, /, **given: object) -> Awaitable[Any]: ...


class RemoteSearch:
    """`contracts.search.Search`. The index keeps itself up to date over there."""

    def __init__(self, caller: Calling) -> None:
        self._call = caller.call

    @property
    def progress(self) -> float | None:
        """Told by `status` alone."""
        return None

    async def query(self, text: str, *, reach: Reach, limit: int = 6) -> Found:
        found: Found = await self._call("search.query", text=text, reach=reach, limit=limit)
        return found

    async def status(self) -> IndexStatus:
        status: IndexStatus = await self._call("search.status")
        return status

    async def forget(self, collection: str, path: str) -> None:
        await self._call("search.forget", collection=collection, path=path)

    async def ask_reindex(self) -> None:
        await self._call("search.reindex")

    async def run(self) -> None:
        """Until cancelled."""
        await anyio.sleep_forever()


class RemoteEmbedder:
    """`contracts.search.Embedder`."""

    def __init__(self, caller: Calling, name: str, dimensions: int) -> None:
        self._call = caller.call
        self._name = name
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        try:
            return tuple(await self._call("embed", texts=list(texts), kind=kind))
        except (StoreError, Busy) as error:
            raise EmbedderUnavailable(str(error), hint=error.hint) from None
