"""The vault on the house's own store, or that of the vault's process, for a command that runs without a gateway.

Nothing is imported before it is needed.
"""

import glob
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from ostiary.assembly.config.load import load
from ostiary.assembly.config.schema import Config
from ostiary.assembly.keys import store_key
from ostiary.assembly.machine import SystemClock
from ostiary.assembly.vault import OwnVault, Vault, open_vault
from ostiary.cli.vault_access import NewFile, Restored, RestoreWish, VaultStatus, Wrote, missing, row, watched
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, Conflict, QuotaExceeded
from ostiary.contracts.identity import OWNER, Principal
from ostiary.contracts.messages import UserId
from ostiary.contracts.search import Embedder, Found, IndexStatus, Reach
from ostiary.contracts.store import CollectionUse, DocumentVersion, Extend, Move, Put, Restore, Tombstone

if TYPE_CHECKING:
    from ostiary.core.documents.restoring import RestorePlan
    from ostiary.core.memory.memory import Memory
    from ostiary.core.memory.paths import Area

# The same person as over the gateway with its own token: who writes does not depend on whether it runs.
THE_OWNER = Principal(user=UserId(channel="api", stable_id="token"), role=OWNER)
_BY = str(THE_OWNER.user)
_LABEL = Label(trust=Trust.OWNER, sources=(_BY,))
_POLL_SECONDS = 1.0
_TOGETHER = 200


@asynccontextmanager
async def open_local(home: Path) -> AsyncIterator["LocalVault"]:
    """Held alone. Raises StoreRefused (another process holds it, wrong key), StoreUnavailable, ConfigInvalid."""
    config = load(home, os.environ).config
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        # A vault that is a process of its own has its own key and embedder.
        is_remote = config.vault.mode == "remote"
        embedder = None if is_remote else await _embedder(config, home, clock, stack)
        key = b"" if is_remote else store_key(home, config)
        vault = await stack.enter_async_context(open_vault(home, key, clock=clock, config=config, embedder=embedder))
        yield LocalVault(vault, config, home, clock)


async def _embedder(config: Config, home: Path, clock: SystemClock, stack: AsyncExitStack) -> Embedder | None:
    kind = config.memory.search.embedder
    if kind == "none":
        return None
    if kind == "embedded":
        from ostiary.adapters.search import Embedded

        return Embedded(clock=clock)
    from ostiary.adapters.egress import Egress
    from ostiary.assembly.config.secret import environment
    from ostiary.assembly.credential_key import open_credentials
    from ostiary.assembly.memory import embedder_of

    credentials = open_credentials(home)
    egress = await stack.enter_async_context(Egress())
    return embedder_of(config.memory, clock, egress, environment(config.env, os.environ, credentials), credentials)


class LocalVault:
    """An `Access`."""

    def __init__(self, vault: Vault, config: Config, home: Path, clock: SystemClock) -> None:
        self._vault = vault
        self._store = vault.store
        self._documents = vault.store.documents
        self._config = config
        self._home = home
        self._clock = clock

    @property
    def is_own(self) -> bool:
        return self._config.vault.mode != "remote"

    async def collections(self) -> tuple[CollectionUse, ...]:
        return await self._documents.collections()

    async def list(self, collection: str, *, pattern: str = "**", at: float | None = None) -> tuple[DocumentVersion, ...]:
        return await self._documents.list(collection, pattern=pattern, at=at)

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None:
        return await self._documents.get(collection, path, version=version)

    async def history(self, collection: str, path: str) -> tuple[DocumentVersion, ...]:
        return await self._documents.history(collection, path)

    async def put(self, collection: str, file: NewFile) -> int:
        (version,) = await self._store.commit([self._put(collection, file, _LABEL)])
        return version

    async def put_many(self, collection: str, files: Sequence[NewFile], *, label: Label | None = None) -> tuple[Wrote, ...]:
        wrote: list[Wrote] = []
        for start in range(0, len(files), _TOGETHER):
            puts = [self._put(collection, file, label or _LABEL) for file in files[start : start + _TOGETHER]]
            wrote += await self._commit_each(puts)
        return tuple(wrote)

    async def append(self, collection: str, path: str, content: bytes) -> int:
        now = self._clock.now()
        write = Extend(collection=collection, path=path, content=content, at=now, author=_BY, label=_LABEL)
        (version,) = await self._store.commit([write])
        return version

    async def delete(self, collection: str, path: str, *, expect: int | None = None) -> int:
        if await self._documents.get(collection, path) is None:
            raise missing(collection, path)
        write = Tombstone(collection=collection, path=path, at=self._clock.now(), author=_BY, expect_version=expect)
        (version,) = await self._store.commit([write])
        return version

    async def move(self, collection: str, path: str, to: str) -> int:
        write = Move(collection=collection, path=path, to=to, at=self._clock.now(), author=_BY)
        (version,) = await self._store.commit([write])
        return version

    async def restore(self, wish: RestoreWish) -> Restored:
        plan = await self._plan(wish)
        if plan.writes and not wish.preview:
            await self._store.commit(plan.writes)
        return Restored(restored=plan.restored, deleted=plan.deleted, left=plan.left)

    async def search(self, text: str, *, collections: Sequence[str] | None, pattern: str = "**", limit: int = 6) -> Found:
        if collections is None:
            collections = [use.collection for use in await self.collections()]
        return await self._vault.search.query(text, reach=Reach(collections=tuple(collections), include=(pattern,)), limit=limit)

    async def status(self) -> VaultStatus:
        settings = self._config.vault
        holder = f"the vault at {settings.url}" if settings.mode == "remote" else "this command"
        return VaultStatus(holder=holder, collections=await self.collections(), index=await self._vault.search.status())

    async def recall(self, text: str, *, agent: str, limit: int, sessions: bool) -> Found:
        from ostiary.core.memory.recall import Recall
        from ostiary.core.memory.rules import MemoryRules

        recall = Recall(documents=self._documents, search=self._vault.search, rules=MemoryRules, is_private=lambda key: True)
        return await recall.everything(text, agent=agent, limit=limit, sessions=sessions)

    async def notes(self, agent: str) -> Mapping[str, Any]:
        from ostiary.core.memory.paths import COLLECTION, place_of
        from ostiary.core.memory.shelf import notes

        found = [
            {**row(note.version), "path": note.path, "place": place_of(note.path), "collection": COLLECTION}
            async for note in notes(self._documents, agent=agent)
        ]
        waiting = await self._memory.confirming.waiting(agent=agent)
        return {"notes": found, "waiting": [asdict(each) for each in waiting]}

    async def write(self, text: str, *, area: str, title: str, agent: str) -> Mapping[str, Any]:
        from ostiary.core.memory.writing import told

        kept = await self._memory.note(text, by=THE_OWNER, area=_area(area), title=title, agent=agent)
        return {"outcome": kept.outcome, "path": kept.path, "line": kept.line, "area": kept.area, "told": told(kept)}

    async def why(self, target: str, *, agent: str) -> Sequence[Mapping[str, Any]]:
        return [asdict(each) for each in await self._memory.origins.why(target, agent=agent)]

    async def forget(self, text: str, *, preview: bool) -> Mapping[str, Any]:
        forgetter = self._memory.forgetter
        if not preview:
            return asdict(await forgetter.forget(text, by=THE_OWNER))
        plan = await forgetter.plan(text)
        return {
            "digest": plan.digest,
            "places": [f"{loss.path}#L{entry.start}" for loss in plan.losses for entry in loss.gone],
            "entries": [entry.text for loss in plan.losses for entry in loss.gone],
            "versions": sum(len(loss.versions) for loss in plan.losses),
            "sessions": sorted({str(each.session) for each in plan.spoken}),
            "left": list(plan.left),
            "preview": True,
        }

    async def settle(self, ids: Sequence[str], *, area: str, agent: str, reject: bool) -> Sequence[Mapping[str, Any]]:
        confirming = self._memory.confirming
        if reject:
            settled = await confirming.reject(ids, by=THE_OWNER, agent=agent)
        else:
            settled = await confirming.confirm(ids, by=THE_OWNER, agent=agent, area=_area(area))
        return [asdict(each) for each in settled]

    async def catch_up(self, progress: Callable[[IndexStatus], None], *, vectors: bool = True) -> IndexStatus:
        search = self._vault.search
        async with anyio.create_task_group() as group:

            async def report() -> None:
                while True:
                    await anyio.sleep(_POLL_SECONDS)
                    progress(await search.status())

            group.start_soon(report)
            if not isinstance(self._vault, OwnVault):
                # Any question makes the vault look for changes; one about nothing costs nothing.
                await search.query("-", reach=Reach(collections=()))
                await watched(search.status, lambda status: not status.waiting, progress)
            elif vectors:
                await self._vault.search.settle()
            else:
                await self._vault.search.take_in()
            group.cancel_scope.cancel()
        return await search.status()

    async def reindex(self, progress: Callable[[float], None]) -> None:
        vault = self._vault
        if not isinstance(vault, OwnVault):
            await vault.search.ask_reindex()
            await watched(
                vault.search.status, lambda status: status.rebuilding is None, lambda status: progress(status.rebuilding or 0.0)
            )
            return
        search = vault.search
        async with anyio.create_task_group() as group:

            async def report() -> None:
                while True:
                    await anyio.sleep(_POLL_SECONDS)
                    progress(search.progress or 0.0)

            group.start_soon(report)
            await search.reindex()
            group.cancel_scope.cancel()

    @cached_property
    def _memory(self) -> "Memory":
        from ostiary.assembly.config.secret import environment
        from ostiary.assembly.credential_key import open_credentials
        from ostiary.assembly.known import KnownSecrets
        from ostiary.assembly.memory import memory_rules
        from ostiary.assembly.rules import compile_rules
        from ostiary.core.memory.memory import make_memory
        from ostiary.core.policy.secrets import Guard

        credentials = open_credentials(self._home)
        merged = environment(self._config.env, os.environ, credentials)
        guard = Guard(KnownSecrets(credentials, merged, self._clock), state=(str(self._home),))
        zone = compile_rules(self._config, 1).zone
        return make_memory(
            store=self._store,
            documents=self._documents,
            search=self._vault.search,
            clock=self._clock,
            zone=lambda: zone,
            rules=lambda: memory_rules(self._config),
            is_private=lambda key: True,
            redact=guard.redact,
            drop=lambda key: None,
            wants_summary=lambda key: False,
        )

    async def _plan(self, wish: RestoreWish) -> "RestorePlan":
        from ostiary.core.documents.restoring import RestorePlan, plan_restore, plan_restore_before

        now = self._clock.now()
        if wish.version is not None:
            write = Restore(collection=wish.collection, path=wish.path, version=wish.version, at=now, author=_BY)
            return RestorePlan(writes=(write,), restored=(wish.path,))
        pattern = glob.escape(wish.path) if wish.path else "**"
        if wish.at is not None:
            return await plan_restore(self._documents, wish.collection, wish.at, at=now, author=_BY, pattern=pattern)
        return await plan_restore_before(self._documents, wish.collection, wish.turn, at=now, author=_BY, pattern=pattern)

    def _put(self, collection: str, file: NewFile, label: Label) -> Put:
        return Put(
            collection=collection,
            path=file.path,
            content=file.content,
            at=self._clock.now(),
            author=_BY,
            label=label,
            expect_version=file.expect,
            executable=file.executable,
        )

    async def _commit_each(self, puts: Sequence[Put]) -> Sequence[Wrote]:
        """In one unit; if one of them is refused, each alone."""
        try:
            versions = await self._store.commit(puts)
            return [Wrote(path=put.path, version=version) for put, version in zip(puts, versions, strict=True)]
        except (BadInput, Conflict):
            pass
        wrote: list[Wrote] = []
        for put in puts:
            try:
                (version,) = await self._store.commit([put])
                wrote.append(Wrote(path=put.path, version=version))
            except (BadInput, Conflict, QuotaExceeded) as error:
                wrote.append(Wrote(path=put.path, problem=str(error), is_conflict=isinstance(error, Conflict)))
        return wrote


def _area(name: str) -> "Area | None":
    from ostiary.core.memory.paths import AREAS

    if name and name not in AREAS:
        raise BadInput(f"there is no area {name!r}", hint=f"One of {', '.join(AREAS)}.")
    return next((area for area in AREAS if area == name), None)
