"""The store itself, for commands that change sessions while no gateway runs."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ostiary.adapters.store.sqlite import open_store
from ostiary.assembly.keys import store_key
from ostiary.assembly.machine import SystemClock
from ostiary.assembly.vault import STORE, Vault, elsewhere, open_vault
from ostiary.contracts.store import Store


@asynccontextmanager
async def own_vault(home: Path) -> AsyncIterator[Vault]:
    """As `own_store`, with the index, for what must leave it too."""
    from ostiary.assembly.config.load import load

    remote = elsewhere(home)
    config = load(home, os.environ).config if remote is None else remote
    key = store_key(home, config) if remote is None else b""
    async with open_vault(home, key, clock=SystemClock(), config=config, embedder=None, patience=0.0) as vault:
        yield vault


@asynccontextmanager
async def own_store(home: Path) -> AsyncIterator[Store]:
    """Held alone; or that of the vault's process, where there is one. Raises StoreRefused while another process holds it,
    StoreUnavailable."""
    remote = elsewhere(home)
    if remote is not None:
        async with open_vault(home, b"", clock=SystemClock(), config=remote, embedder=None, patience=0.0) as vault:
            yield vault.store
        return
    async with open_store(home / STORE, store_key(home), clock=SystemClock()) as store:
        yield store
