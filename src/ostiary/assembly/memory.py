"""Puts memory together: what makes vectors, what is remembered on the house's store, folders of notes, the diary."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ostiary.assembly.config import memory as settings
from ostiary.assembly.config.schema import Config
from ostiary.assembly.config.secret import resolve
from ostiary.assembly.newest import Newest
from ostiary.assembly.prompting import is_private_place
from ostiary.assembly.reaching import Imagining
from ostiary.assembly.vault import Vault
from ostiary.contracts.clock import Clock
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.search import Embedder
from ostiary.core.memory.expanding import Expanding
from ostiary.core.memory.memory import Memory, make_memory
from ostiary.core.memory.rules import MemoryRules
from ostiary.core.policy.secrets import Guard
from ostiary.core.routing.scopes import place_of
from ostiary.core.sessions.pen import Sessions

if TYPE_CHECKING:
    from ostiary.adapters.credentials import CredentialStore
    from ostiary.adapters.egress import Egress

# A provider's own key, where memory.search.apiKey does not name another.
_KEYS = {"openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "voyage": "VOYAGE_API_KEY", "ollama": ""}


def embedder_of(
    memory: settings.Memory, clock: Clock, egress: "Egress", environ: Mapping[str, str], credentials: "CredentialStore"
) -> Embedder | None:
    """None finds by words alone. Raises BadInput for a remote one that cannot be."""
    search = memory.search
    if search.embedder == "none":
        return None
    from ostiary.adapters.search import Embedded

    if search.embedder == "embedded":
        return Embedded(clock=clock)
    from ostiary.adapters.search.embedders.cache import WithFallback
    from ostiary.adapters.search.embedders.remote import Remote, RemoteOptions

    def secret() -> str:
        if search.api_key is not None:
            return resolve(search.api_key, environ, credentials).reveal()
        return environ.get(_KEYS[search.embedder], "") if _KEYS[search.embedder] else ""

    remote = Remote(
        search.embedder,
        egress,
        secret=secret,
        clock=clock,
        model=search.model,
        base_url=search.base_url,
        dimensions=search.dimensions,
        options=RemoteOptions(size=search.batch.size, concurrency=search.batch.concurrency),
    )
    return WithFallback(remote, Embedded(clock=clock), clock=clock) if search.fallback == "embedded" else remote


def memory_rules(config: Config) -> MemoryRules:
    memory = config.memory
    return MemoryRules(
        citations=memory.citations,
        limit=memory.search.limit,
        in_groups=memory.search.groups,
        sessions=memory.search.sessions,
        folders=tuple(each.as_ for each in memory.extra_folders),
        backup_days=config.vault.backup.keep_days,
    )


def house_memory(vault: Vault, newest: Newest, clock: Clock, *, guard: Guard, sessions: Sessions, imagining: Imagining) -> Memory:
    """As the newest configuration has it."""

    def config() -> settings.Memory:
        return newest.live.current.config.memory

    def wants_summary(session: SessionKey) -> bool:
        return config().enabled and config().session_summary and place_of(session.scope).source in ("main", "direct", "other")

    def is_expanded() -> bool:
        wish = config().search.expansion
        return wish == "on" or (wish == "auto" and imagining.costs_nothing())

    return make_memory(
        store=vault.store,
        documents=vault.store.documents,
        search=Expanding(vault.search, imagining.imagine, is_expanded),
        clock=clock,
        zone=lambda: newest.rules.zone,
        rules=lambda: memory_rules(newest.live.current.config),
        is_private=is_private_place,
        redact=guard.redact,
        drop=sessions.forget,
        wants_summary=wants_summary,
    )


async def keep_folders(vault: Vault, clock: Clock, newest: Newest) -> None:
    """Until cancelled: the folders of the configuration as it was at the start."""
    memory = newest.live.current.config.memory
    if not memory.extra_folders:
        return
    from ostiary.assembly.memory_folders import watch_folders, watched_folders

    await watch_folders(watched_folders(memory), store=vault.store, documents=vault.store.documents, clock=clock)
