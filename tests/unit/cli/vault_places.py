"""The two ways to the vault: its own store, and a gateway on a real socket that holds one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path

import anyio

from ostiary.adapters.search import open_search
from ostiary.adapters.store.sqlite import open_store
from ostiary.adapters.tools.diffs import unified
from ostiary.assembly.machine import SystemClock
from ostiary.cli.client import Gateway
from ostiary.cli.vault_access import Access
from ostiary.cli.vault_http import open_http
from ostiary.cli.vault_local import open_local
from ostiary.core.memory.memory import make_memory
from ostiary.core.memory.rules import MemoryRules
from ostiary.gateway.app import Door
from ostiary.gateway.auth import Gate
from ostiary.gateway.server import serve
from ostiary.gateway.vault_api import VaultDesk, vault_pages

TOKEN = "a-token-that-is-long-enough-0123456789"


@asynccontextmanager
async def own_store(home: Path) -> AsyncIterator[Access]:
    (home / "ostiary.json5").write_text('{memory: {search: {embedder: "none"}}}')
    async with open_local(home) as access:
        yield access


@asynccontextmanager
async def through_gateway(home: Path) -> AsyncIterator[Access]:
    async with serving(home) as gateway, open_http(gateway) as access:
        yield access


@asynccontextmanager
async def serving(home: Path) -> AsyncIterator[Gateway]:
    clock, key = SystemClock(), bytes(range(32))
    async with (
        open_store(home / "store.db", key, clock=clock) as store,
        open_search(home / "search.db", key, store=store, embedder=None, clock=clock) as search,
        anyio.create_task_group() as group,
    ):
        memory = make_memory(
            store=store,
            documents=store.documents,
            search=search,
            clock=clock,
            zone=lambda: UTC,
            rules=MemoryRules,
            is_private=lambda session: True,
            redact=lambda text: text,
            drop=lambda session: None,
            wants_summary=lambda session: False,
        )
        desk = VaultDesk(
            store=store,
            documents=store.documents,
            search=search,
            embedder=None,
            clock=clock,
            diff=lambda old, new, path: unified(old, new, path),
            memory=memory,
            reindex=search.ask_reindex,
        )
        door = Door(Gate(lambda: TOKEN, monotonic=clock.monotonic), pages=vault_pages(desk))
        ready = anyio.Event()
        urls: list[str] = []

        def listening(url: str) -> None:
            urls.append(url)
            ready.set()

        group.start_soon(lambda: serve(door, on_ready=listening, drain_seconds=1))
        group.start_soon(search.run)
        with anyio.fail_after(10):
            await ready.wait()
        yield Gateway(urls[0], TOKEN)
        group.cancel_scope.cancel()
