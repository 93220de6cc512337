"""Opens the vault: the store with everything that lasts, and the index that finds it again.

The gateway acts through it, and a command that runs without one. With `vault.mode: remote` another process has it, and this one
is a client with the same interfaces; then nothing of it is read or written here.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ostiary.adapters.store.sqlite import SqliteReader, SqliteStore, StoreLimits, open_store
from ostiary.assembly.config.schema import Config
from ostiary.contracts.audit import AuditHead, AuditLog
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import ConfigInvalid
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Embedder, Index
from ostiary.contracts.store import Documents, Store

if TYPE_CHECKING:
    from ostiary.adapters.search import SearchIndex

BOT = "main"
STORE = Path("bots") / BOT / "store.db"
SEARCH = Path("bots") / BOT / "search.db"
STORE_KEY = Path("keys") / "store.key"
VAULT_TOKEN = "vault.token"  # noqa: S105 - the credential's name
REMOTE_PATIENCE = 20.0


class VaultStore(Store, Protocol):
    """A store with its documents and its audit log. `on_audit` is told the seq of each new entry; `connections`
    are those of this process."""

    on_audit: Callable[[int], None] | None

    @property
    def documents(self) -> Documents: ...

    @property
    def connections(self) -> int: ...

    def audit(self, heads: tuple[AuditHead, ...] = ()) -> AuditLog: ...


Reader = SqliteReader | VaultStore
"""What is stored, for those who only look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """`embedder` is None where text is found by words alone."""

    store: VaultStore
    search: Index
    embedder: Embedder | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnVault(Vault):
    """Held by this process."""

    store: SqliteStore
    search: "SearchIndex"


@asynccontextmanager
async def open_vault(
    home: Path,
    key: bytes,
    *,
    clock: Clock,
    config: Config,
    embedder: Embedder | None,
    environ: Mapping[str, str] | None = None,
    patience: float = REMOTE_PATIENCE,
) -> AsyncIterator[Vault]:
    """Held alone, or the client of the process that holds it; that one is waited for `patience` seconds. Nothing of the index
    is loaded before its first use. Raises StoreRefused (another process holds it, wrong key or token, damaged),
    StoreUnavailable, ConfigInvalid."""
    opened: AbstractAsyncContextManager[Vault] = (
        _remote(home, clock, config, os.environ if environ is None else environ, patience)
        if config.vault.mode == "remote"
        else open_embedded(home, key, clock=clock, config=config, embedder=embedder)
    )
    async with opened as vault:
        yield vault


@asynccontextmanager
async def open_embedded(
    home: Path, key: bytes, *, clock: Clock, config: Config, embedder: Embedder | None
) -> AsyncIterator[OwnVault]:
    """In this process, whatever the mode is."""
    limits = StoreLimits(document_bytes=config.vault.document_max_bytes, quota_bytes=config.vault.quota_bytes)
    async with open_store(home / STORE, key, clock=clock, limits=limits) as store:
        from ostiary.adapters.search import open_search

        async with open_search(home / SEARCH, key, store=store, embedder=embedder, clock=clock) as search:
            yield OwnVault(store=store, search=search, embedder=embedder)


def elsewhere(home: Path, environ: Mapping[str, str] | None = None) -> Config | None:
    """The configuration, if by it another process has the vault: then no command opens the store itself. Of a file that
    cannot be understood the last good one counts."""
    from ostiary.assembly.config.load import load_last_good, peek

    environ = os.environ if environ is None else environ
    try:
        config = peek(home, environ).config
    except ConfigInvalid:
        try:
            config = load_last_good(home, environ).config
        except ConfigInvalid:
            return None
    return config if config.vault.mode == "remote" else None


def has_store(home: Path) -> bool:
    """Whether there is anything to open: a store here, or a vault elsewhere."""
    return (home / STORE).exists() or elsewhere(home) is not None


@asynccontextmanager
async def _remote(home: Path, clock: Clock, config: Config, environ: Mapping[str, str], patience: float) -> AsyncIterator[Vault]:
    from ostiary.adapters.store.remote import open_remote_vault
    from ostiary.assembly.config.secret import resolve
    from ostiary.assembly.credential_key import open_credentials

    if not config.vault.url:
        problem = "vault.url: must say where the vault is when vault.mode is remote"
        raise ConfigInvalid(problem, problems=(problem,), hint="Write unix:/path/to/vault.sock or http://host:8181.")
    credentials = open_credentials(home)

    def token() -> str:
        if config.vault.token is not None:
            return resolve(config.vault.token, environ, credentials).reveal()
        made = credentials.reveal(VAULT_TOKEN)
        return made.reveal() if made is not None else ""

    secret = token()
    async with open_remote_vault(config.vault.url, lambda: secret, clock=clock, patience=patience) as vault:
        yield Vault(store=vault.store, search=vault.search, embedder=vault.embedder)
