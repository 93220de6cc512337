"""The store itself, for commands that change sessions while no gateway runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ostiary.adapters.store.sqlite import open_store
from ostiary.assembly.keys import store_key
from ostiary.assembly.machine import SystemClock
from ostiary.assembly.vault import STORE
from ostiary.contracts.store import Store


@asynccontextmanager
async def own_store(home: Path) -> AsyncIterator[Store]:
    """Held alone. Raises StoreRefused while another process holds it, StoreUnavailable."""
    async with open_store(home / STORE, store_key(home), clock=SystemClock()) as store:
        yield store
