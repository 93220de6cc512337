"""Builds the door of a house: the gate with its books, the pages, the sockets, the web app."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ostiary import __version__
from ostiary.adapters.gateway_db import SharedGatewayDb, open_gateway_db
from ostiary.assembly.audit import Seldom
from ostiary.assembly.hooks import HookDoor
from ostiary.assembly.house import GATEWAY_DB as GATEWAY_DB
from ostiary.assembly.house import House
from ostiary.assembly.operations import Operations
from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass
from ostiary.gateway.addresses import own_addresses
from ostiary.gateway.app import Door, Pages, api_session
from ostiary.gateway.asgi import App
from ostiary.gateway.auth import AccessRules, FailureRules, Gate, check_secret_strength
from ostiary.gateway.auth.pages import auth_pages
from ostiary.gateway.auth.secret import is_template
from ostiary.gateway.blobs import PATH as BLOBS
from ostiary.gateway.blobs import Blobs
from ostiary.gateway.house import House as OwnPages
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api.choosing import Desk
from ostiary.gateway.openai_api.pages import openai_pages
from ostiary.gateway.socket.lazy import LateSocket
from ostiary.gateway.ui import ui_pages
from ostiary.gateway.vault_api import VaultDesk, vault_pages

if TYPE_CHECKING:
    from ostiary.gateway.socket.app import Socket
    from ostiary.gateway.socket.limits import SocketLimits

log = logging.getLogger("ostiary.gateway")

VAULT_DIFF = 100_000
ADDRESSES_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """The door and what must run beside it: the sockets, the books, the figures."""

    app: Door
    gate: Gate
    socket: LateSocket
    operations: Operations
    place: "Place"


@dataclass(slots=True)
class Place:
    """Where the gateway is reached; known once it listens."""

    url: str = ""


@asynccontextmanager
async def open_entrance(house: House, *, run_token: str) -> AsyncIterator[Entrance]:
    """Raises BadInput for a token that cannot be read or protects nobody, StoreError."""
    check_token(house)
    from ostiary.assembly.keys import store_key

    key = store_key(house.home, house.newest.live.current.config)
    async with open_gateway_db(house.home / GATEWAY_DB, key) as books:
        yield _entrance(house, books, run_token)


def check_token(house: House) -> None:
    """A placeholder never opens a door. A weak token is said once while only this machine can try it, and refused beyond."""
    token = house.read_token()
    problem = check_secret_strength(token)
    if not problem:
        return
    if is_template(token) or house.newest.live.current.config.gateway.bind != "loopback":
        raise BadInput(f"gateway.auth.token cannot be used. {problem}", hint="Remove it: a good one is made at the next start.")
    log.warning("gateway.auth.token is weak. %s", problem)


def _entrance(house: House, books: SharedGatewayDb, run_token: str) -> Entrance:
    config = house.newest.live.current.config
    limits = Limits(body_bytes=config.gateway.max_body_bytes, body_seconds=config.gateway.body_timeout_ms / 1000)
    gate = Gate(
        house.token,
        limits,
        run_token=run_token,
        password=house.password,
        rules=NewestAccess(house),
        failure_rules=lambda: _failure_rules(house),
        books=books,
        noted=Seldom(house.auditor.note, house.clock.monotonic),
    )
    base = config.gateway.control_ui.base_path
    ui = ui_pages(base, enabled=config.gateway.control_ui.enabled)
    hooks = HookDoor(house, gate)

    def find_open(path: str) -> App | None:
        return ui if ui.owns(path) else hooks.page(path)

    sockets: list[Socket] = []
    place = Place()

    def make_socket() -> "Socket":
        sockets.append(_socket(house, gate, books, place))
        return sockets[0]

    def people() -> tuple[int, int]:
        # The gateway itself is in the list of those present.
        counts = [(len(each.hub.audience.everybody), len(each.hub.presence.list()) - 1) for each in sockets]
        return counts[0] if counts else (0, 0)

    socket = LateSocket(make_socket)
    operations = Operations(house, people)
    ready = operations.readiness.page
    app = Door(
        gate,
        pages={**_pages(house, limits), "/metrics": {"GET": operations.metrics}},
        open_pages={**auth_pages(gate), "/readyz": {"GET": ready, "HEAD": ready}},
        find_open=find_open,
        socket=socket,
        base=base,
        limits=limits,
    )
    return Entrance(app=app, gate=gate, socket=socket, operations=operations, place=place)


def _pages(house: House, limits: Limits) -> Pages:
    own = OwnPages(engine=house.engine, store=house.store, facts=lambda: facts_of(house), limits=limits)
    blobs = Blobs(store=house.store, redact=house.guard.redact)
    desk = Desk(
        engine=house.engine,
        catalogue=house.catalogue,
        agents=lambda: house.newest.rules.agents,
        session_for=api_session,
        limits=limits,
        now=house.clock.now,
        store=house.store,
        question=lambda approval: _question(house, approval),
    )

    def is_on(name: str) -> bool:
        endpoints = house.newest.live.current.config.gateway.http.endpoints
        named = {"responses": endpoints.responses, "embeddings": endpoints.embeddings}
        return named.get(name, endpoints.chat_completions).enabled

    return {
        **openai_pages(desk, is_on, house.vault.embedder),
        **vault_pages(_vault_desk(house)),
        BLOBS: {"POST": blobs.put},
        f"{BLOBS}/*": {"GET": blobs.get, "HEAD": blobs.get},
        "/v1/ostiary/status": {"GET": own.status},
        "/v1/ostiary/sessions": {"GET": own.sessions},
        "/v1/ostiary/session": {"GET": own.session},
        "/v1/ostiary/stop": {"POST": own.stop},
    }


def _vault_desk(house: House) -> VaultDesk:
    from ostiary.adapters.tools.diffs import unified

    began = house.clock.monotonic()
    return VaultDesk(
        store=house.store,
        documents=house.store.documents,
        search=house.vault.search,
        embedder=house.vault.embedder,
        clock=house.clock,
        diff=lambda old, new, path: unified(old, new, path, limit=VAULT_DIFF),
        memory=house.memory,
        exec=house.exec,
        redact=house.guard.redact,
        reindex=house.vault.search.ask_reindex,
        document_bytes=house.newest.live.current.config.vault.document_max_bytes,
        facts=lambda: {"version": __version__, "uptime": round(house.clock.monotonic() - began, 1), "process": "gateway"},
    )


def _socket(house: House, gate: Gate, books: SharedGatewayDb, place: Place) -> "Socket":
    from ostiary.assembly.change_desk import ChangesAtDesk
    from ostiary.assembly.desks import ConfigurationAtDesk, ModelsAtDesk, SessionsAtDesk
    from ostiary.assembly.memory_desk import MemoryAtDesk
    from ostiary.assembly.policy_desk import PolicyAtDesk
    from ostiary.assembly.vault_desk import VaultAtDesk
    from ostiary.gateway.auth.sockets import SocketDevices, SocketMemory, socket_gate
    from ostiary.gateway.methods.services import Services
    from ostiary.gateway.socket.app import Socket

    documents = house.store.documents
    to = house.newest.live.current.config.logging
    log_file = Path(to.file) if to.file else house.home / "logs" / "ostiary.log"
    services = Services(
        engine=house.engine,
        store=house.store,
        catalogue=house.catalogue,
        clock=house.clock,
        version=__version__,
        facts=lambda: facts_of(house),
        agents=lambda: house.newest.rules.agents,
        commands=house.host.commands.all,
        problems=lambda: problems_of(house),
        log_file=lambda: log_file,
        sessions=SessionsAtDesk(engine=house.engine, sessions=house.sessions, lanes=house.lanes, search=house.vault.search),
        models=ModelsAtDesk(
            home=house.home,
            environ=house.environ,
            newest=house.newest,
            credentials=house.credentials,
            apply=house.apply,
            now=house.clock.now,
        ),
        config=ConfigurationAtDesk(
            home=house.home,
            environ=house.environ,
            newest=house.newest,
            credentials=house.credentials,
            apply_loaded=house.apply,
        ),
        devices=SocketDevices(gate.desk, lambda: place.url),
        control=house.control_desk,
        policy=PolicyAtDesk(
            config=lambda: house.newest.live.current.config,
            specs=lambda: {name: tool.spec for name, tool in house.host.tools.items()},
            steps=house.verdict.explain,
        ),
        approvals=house.approvals,
        changes=ChangesAtDesk(changes=house.changes, documents=house.store.documents, redact=house.guard.redact),
        vault=VaultAtDesk(store=house.store, documents=documents, search_index=house.vault.search, clock=house.clock),
        memory=MemoryAtDesk(memory=house.memory, store=house.store, documents=documents, search_index=house.vault.search),
        audit_log=house.auditor.log,
        started_at=house.clock.now(),
    )
    return Socket(
        services,
        identify=socket_gate(gate),
        watch=lambda: house.engine.watcher(""),
        memory=SocketMemory(books, house.clock.now),
        revocations=gate.watch_revocations,
        limits=_socket_limits(house),
    )


def _question(house: House, approval: str) -> object:
    import msgspec

    from ostiary.gateway.methods.approvals import question_of

    found = question_of(house.approvals, approval)
    return msgspec.to_builtins(found) if found is not None else None


def _socket_limits(house: House) -> "SocketLimits":
    from ostiary.gateway.socket.limits import SocketLimits

    gateway = house.newest.live.current.config.gateway
    return SocketLimits(
        max_payload=gateway.max_payload_bytes,
        max_buffered=gateway.max_buffered_bytes,
        tick_seconds=gateway.tick_interval_ms / 1000,
    )


class NewestAccess:
    """The access rules of the newest configuration, made once for it: every request asks for them several times. Which addresses
    this machine has is looked up again after a while."""

    __slots__ = ("_gateway", "_house", "_rules", "_until")

    def __init__(self, house: House) -> None:
        self._house = house
        self._gateway: object = None
        self._until = 0.0
        self._rules = AccessRules()

    def __call__(self) -> AccessRules:
        gateway, now = self._house.newest.live.current.config.gateway, self._house.clock.monotonic()
        if gateway is not self._gateway or now >= self._until:
            self._rules = access_rules(self._house)
            self._gateway, self._until = gateway, now + ADDRESSES_SECONDS
        return self._rules


def access_rules(house: House) -> AccessRules:
    gateway = house.newest.live.current.config.gateway
    hosts = frozenset(name.lower() for name in gateway.allowed_hosts)
    if gateway.bind != "loopback":
        hosts |= frozenset(own_addresses())
    return AccessRules(
        mode=gateway.auth.mode,
        hosts=hosts,
        base_path=gateway.control_ui.base_path,
        trusted_proxies=gateway.trusted_proxies,
    )


def _failure_rules(house: House) -> FailureRules:
    limit = house.newest.live.current.config.gateway.auth.rate_limit
    return FailureRules(attempts=limit.max_attempts, window=limit.window_ms / 1000, lockout=limit.lockout_ms / 1000)


def facts_of(house: House) -> Mapping[str, object]:
    problem = house.newest.live.problem
    return {
        "version": __version__,
        "home": str(house.home),
        "generation": house.newest.rules.generation,
        "config_problem": str(problem) if problem is not None else "",
        "agents": list(house.newest.rules.agents),
        "commands": [command.name for command in house.host.commands.all()],
    }


def problems_of(house: House) -> list[str]:
    """What the owner should know: a configuration that is not in force, models that cannot be used."""
    problem = house.newest.live.problem
    found = [str(problem)] if problem is not None else []
    return [*found, *house.newest.models.catalogue.problems(house.newest.rules.agents)]
