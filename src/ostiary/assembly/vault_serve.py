"""The vault as a process of its own: it alone holds the store, the index and the embedder, and serves them to its clients."""

import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from ostiary import __version__
from ostiary.adapters.credentials import Credential, CredentialStore, Secret
from ostiary.adapters.store.remote import Answering
from ostiary.adapters.store.remote.calls import PATH
from ostiary.assembly.audit import Note, Seldom
from ostiary.assembly.config.load import load
from ostiary.assembly.config.schema import Config
from ostiary.assembly.config.secret import environment, resolve
from ostiary.assembly.credential_key import credentials_key, open_credentials
from ostiary.assembly.keys import store_key
from ostiary.assembly.machine import SystemClock
from ostiary.assembly.vault import VAULT_TOKEN, OwnVault, Vault, open_embedded
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput, OstiaryError, StoreUnavailable
from ostiary.contracts.search import Embedder
from ostiary.contracts.store import Audit, Store
from ostiary.gateway.app import Door, Pages
from ostiary.gateway.asgi import Receive, Scope, Send, read_body
from ostiary.gateway.auth import AccessRules, Gate, caller_of, check_secret_strength, require
from ostiary.gateway.auth.callers import Caller, owner
from ostiary.gateway.limits import Limits
from ostiary.gateway.vault_api import VaultDesk, vault_pages

if TYPE_CHECKING:
    from ostiary.adapters.egress import Egress

log = logging.getLogger("ostiary.vault")

SWEEP_SECONDS = 3600.0
_DRAIN_SECONDS = 5
_RPC_SECONDS = 300.0
_RPC_SPARE = 64_000_000
_LONGEST_NAME = 400


class SocketGate(Gate):
    """On the unix socket: the system lets nobody open it but this user, so whoever speaks is the owner."""

    def identify(self, scope: Scope) -> Caller:
        caller = owner("local")
        scope["ostiary.caller"] = caller
        self.came_in(caller.id, "socket")
        return caller


async def run_vault(
    home: Path,
    on_ready: Callable[[str], None],
    *,
    socket: str = "",
    host: str = "",
    port: int | None = None,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Serve until cancelled; where, says the configuration unless it is said here. `on_ready` is told the address.

    Installs no signal handlers. Raises ConfigInvalid, StoreRefused (another process holds it, ...), StoreUnavailable, BadInput
    for an address that cannot be had or a token that protects nobody."""
    from ostiary.assembly.logging import log_to_file
    from ostiary.gateway.server import serve

    environ = os.environ if environ is None else environ
    loaded = load(home, environ)
    to = loaded.config.logging
    log_to_file(home / "logs" / "vault.log", level=to.level, max_bytes=to.max_bytes, keep=to.keep)
    where = loaded.config.vault.serve
    path = _expanded(socket or ("" if host or port is not None else where.socket))
    async with open_serving(home, loaded.config, environ, is_unix=bool(path)) as app:

        def ready(url: str) -> None:
            log.info("version %s serves the vault of %s at %s", __version__, home, url)
            on_ready(url)

        await serve(
            app,
            host=host or where.host,
            port=where.port if port is None else port,
            on_ready=ready,
            drain_seconds=_DRAIN_SECONDS,
            unix=path,
        )


@asynccontextmanager
async def open_serving(home: Path, config: Config, environ: Mapping[str, str], *, is_unix: bool) -> AsyncIterator[Door]:
    """The vault, opened, behind its door. Raises as `run_vault`."""
    clock = SystemClock()
    credentials = _credentials(home)
    token = _token(config, environ, credentials)
    key = store_key(home, config)
    credentials_key(home, key)
    async with AsyncExitStack() as stack:
        from ostiary.adapters.egress import Egress

        egress = await stack.enter_async_context(Egress())
        embedder = _embedder(config, clock, egress, environ, credentials)
        vault = await stack.enter_async_context(open_embedded(home, key, clock=clock, config=config, embedder=embedder))
        group = await stack.enter_async_context(anyio.create_task_group())
        group.start_soon(vault.search.run)
        group.start_soon(_keep_swept, vault, clock)
        noted = Seldom(_noting(group, vault.store, clock), clock.monotonic)
        rules = AccessRules(hosts=_hosts(config))
        gate = SocketGate(lambda: "", noted=noted) if is_unix else Gate(lambda: token, rules=lambda: rules, noted=noted)
        try:
            yield Door(gate, pages=_pages(vault, config, clock))
        finally:
            group.cancel_scope.cancel()


def _noting(group: TaskGroup, store: Store, clock: Clock) -> Note:
    """Straight into the log: the checkpoints of its head are the gateway's to keep."""

    async def write(row: Audit) -> None:
        with anyio.CancelScope(shield=True):
            try:
                await store.commit([row])
            except OstiaryError as error:
                log.error("a note of kind %s was not written to the audit log: %s", row.kind, error)

    def note(kind: str, actor: str, subject: str, outcome: str, detail: Mapping[str, object] | None = None, /) -> None:
        by = actor[:_LONGEST_NAME].encode("utf-8", "replace").decode()
        row = Audit(at=clock.now(), kind=kind, actor=by, subject=f"vault {subject}", outcome=outcome, detail=detail or {})
        group.start_soon(write, row)

    return note


def _pages(vault: OwnVault, config: Config, clock: Clock) -> Pages:
    from ostiary.adapters.tools.diffs import unified

    began = clock.monotonic()
    desk = VaultDesk(
        store=vault.store,
        documents=vault.store.documents,
        search=vault.search,
        embedder=vault.embedder,
        clock=clock,
        diff=lambda old, new, path: unified(old, new, path, limit=100_000),
        reindex=vault.search.ask_reindex,
        document_bytes=config.vault.document_max_bytes,
        facts=lambda: {"version": __version__, "uptime": round(clock.monotonic() - began, 1), "process": "vault"},
    )
    answering = Answering(vault.store, vault.search, vault.embedder)
    limits = Limits(body_bytes=config.vault.document_max_bytes + _RPC_SPARE, body_seconds=_RPC_SECONDS)

    async def rpc(scope: Scope, receive: Receive, send: Send) -> None:
        require(caller_of(scope), "admin")
        answer = await answering.answer(await read_body(scope, receive, limits))
        headers = [(b"content-type", b"application/msgpack"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return {**vault_pages(desk), PATH: {"POST": rpc}}


def _expanded(path: str) -> str:
    return str(Path(path).expanduser()) if path else ""


def _credentials(home: Path) -> CredentialStore:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        hint = "Set OSTIARY_HOME to a directory that is yours."
        raise StoreUnavailable(f"the state directory {home} cannot be made: {error.strerror}", hint=hint) from None
    return open_credentials(home)


def _token(config: Config, environ: Mapping[str, str], credentials: CredentialStore) -> str:
    """The configured one, else the one made at the first start."""
    if config.vault.token is not None:
        token = resolve(config.vault.token, environ, credentials).reveal()
    else:
        if credentials.reveal(VAULT_TOKEN) is None:
            credentials.set(Credential(name=VAULT_TOKEN, kind="token", value=Secret(secrets.token_urlsafe(32))))
        made = credentials.reveal(VAULT_TOKEN)
        token = made.reveal() if made is not None else ""
    problem = check_secret_strength(token)
    if problem:
        raise BadInput(f"vault.token cannot be used. {problem}", hint="Remove it: a good one is made at the next start.")
    return token


def _embedder(
    config: Config, clock: Clock, egress: "Egress", environ: Mapping[str, str], credentials: CredentialStore
) -> Embedder | None:
    from ostiary.assembly.memory import embedder_of

    return embedder_of(config.memory, clock, egress, environment(config.env, environ, credentials), credentials)


def _hosts(config: Config) -> frozenset[str]:
    return frozenset({config.vault.serve.host.lower()})


async def _keep_swept(vault: Vault, clock: Clock) -> None:
    while True:
        await clock.sleep(SWEEP_SECONDS)
        try:
            await vault.store.sweep(clock.now())
        except OstiaryError as error:
            log.warning("sweeping waits: %s", error)
