"""Opens the vault: the store with everything that lasts, and the index that finds it again.

The gateway acts through it, and a command that runs without one.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ostiary.adapters.store.sqlite import SqliteStore, StoreLimits, open_store
from ostiary.assembly.config.schema import Config
from ostiary.contracts.clock import Clock
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Embedder

if TYPE_CHECKING:
    from ostiary.adapters.search import SearchIndex

BOT = "main"
STORE = Path("bots") / BOT / "store.db"
SEARCH = Path("bots") / BOT / "search.db"
STORE_KEY = Path("keys") / "store.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """`embedder` is None where text is found by words alone."""

    store: SqliteStore
    search: "SearchIndex"
    embedder: Embedder | None


@asynccontextmanager
async def open_vault(home: Path, key: bytes, *, clock: Clock, config: Config, embedder: Embedder | None) -> AsyncIterator[Vault]:
    """Held alone. Nothing of the index is loaded before its first use. Raises StoreRefused (another process holds it, wrong
    key, damaged), StoreUnavailable."""
    limits = StoreLimits(document_bytes=config.vault.document_max_bytes, quota_bytes=config.vault.quota_bytes)
    async with open_store(home / STORE, key, clock=clock, limits=limits) as store:
        from ostiary.adapters.search import open_search

        async with open_search(home / SEARCH, key, store=store, embedder=embedder, clock=clock) as search:
            yield Vault(store=store, search=search, embedder=embedder)
