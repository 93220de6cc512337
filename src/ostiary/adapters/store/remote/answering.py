"""The side that keeps the store: takes one call as bytes, gives its answer as bytes."""

import logging
from collections.abc import Mapping
from typing import Any

from ostiary.adapters.store.remote.calls import FORMAT, call_of
from ostiary.adapters.store.remote.faults import fault_of
from ostiary.adapters.store.remote.shapes import pack, read_writes, reader_of, unpack
from ostiary.adapters.store.sqlite import SqliteStore
from ostiary.contracts.errors import BadInput, EmbedderUnavailable, OstiaryError
from ostiary.contracts.search import Embedder, Index
from ostiary.contracts.store import Lease

log = logging.getLogger("ostiary.vault")

_FENCE = reader_of(Lease | None)
_MISFITS = (TypeError, ValueError, KeyError, AttributeError, IndexError)


class Answering:
    """Every call gets an answer: what the contract gives, or the contract's error. Nothing beyond the contracts is reachable."""

    def __init__(self, store: SqliteStore, search: Index, embedder: Embedder | None) -> None:
        self._store = store
        self._search = search
        self._embedder = embedder

    async def answer(self, body: bytes) -> bytes:
        try:
            return pack({"given": await self._given(body)})
        except OstiaryError as error:
            return pack(fault_of(error))

    async def _given(self, body: bytes) -> object:
        try:
            asked = unpack(body)
            name, given = str(asked["call"]), asked["with"]
            prepared = self._prepared(name, given)
        except _MISFITS as error:
            raise BadInput(f"That is no call of the vault: {type(error).__name__}: {error}") from None
        return await self._done(name, prepared)

    def _prepared(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        if name == "commit":
            return {
                "slot": str(given["slot"]),
                "number": int(given["number"]),
                "writes": read_writes(given["writes"]),
                "fence": _FENCE(given["fence"]),
                "expect": {str(session): int(seq) for session, seq in (given["expect"] or {}).items()},
            }
        if name == "embed":
            return {"texts": [str(text) for text in given["texts"]], "kind": given["kind"]}
        if name in ("hello", "search.reindex"):
            return {}
        call = call_of(name)
        if call is None:
            raise ValueError(name[:80])
        return {argument: call.arguments[argument](value) for argument, value in given.items()}

    async def _done(self, name: str, given: dict[str, Any]) -> object:
        match name:
            case "commit":
                return await self._store.commit_once(**given)
            case "hello":
                return self._hello()
            case "embed":
                return await self._embed(**given)
            case "search.reindex":
                await self._search.ask_reindex()
                return None
            case "audit.verify":
                return await self._store.audit(given.get("heads", ())).verify()
        call = call_of(name)
        assert call is not None
        return await getattr(self._part(call.part), call.method)(**given)

    def _part(self, name: str) -> Any:
        match name:
            case "store":
                return self._store
            case "documents":
                return self._store.documents
            case "audit":
                return self._store.audit()
            case _:
                return self._search

    def _hello(self) -> dict[str, object]:
        embedder = self._embedder
        known = None if embedder is None else {"name": embedder.name, "dimensions": embedder.dimensions}
        return {"format": FORMAT, "embedder": known}

    async def _embed(self, texts: list[str], kind: Any) -> object:
        if self._embedder is None:
            raise EmbedderUnavailable("The vault has no embedder")
        return await self._embedder.embed(texts, kind)
