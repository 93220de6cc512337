"""The assistant's hands: files, commands, the web. Everything they stand on is made here and given to them by ports."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import create_task_group

from ostiary.adapters.egress import Egress
from ostiary.adapters.sandbox.ownership import unprivileged_user
from ostiary.adapters.tools.browsing import register_browser
from ostiary.adapters.tools.diffs import unified
from ostiary.adapters.tools.shell import ExecRules, Processes, register_shell
from ostiary.adapters.tools.web import LinkReader, Reader, register_web
from ostiary.adapters.tools.writing import register_writing
from ostiary.adapters.workspace import DocumentWorkspace, WorkspaceLimits
from ostiary.assembly import web as web_config
from ostiary.assembly.browsing import LazyBrowser
from ostiary.assembly.builtin import Host
from ostiary.assembly.config.secret import SecretSource
from ostiary.assembly.newest import Newest
from ostiary.assembly.outlet import Outlet
from ostiary.assembly.prompting import MAIN, is_private_place
from ostiary.assembly.vault import VaultStore
from ostiary.assembly.vault_exec import WorkspaceExec
from ostiary.contracts.clock import Clock, Ids
from ostiary.contracts.content import UserPart
from ostiary.contracts.errors import OstiaryError, SandboxUnavailable
from ostiary.contracts.identity import OWNER, SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.sandbox import Sandbox
from ostiary.contracts.store import InboxItem
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.agent.links import links_in

if TYPE_CHECKING:
    from ostiary.adapters.sandbox import OwnedSandbox
    from ostiary.assembly.config.agents import Sandbox as SandboxConfig

log = logging.getLogger("ostiary.tools")

WORKSPACES = Path("workspaces")
UNUSED_SECONDS = 30 * 86_400.0
SANDBOX = Path("sandbox")


class RunningCommands:
    """The commands under way and the browser, as a kill sees them."""

    name = "processes"

    def __init__(self, processes: Processes, browser: LazyBrowser | None) -> None:
        self._processes = processes
        self._browser = browser

    def has_way_out(self) -> bool:
        """Whether a command is under way that reaches the network."""
        return self._processes.has_way_out

    async def stop_all(self, reason: str) -> int:
        ended = self._browser is not None and self._browser.end(reason)
        return await self._processes.end_all() + int(ended)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """`running` is what a kill stops. `attach` reads what a message points to. `outlet` knows what may be reached. `settled`
    returns when the documents hold what a session's commands have done so far. `exec` runs what the owner asks for over HTTP."""

    running: RunningCommands
    settled: Callable[[SessionKey], Awaitable[None]]
    exec: WorkspaceExec
    outlet: Outlet
    attach: Callable[[InboxItem], Awaitable[tuple[UserPart, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the hands stand on. `protected` gives the reason why a path is kept from them, empty if it is not; `reveal` gives
    a configured secret for one use, and `lent` is told its name and what for."""

    host: Host
    home: Path
    store: VaultStore
    newest: Newest
    clock: Clock
    ids: Ids
    egress: Egress
    environ: Mapping[str, str]
    protected: Callable[[str], str]
    reveal: Callable[[SecretSource], str]
    lent: Callable[[str, str], None]


@asynccontextmanager
async def open_hands(ground: Ground) -> AsyncIterator[Hands]:
    """Add the tools that act to the host, and keep what they need until the house closes."""
    async with AsyncExitStack() as stack:
        outlet = Outlet(ground.egress, ground.newest, ground.home)
        reader = _add_web(ground, outlet)
        workspace = _workspace(ground)
        fences = Fences(ground.home / SANDBOX, ground.newest, _sandbox_of(ground))
        stack.push_async_callback(fences.close)
        processes = await stack.enter_async_context(_shell(ground, outlet, workspace, fences))
        _add_writing(ground, processes)
        browser = _browser(ground, outlet)
        group = await stack.enter_async_context(create_task_group())
        group.start_soon(outlet.serve)
        group.start_soon(_recover, workspace, ground.clock)
        if browser is not None:
            group.start_soon(browser.hold)
        try:
            yield Hands(
                running=RunningCommands(processes, browser),
                settled=processes.settled,
                exec=WorkspaceExec(
                    workspace=workspace,
                    sandbox=fences.of,
                    proxy_socket=lambda: outlet.socket_of(OWNER),
                    store=ground.store,
                    clock=ground.clock,
                    ids=ground.ids,
                ),
                outlet=outlet,
                attach=_link_attacher(ground, outlet, reader),
            )
        finally:
            group.cancel_scope.cancel()


async def _recover(workspace: DocumentWorkspace, clock: Clock) -> None:
    """What commands of an earlier life had written and nobody had kept; then the directories that nobody came back to go."""
    try:
        for said in await workspace.recover(at=clock.now()):
            log.warning("a command was interrupted when the house went down; kept aside: %s", said)
        await workspace.tidy(unused_seconds=UNUSED_SECONDS, now=clock.now())
    except (OstiaryError, OSError) as error:
        log.warning("looking for files of interrupted commands waits for the next command: %s", error)


def _add_writing(ground: Ground, processes: Processes) -> None:
    register_writing(
        ground.host,
        documents=ground.store.documents,
        folder_of=folder_of,
        clock=ground.clock,
        is_private=is_private_place,
        protected=ground.protected,
        settled=processes.settled,
    )


def _add_web(ground: Ground, outlet: Outlet) -> Reader:
    tools, reader = ground.newest.live.current.config.tools, Reader()
    register_web(
        ground.host,
        egress=ground.egress,
        profile_of=outlet.profile_of,
        clock=ground.clock,
        reader=reader,
        fetch=web_config.fetch_settings(tools.web.fetch),
        search=web_config.search_settings(tools.web.search),
        engines=web_config.engines(tools.web.search, ground.reveal, ground.environ, ground.lent),
        max_bytes=tools.result_max_bytes,
    )
    return reader


def _link_attacher(ground: Ground, outlet: Outlet, reader: Reader) -> Callable[[InboxItem], Awaitable[tuple[UserPart, ...]]]:
    """The pages that the owner's message links to, as text nobody vouches for."""

    async def attach(item: InboxItem) -> tuple[UserPart, ...]:
        config = ground.newest.live.current.config
        settings = web_config.link_settings(config.tools.web.links)
        if settings is None or not item.principal.is_owner or item.untrusted_source or "://" not in item.message.text:
            return ()
        own = [f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]") for port in outlet.ports]
        links = links_in(item.message.text, own_hosts=own, most=settings.max_links)
        if not links:
            return ()
        return await LinkReader(outlet.profile_of, reader, settings).read(links, item.principal.role)

    return attach


def _browser(ground: Ground, outlet: Outlet) -> LazyBrowser | None:
    config = ground.newest.live.current.config.browser
    if not config.enabled:
        return None
    browser = LazyBrowser(config, outlet, ground.clock)
    register_browser(ground.host, pages=browser)
    return browser


def _sandbox_of(ground: Ground) -> "Callable[[SessionKey], SandboxConfig]":
    def sandbox_of(session: SessionKey) -> "SandboxConfig":
        agents = ground.newest.live.current.config.agents
        own = next((agent.sandbox for agent in agents.list if agent.id == session.agent), None)
        return own or agents.defaults.sandbox

    return sandbox_of


def _workspace(ground: Ground) -> DocumentWorkspace:
    sandbox_of = _sandbox_of(ground)
    limits = WorkspaceLimits()
    # What is taken from a command must fit a document.
    most = min(limits.file_bytes, ground.newest.live.current.config.vault.document_max_bytes)
    return DocumentWorkspace(
        ground.store.documents,
        ground.home / WORKSPACES,
        folder_of=folder_of,
        diff=lambda before, after, path, limit: unified(before, after, path, limit=limit),
        commit=ground.store.commit,
        scope=lambda session: sandbox_of(session).scope,
        protected=ground.protected,
        is_private=is_private_place,
        owner=_owner(),
        limits=replace(limits, file_bytes=most),
    )


@asynccontextmanager
async def _shell(ground: Ground, outlet: Outlet, workspace: DocumentWorkspace, fences: "Fences") -> AsyncIterator[Processes]:
    newest, sandbox_of = ground.newest, _sandbox_of(ground)

    async def is_busy(session: SessionKey) -> bool:
        return any(turn.session == session for turn in (await ground.store.pending()).turns)

    processes = Processes(workspace, clock=ground.clock, ids=ground.ids, is_busy=is_busy)

    def rules(session: SessionKey) -> ExecRules:
        tools = newest.live.current.config.tools
        return ExecRules(
            access=sandbox_of(session).workspace_access,
            seconds=float(tools.exec.timeout_sec),
            background_seconds=tools.exec.background_ms / 1000,
            result_bytes=tools.result_max_bytes,
            way_out=outlet.socket_of,
        )

    register_shell(
        ground.host,
        processes=processes,
        sandbox=fences.of,
        rules=rules,
        documents=ground.store.documents,
        folder_of=folder_of,
        clock=ground.clock,
        is_private=is_private_place,
    )
    async with processes.running():
        yield processes


class Fences:
    """The sandboxes by backend, each made when the first command needs it.

    Only the posture open has commands without a fence, in the sessions that its mode leaves out."""

    def __init__(self, state: Path, newest: Newest, sandbox_of: "Callable[[SessionKey], SandboxConfig]") -> None:
        self._state = state
        self._newest = newest
        self._sandbox_of = sandbox_of
        self._made: dict[tuple[str, str], OwnedSandbox] = {}

    def of(self, session: SessionKey) -> Sandbox:
        """Raises ConfigInvalid."""
        wanted = self._sandbox_of(session)
        is_fenced = wanted.mode == "all" or (wanted.mode == "non-main" and session.scope != MAIN)
        may_be_free = self._newest.live.current.config.posture == "open"
        backend = wanted.backend if is_fenced or not may_be_free else "host"
        key = (backend, wanted.image)
        if key not in self._made:
            from ostiary.adapters.sandbox import choose_sandbox

            self._made[key] = choose_sandbox(
                backend, state=self._state, image=wanted.image, i_accept_no_fence=may_be_free and not is_fenced
            )
        return self._made[key]

    async def close(self) -> None:
        for sandbox in self._made.values():
            await sandbox.aclose()


def _owner() -> tuple[int, int] | None:
    """Whom commands run as, where that is not ourselves."""
    try:
        uid = unprivileged_user()
    except SandboxUnavailable as error:
        log.warning("%s %s", error, error.hint)
        return None
    return None if uid is None else (uid, uid)
