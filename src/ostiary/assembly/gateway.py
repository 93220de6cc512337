"""Builds the process: configuration, store, models, tools, engine and door meet here and nowhere else."""

import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ostiary import __version__
from ostiary.adapters.credentials import Credential, CredentialStore, Secret, key_at
from ostiary.adapters.egress import Egress
from ostiary.adapters.models.embedded.client import Embedded
from ostiary.adapters.models.embedded.weights import weights_directory
from ostiary.adapters.store.sqlite import SqliteStore, load_or_create_key, open_store
from ostiary.adapters.store.sqlite import open_reader as open_sqlite_reader
from ostiary.adapters.tools import register_files, register_status
from ostiary.assembly.builtin import Host, register_strangers
from ostiary.assembly.config.load import Loaded, load, remember_good
from ostiary.assembly.config.paths import CREDENTIALS, CREDENTIALS_KEY
from ostiary.assembly.config.secret import environment, resolve
from ostiary.assembly.config.watch import Live, watch
from ostiary.assembly.machine import SortableIds, SystemClock
from ostiary.assembly.models import Models, Sources, build_models
from ostiary.assembly.prompting import HousePrompts, is_private_place
from ostiary.assembly.prompts import load_templates
from ostiary.assembly.rules import Rules, compile_rules
from ostiary.contracts.channel import Channel
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import ConfigInvalid, OstiaryError
from ostiary.contracts.messages import Address
from ostiary.contracts.model import ModelChoice, ModelEvent, ModelFacts, ModelRef, ModelRequest
from ostiary.contracts.policy import Action, Decision
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import InboxItem
from ostiary.core.agent.bootstrap import BOOTSTRAP, folder_of, setup_writes
from ostiary.core.agent.prompt import Envelope, wrap
from ostiary.core.agent.run import Runner
from ostiary.core.agent.tool_calls import ToolCalls
from ostiary.core.policy.verdict import Verdict
from ostiary.core.routing.builtin_commands import add_builtin_commands
from ostiary.core.routing.delivery import Delivery
from ostiary.core.routing.desk import CommandDesk
from ostiary.core.routing.feed import Feed
from ostiary.core.routing.intake import Intake
from ostiary.core.routing.lanes import Lanes
from ostiary.core.routing.scopes import place_of
from ostiary.core.routing.sendpolicy import may_send
from ostiary.core.routing.supervisor import Supervisor
from ostiary.core.sessions.pen import Sessions
from ostiary.core.sessions.resets import expired, type_of
from ostiary.core.sessions.session import Session

if TYPE_CHECKING:
    from ostiary.adapters.store.sqlite import SqliteReader

log = logging.getLogger("ostiary.assembly")

BOT = "main"
STORE = Path("bots") / BOT / "store.db"
STORE_KEY = Path("keys") / "store.key"
TOKEN = "gateway.token"  # noqa: S105 - the credential's name
HOUSEKEEPING_SECONDS = 3600.0


@dataclass(slots=True)
class Newest:
    """The newest good generation: what is decided, decided by this."""

    live: Live
    rules: Rules
    models: Models

    def take(self, change: Loaded | ConfigInvalid, sources: Sources) -> None:
        """Swap everything at once, or nothing."""
        if isinstance(change, ConfigInvalid):
            self.live.take(change)
            log.error("the configuration was changed but not taken over: %s", change)
            return
        try:
            rules, models = compile_rules(change.config, change.generation), build_models(change.config, sources)
        except OstiaryError as error:
            sentence = f"{error} {error.hint}".strip()
            self.live.problem = ConfigInvalid(sentence, problems=(sentence,))
            log.error("the configuration was changed but not taken over: %s", sentence)
            return
        if self.live.take(change):
            self.rules, self.models = rules, models
            log.info("configuration generation %d is in force", change.generation)


class NewestModel:
    """The model client of the newest generation; a running call keeps the one it began with."""

    def __init__(self, newest: Newest) -> None:
        self._newest = newest

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return self._newest.models.client.stream(request)


class NewestCatalogue:
    def __init__(self, newest: Newest) -> None:
        self._newest = newest

    def facts(self, ref: ModelRef) -> ModelFacts:
        return self._newest.models.catalogue.facts(ref)

    def choose(self, agent: str, override: str = "", *, with_images: bool = False) -> ModelChoice:
        return self._newest.models.catalogue.choose(agent, override, with_images=with_images)

    def choices(self, agent: str) -> tuple[ModelFacts, ...]:
        return self._newest.models.catalogue.choices(agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """An assembled engine and what the door needs besides."""

    engine: Supervisor
    store: SqliteStore
    newest: Newest
    catalogue: NewestCatalogue
    credentials: CredentialStore
    environ: Mapping[str, str]
    home: Path
    host: Host

    def token(self) -> str:
        """The bearer token: the configured one, else the one made at the first start."""
        configured = self.newest.live.current.config.gateway.auth.token
        if configured is not None:
            return resolve(configured, self.environ, self.credentials).reveal()
        made = self.credentials.reveal(TOKEN)
        return made.reveal() if made is not None else ""


def prepare_home(home: Path) -> CredentialStore:
    """The state directory with its keys and, at the first start, a token. Raises StoreError."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    credentials = CredentialStore(home / CREDENTIALS, key_at(home / CREDENTIALS_KEY))
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
        key = load_or_create_key(home / STORE_KEY, unlocks=(home / STORE,))
        store = await stack.enter_async_context(open_store(home / STORE, key, clock=clock))
        await _fill_workspace(store, clock, loaded)
        egress = await stack.enter_async_context(Egress())
        embedded = await stack.enter_async_context(Embedded(weights_directory(merged)))
        sources = Sources(
            environ=merged,
            credentials=credentials,
            egress=egress,
            embedded=embedded,
            clock=clock,
            state=home / "profiles.state",
        )
        newest = Newest(
            live=Live(loaded), rules=compile_rules(loaded.config, loaded.generation), models=build_models(loaded.config, sources)
        )
        earlier = await store.sessions(limit=1, include_ephemeral=True)
        first_session = "none of these" if earlier else ""
        house = _build(home, merged, store, newest, credentials, clock, dict(channels or {}), first_session)
        await stack.enter_async_context(house.engine.running())
        group = await stack.enter_async_context(anyio.create_task_group())
        group.start_soon(_reload, home, environ, clock, newest, sources)
        group.start_soon(_keep_house, store, clock)
        try:
            yield house
        finally:
            group.cancel_scope.cancel()


def _build(
    home: Path,
    environ: Mapping[str, str],
    store: SqliteStore,
    newest: Newest,
    credentials: CredentialStore,
    clock: SystemClock,
    channels: dict[str, Channel],
    first_session: str,
) -> House:
    host = Host(channels=channels)
    catalogue = NewestCatalogue(newest)
    feed = Feed()
    sessions = Sessions(store=store, feed=feed, clock=clock)
    config = newest.live.current.config

    def pushes(channel: str) -> bool:
        known = host.channels.get(channel)
        return known is not None and known.capabilities.pushes

    delivery = Delivery(
        sessions=sessions,
        channels=host.channels,
        clock=clock,
        may_send=lambda session, address: _may_send(newest.rules, session, address),
        prefix=lambda: newest.rules.response_prefix,
    )
    verdict = Verdicts(host, newest)
    calls = ToolCalls(sessions=sessions, tools=host.tools, decide=verdict.decide, clock=clock, limits=newest.rules.tool_limits)
    prompts = HousePrompts(
        documents=store.documents,
        tools=host.tools,
        clock=clock,
        rules=lambda: newest.rules,
        names=lambda agent: _name_of(newest, agent),
        pushes=pushes,
        first_session=first_session,
    )
    runner = Runner(
        sessions=sessions,
        model=NewestModel(newest),
        catalogue=catalogue,
        prompts=prompts,
        calls=calls,
        clock=clock,
        outgoing=delivery,
        rules=lambda: newest.rules.run,
    )
    lanes = Lanes(
        sessions=sessions,
        runner=runner,
        clock=clock,
        ids=SortableIds(),
        caps=lambda: newest.rules.caps,
        reset_reason=lambda item, last: _reset_reason(newest.rules, item, last, clock.now()),
        generation=lambda: newest.rules.generation,
        words=lambda item, previous: _words(newest, item, previous, pushes),
    )
    engine = Supervisor(
        store=store,
        sessions=sessions,
        lanes=lanes,
        delivery=delivery,
        feed=feed,
        clock=clock,
        channels=host.channels,
        drain_seconds=float(config.gateway.drain_seconds),
    )
    _register_builtins(host, engine, store, newest, clock)
    plugins = config.plugins
    if plugins.enabled:
        switches = {name: entry.enabled for name, entry in plugins.entries.items()}
        register_strangers(host, allow=plugins.allow, deny=plugins.deny, own=switches)
    engine.intake = Intake(
        sessions=sessions,
        lanes=lanes,
        delivery=delivery,
        channels=host.channels,
        desk=CommandDesk(
            commands=host.commands,
            controls=lambda: engine,
            catalogue=lambda: catalogue,
            rules=lambda: newest.rules.desk,
        ),
        clock=clock,
        rules=lambda: newest.rules.intake,
    )
    return House(
        engine=engine,
        store=store,
        newest=newest,
        catalogue=catalogue,
        credentials=credentials,
        environ=environ,
        home=home,
        host=host,
    )


def _register_builtins(host: Host, engine: Supervisor, store: SqliteStore, newest: Newest, clock: Clock) -> None:
    config = newest.live.current.config
    register_files(
        host,
        documents=store.documents,
        folder_of=folder_of,
        max_bytes=config.tools.result_max_bytes,
        is_private=is_private_place,
    )
    register_status(host, clock=clock, zone=newest.rules.zone, view=engine.view, shows_session=config.posture != "team")
    add_builtin_commands(host.add_command, version=__version__)


class Verdicts:
    """The verdict of the newest generation, with the policies that plugins added."""

    def __init__(self, host: Host, newest: Newest) -> None:
        self._host = host
        self._newest = newest
        self._made: tuple[Rules, Verdict] | None = None

    async def decide(self, action: Action) -> Decision:
        rules = self._newest.rules
        if self._made is None or self._made[0] is not rules:
            self._made = (rules, Verdict(self._host.policies, judge=rules.judge))
        return await self._made[1].decide(action)


def _may_send(rules: Rules, session: Session, address: Address) -> bool:
    place = place_of(session.key.scope)
    override = session.settings.get("send", "")
    return may_send(session.key, channel=address.channel, chat_type=place.source, policy=rules.send, override=override).allowed


def _reset_reason(rules: Rules, item: InboxItem, last_input_at: float, now: float) -> str:
    if item.context:
        return ""
    policy = rules.resets.policy_for(type_of(item.message), item.reply_to.channel)
    return expired(last_input_at, now, policy, rules.zone) or ""


def _words(newest: Newest, item: InboxItem, previous_at: float, pushes: Callable[[str], bool]) -> str:
    """Messages from channels carry an envelope; the owner's own at the terminal or the API are plain."""
    message = item.message
    if not pushes(message.address.channel):
        return message.text
    defaults = newest.live.current.config.agents.defaults
    envelope = Envelope(
        zone=newest.rules.zone,
        has_timestamp=defaults.envelope_timestamp == "on",
        has_elapsed=defaults.envelope_elapsed == "on",
    )
    return wrap(
        message.text,
        channel=message.address.channel,
        sender=str(message.sender),
        sender_name=message.sender_name,
        at=item.accepted_at,
        envelope=envelope,
        previous_at=previous_at,
    )


def _name_of(newest: Newest, agent: str) -> str:
    for each in newest.live.current.config.agents.list:
        if each.id == agent and (each.identity.name or each.name):
            return each.identity.name or each.name
    return "a personal assistant"


async def _fill_workspace(store: SqliteStore, clock: SystemClock, loaded: Loaded) -> None:
    if loaded.config.agents.defaults.skip_bootstrap:
        return
    existing = [version.path for version in await store.documents.list(BOOTSTRAP)]
    writes = setup_writes(existing, load_templates(), at=clock.now())
    if writes:
        await store.commit(writes)


async def _reload(home: Path, environ: Mapping[str, str], clock: SystemClock, newest: Newest, sources: Sources) -> None:
    async for change in watch(home, environ, clock=clock, current=newest.live.current):
        newest.take(change, sources)


async def _keep_house(store: SqliteStore, clock: SystemClock) -> None:
    while True:
        await clock.sleep(HOUSEKEEPING_SECONDS)
        try:
            await store.sweep(clock.now())
        except OstiaryError as error:
            log.warning("sweeping waits: %s", error)


@asynccontextmanager
async def open_engine(home: Path) -> AsyncIterator[Supervisor]:
    """The engine alone, for a command that needs no door."""
    async with open_house(home) as house:
        yield house.engine


@asynccontextmanager
async def open_reader(home: Path) -> AsyncIterator["SqliteReader"]:
    """Read what is stored, also while a gateway runs. Raises StoreRefused, StoreUnavailable."""
    key = load_or_create_key(home / STORE_KEY, unlocks=(home / STORE,))
    async with open_sqlite_reader(home / STORE, key) as reader:
        yield reader


async def run_gateway(home: Path, port: int | None, on_ready: Callable[[str], None]) -> None:
    """Serve until cancelled. `on_ready` is told the address once it listens. Raises as `open_house`, and BadInput."""
    from ostiary.adapters.egress import preload
    from ostiary.gateway.app import build_app
    from ostiary.gateway.limits import Limits
    from ostiary.gateway.server import serve

    async with open_house(home) as house:
        config = house.newest.live.current.config
        app = build_app(
            house.engine,
            token=house.token,
            catalogue=house.catalogue,
            agents=lambda: house.newest.rules.agents,
            store=house.store,
            facts=lambda: _facts(house),
            limits=Limits(body_bytes=config.gateway.max_body_bytes),
        )
        async with anyio.create_task_group() as group:

            def ready(url: str) -> None:
                on_ready(url)
                group.start_soon(anyio.to_thread.run_sync, preload)

            await serve(app, port=config.gateway.port if port is None else port, on_ready=ready)
            group.cancel_scope.cancel()


def _facts(house: House) -> Mapping[str, object]:
    problem = house.newest.live.problem
    return {
        "version": __version__,
        "home": str(house.home),
        "generation": house.newest.rules.generation,
        "config_problem": str(problem) if problem is not None else "",
        "agents": list(house.newest.rules.agents),
        "commands": [command.name for command in house.host.commands.all()],
    }
