"""The pages over a real store and index, called by ASGI."""

import json
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

from ostiary.adapters.search import open_search
from ostiary.adapters.store.sqlite import SqliteStore, StoreLimits, open_store
from ostiary.adapters.tools.diffs import unified
from ostiary.contracts.search import EmbedKind
from ostiary.core.memory.memory import make_memory
from ostiary.core.memory.rules import MemoryRules
from ostiary.gateway.app import Door
from ostiary.gateway.auth import Gate
from ostiary.gateway.vault_api import VaultDesk, vault_pages
from ostiary.kit.clock import ManualClock
from tests.unit.gateway.fakes import TOKEN, Client, Reply


class Lengths:
    """An embedder that tells texts apart by their length."""

    name = "lengths"
    dimensions = 2

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        return tuple(struct.pack("<2f", *((1.0, 0.0) if len(text) % 2 else (0.0, 1.0))) for text in texts)


class VaultClient:
    def __init__(self, desk: VaultDesk, store: SqliteStore, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self._client = Client()
        self.serve(desk)

    def serve(self, desk: VaultDesk) -> None:
        self.desk = desk
        self._client.app = Door(Gate(lambda: TOKEN, monotonic=lambda: 0.0), pages=vault_pages(desk))

    async def call(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Reply:
        return await self._client.call(method, f"/v1/vault/{path}", body, headers)

    async def post(self, page: str, /, **body: Any) -> Reply:
        return await self.call("POST", page, json.dumps(body).encode())

    async def put(self, path: str, content: str, **headers: str) -> Reply:
        return await self.call("PUT", f"raw/{path}", content.encode(), {k.replace("_", "-"): v for k, v in headers.items()})

    def without(self, **parts: Any) -> None:
        self.serve(replace(self.desk, **parts))


@asynccontextmanager
async def vault(folder: Path, limits: StoreLimits | None = None) -> AsyncIterator[VaultClient]:
    clock, key = ManualClock(), bytes(range(32))
    async with (
        open_store(folder / "store.db", key, clock=clock, limits=limits or StoreLimits()) as store,
        open_search(folder / "search.db", key, store=store, embedder=None, clock=clock) as search,
    ):
        memory = make_memory(
            store=store,
            documents=store.documents,
            search=search,
            clock=clock,
            zone=lambda: UTC,
            rules=MemoryRules,
            is_private=lambda session: True,
            redact=lambda text: text.replace("hunter2", "[secret]"),
            drop=lambda session: None,
            wants_summary=lambda session: False,
        )
        desk = VaultDesk(
            store=store,
            documents=store.documents,
            search=search,
            embedder=Lengths(),
            clock=clock,
            diff=lambda old, new, path: unified(old, new, path, limit=20_000),
            memory=memory,
            reindex=search.ask_reindex,
            document_bytes=1_000_000,
        )
        yield VaultClient(desk, store, clock)
