"""The store itself, for commands that change sessions while no gateway runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ostiary.adapters.store.sqlite import load_or_create_key, open_store
from ostiary.assembly.machine import SystemClock
from ostiary.assembly.vault import STORE, STORE_KEY
from ostiary.contracts.store import Store


@asynccontextmanager
async def own_store(home: Path) -> AsyncIterator[Store]:
    """Held alone. Raises StoreRefused while another process holds it, StoreUnavailable."""
    key = load_or_create_key(home / STORE_KEY, unlocks=(home / STORE,))
    async with open_store(home / STORE, key, clock=SystemClock()) as store:
        yield store
