"""Builds the house: configuration, store, models, tools and engine meet here and nowhere else."""

import logging
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio

from ostiary.adapters.credentials import Credential, CredentialStore, Secret
from ostiary.adapters.egress import Egress
from ostiary.adapters.tools.files import Files
from ostiary.adapters.tools.image import register_image
from ostiary.adapters.tools.message import register_message
from ostiary.adapters.tools.sessions import register_sessions
from ostiary.assembly.audit import Auditor, lending_noted
from ostiary.assembly.audit_watch import Watch
from ostiary.assembly.backup import keep_backups
from ostiary.assembly.builtin import Host, register_strangers
from ostiary.assembly.circumstances import Circumstances
from ostiary.assembly.config.load import Loaded, load, remember_good
from ostiary.assembly.config.secret import environment, resolve
from ostiary.assembly.config.watch import Live, watch
from ostiary.assembly.control import ControlAtDesk
from ostiary.assembly.credential_key import credentials_key, open_credentials
from ostiary.assembly.embedded import LazyEmbedded
from ostiary.assembly.engine import build_engine, pushing
from ostiary.assembly.hands import Ground, Hands, open_hands
from ostiary.assembly.house_commands import house_commands
from ostiary.assembly.house_tools import register_builtins, register_remembering
from ostiary.assembly.keys import store_key
from ostiary.assembly.known import KnownSecrets
from ostiary.assembly.logging import guard_with
from ostiary.assembly.machine import SortableIds, SystemClock
from ostiary.assembly.memory import embedder_of, house_memory, keep_folders
from ostiary.assembly.models import Sources, build_models
from ostiary.assembly.newest import Newest, NewestCatalogue, NewestModel, Verdicts
from ostiary.assembly.outlet import Outlet
from ostiary.assembly.prompting import is_private_place, may_see_session
from ostiary.assembly.prompts import load_templates
from ostiary.assembly.reaching import Bytes, HouseOutbox, Imagining, Looking
from ostiary.assembly.recent import RecentSecrets
from ostiary.assembly.rules import compile_rules
from ostiary.assembly.vault import Vault, VaultStore, open_vault
from ostiary.assembly.vault_exec import WorkspaceExec
from ostiary.contracts.channel import Channel
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import OstiaryError, StoreUnavailable
from ostiary.contracts.records import dataclass
from ostiary.core.agent.bootstrap import BOOTSTRAP, FILES, folder_of, memory_moves, setup_writes
from ostiary.core.approvals.desk import Approvals
from ostiary.core.control.control import Control
from ostiary.core.memory.memory import Memory
from ostiary.core.policy.guard import guard_layer
from ostiary.core.policy.secrets import Guard
from ostiary.core.routing.approval_commands import add_approval_commands
from ostiary.core.routing.change_commands import Changes, add_change_commands
from ostiary.core.routing.control_commands import house_line
from ostiary.core.routing.desk import CommandDesk
from ostiary.core.routing.intake import Intake
from ostiary.core.routing.lanes import Lanes
from ostiary.core.routing.memory_commands import add_memory_commands
from ostiary.core.routing.supervisor import Supervisor
from ostiary.core.sessions.pen import Sessions

log = logging.getLogger("ostiary.assembly")

GATEWAY_DB = Path("gateway.db")
TOKEN = "gateway.token"  # noqa: S105 - the credential's name
HOUSEKEEPING_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """An assembled engine and what the door needs besides."""

    engine: Supervisor
    store: VaultStore
    newest: Newest
    catalogue: NewestCatalogue
    credentials: CredentialStore
    environ: Mapping[str, str]
    home: Path
    host: Host
    embedded: LazyEmbedded
    sessions: Sessions
    lanes: Lanes
    sources: Sources
    clock: Clock
    recent: RecentSecrets
    approvals: Approvals
    control: Control
    control_desk: ControlAtDesk
    changes: Changes
    verdict: Verdicts
    outlet: Outlet
    auditor: Auditor
    guard: Guard
    vault: Vault
    memory: Memory
    exec: WorkspaceExec

    def token(self) -> str:
        """The bearer token as it was within the last second. Empty, which fits nobody, if it cannot be read."""
        return self.recent.get("token", self.newest.live.current.generation, self.read_token)

    def password(self) -> str:
        """The same of the password."""
        return self.recent.get("password", self.newest.live.current.generation, self._read_password)

    def _read_password(self) -> str:
        source = self.newest.live.current.config.gateway.auth.password
        return resolve(source, self.environ, self.credentials).reveal() if source is not None else ""

    def read_token(self) -> str:
        """The configured token, else the one made at the first start. Raises ConfigInvalid, StoreError."""
        configured = self.newest.live.current.config.gateway.auth.token
        if configured is not None:
            return resolve(configured, self.environ, self.credentials).reveal()
        made = self.credentials.reveal(TOKEN)
        return made.reveal() if made is not None else ""

    def apply(self, loaded: Loaded) -> int:
        """Put a configuration in force that was just written or checked; gives its generation. Raises ConfigInvalid."""
        self.newest.take(loaded, self.sources, anyway=True)
        if self.newest.live.problem is not None:
            raise self.newest.live.problem
        return self.newest.live.current.generation


def prepare_home(home: Path) -> CredentialStore:
    """The state directory with its keys and, at the first start, a token. Raises StoreError."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        hint = "Set OSTIARY_HOME to a directory that is yours."
        raise StoreUnavailable(f"the state directory {home} cannot be made: {error.strerror}", hint=hint) from None
    credentials = open_credentials(home)
    if credentials.reveal(TOKEN) is None:
        credentials.set(Credential(name=TOKEN, kind="token", value=Secret(secrets.token_urlsafe(32))))
    return credentials


@asynccontextmanager
async def open_house(
    home: Path, environ: Mapping[str, str] | None = None, *, channels: Mapping[str, Channel] | None = None
) -> AsyncIterator[House]:
    """The engine, running. Raises ConfigInvalid, StoreRefused (another process holds it, ...), StoreUnavailable."""
    environ = os.environ if environ is None else environ
    clock = SystemClock()
    credentials = prepare_home(home)
    loaded = load(home, environ)
    for warning in loaded.warnings:
        log.warning("%s", warning)
    remember_good(home, loaded)
    merged = environment(loaded.config.env, environ, credentials)
    async with AsyncExitStack() as stack:
        key = store_key(home, loaded.config)
        # Now, at the very first start: there was no key to seal it by when the token was made.
        credentials_key(home, key)
        egress = await stack.enter_async_context(Egress())
        embedder = embedder_of(loaded.config.memory, clock, egress, merged, credentials)
        vault = await stack.enter_async_context(open_vault(home, key, clock=clock, config=loaded.config, embedder=embedder))
        store = vault.store
        await _fill_workspace(store, clock, loaded)
        embedded = LazyEmbedded(merged)
        auditor = Auditor(store, clock, home)
        lent = lending_noted(auditor.note, clock.monotonic)
        sources = Sources(
            environ=merged,
            credentials=credentials,
            egress=egress,
            embedded=embedded,
            clock=clock,
            state=home / "profiles.state",
            lent=lent,
        )
        guard = Guard(KnownSecrets(credentials, merged, clock), state=(str(home),))
        guard_with(guard)
        circumstances = Circumstances(guard_layer(state=(str(home),), owner_files=FILES))
        newest = Newest(
            live=Live(loaded),
            rules=compile_rules(loaded.config, loaded.generation, runtime=circumstances.runtime),
            models=build_models(loaded.config, sources),
            runtime=circumstances.runtime,
        )
        earlier = await store.sessions(limit=1, include_ephemeral=True)
        first_session = "none of these" if earlier else ""
        host = Host(channels=dict(channels or {}))
        ids = SortableIds()
        ground = Ground(
            host=host,
            home=home,
            store=store,
            newest=newest,
            clock=clock,
            ids=ids,
            egress=egress,
            environ=merged,
            protected=guard.protected_path,
            reveal=lambda source: resolve(source, merged, credentials).reveal(),
            lent=lent,
        )
        hands = await stack.enter_async_context(open_hands(ground))
        house = _build(ground, vault, merged, credentials, first_session, sources, circumstances, hands, guard, auditor)
        await stack.enter_async_context(house.engine.running())
        group = await stack.enter_async_context(anyio.create_task_group())
        group.start_soon(embedded.hold)
        group.start_soon(_reload, home, environ, clock, newest, sources)
        group.start_soon(_keep_house, store, clock)
        group.start_soon(auditor.run)
        group.start_soon(vault.search.run)
        house.sessions.feed.began_anew = house.memory.diary.stir
        group.start_soon(house.memory.diary.run)
        group.start_soon(keep_folders, vault, clock, newest)
        group.start_soon(keep_backups, home, key, clock, newest, environ)
        watch = Watch(store=store, newest=newest, credentials=credentials, clock=clock)
        group.start_soon(watch.run)
        try:
            yield house
        finally:
            group.cancel_scope.cancel()


def _build(
    ground: Ground,
    vault: Vault,
    environ: Mapping[str, str],
    credentials: CredentialStore,
    first_session: str,
    sources: Sources,
    circumstances: Circumstances,
    hands: Hands,
    guard: Guard,
    auditor: Auditor,
) -> House:
    host, store, newest, clock = ground.host, ground.store, ground.newest, ground.clock
    works = build_engine(ground, hands, guard, circumstances, first_session=first_session)
    engine, sessions, approvals, control = works.engine, works.sessions, works.approvals, works.control
    changes = Changes(sessions=sessions, documents=store.documents, clock=clock)
    config, pushes = newest.live.current.config, pushing(ground)
    register_builtins(ground, engine, hands, lambda: house_line(control.view(), clock.now(), len(approvals.pending)))
    outbox = HouseOutbox(
        delivery=works.delivery, sessions=sessions, channels=lambda: tuple(filter(pushes, host.channels)), redact=guard.redact
    )
    register_message(host, outbox=outbox)
    register_sessions(host, journals=store, clock=clock, may_see=may_see_session, max_bytes=config.tools.result_max_bytes)
    register_image(
        host,
        files=Files(store.documents, folder_of, is_private_place, guard.protected_path, settled=hands.settled),
        describe=Looking(NewestModel(newest), works.catalogue, lambda: newest.rules.default_agent).describe,
        fetch=Bytes(hands.outlet).fetch,
        max_bytes=config.tools.result_max_bytes,
    )
    imagining = Imagining(NewestModel(newest), works.catalogue, lambda: newest.rules.default_agent)
    memory = house_memory(vault, newest, clock, guard=guard, sessions=sessions, imagining=imagining)
    register_remembering(ground, vault, memory, guard)
    add_memory_commands(host.add_command, memory, lambda: newest.rules.zone)
    add_approval_commands(host.add_command, approvals, clock)
    add_change_commands(host.add_command, changes)
    desk = house_commands(host, control, newest, clock, works.is_attended)
    plugins = config.plugins
    if plugins.enabled:
        switches = {name: entry.enabled for name, entry in plugins.entries.items()}
        register_strangers(host, allow=plugins.allow, deny=plugins.deny, own=switches)
        if host.plugin_tools:
            newest.know_plugins(host.plugin_tools)
    engine.intake = Intake(
        sessions=sessions,
        lanes=works.lanes,
        delivery=works.delivery,
        channels=host.channels,
        desk=CommandDesk(
            commands=host.commands,
            controls=lambda: engine,
            catalogue=lambda: works.catalogue,
            rules=lambda: newest.rules.desk,
        ),
        clock=clock,
        rules=lambda: newest.rules.intake,
        control=control,
        redact=guard.redact,
    )
    return House(
        engine=engine,
        store=store,
        newest=newest,
        catalogue=works.catalogue,
        credentials=credentials,
        environ=environ,
        home=ground.home,
        host=host,
        embedded=sources.embedded,
        sessions=sessions,
        lanes=works.lanes,
        sources=sources,
        clock=clock,
        recent=RecentSecrets(clock),
        approvals=approvals,
        control=control,
        control_desk=desk,
        changes=changes,
        verdict=works.verdict,
        outlet=hands.outlet,
        auditor=auditor,
        guard=guard,
        vault=vault,
        memory=memory,
        exec=replace(hands.exec, may_run=lambda: control.may_begin),
    )


async def _fill_workspace(store: VaultStore, clock: SystemClock, loaded: Loaded) -> None:
    if loaded.config.agents.defaults.skip_bootstrap:
        return
    existing = [version.path for version in await store.documents.list(BOOTSTRAP)]
    writes = [
        *setup_writes(existing, load_templates(), at=clock.now()),
        *await memory_moves(store.documents, at=clock.now()),
    ]
    if writes:
        await store.commit(writes)


async def _reload(home: Path, environ: Mapping[str, str], clock: SystemClock, newest: Newest, sources: Sources) -> None:
    async for change in watch(home, environ, clock=clock, current=newest.live.current):
        newest.take(change, sources)


async def _keep_house(store: VaultStore, clock: SystemClock) -> None:
    while True:
        await clock.sleep(HOUSEKEEPING_SECONDS)
        try:
            await store.sweep(clock.now())
        except OstiaryError as error:
            log.warning("sweeping waits: %s", error)
