"""The assistant's hands: files, commands, the web. Everything they stand on is made here and given to them by ports."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ostiary.adapters.sandbox.ownership import unprivileged_user
from ostiary.adapters.store.sqlite import SqliteStore
from ostiary.adapters.tools.diffs import unified
from ostiary.adapters.tools.shell import ExecRules, Processes, register_shell
from ostiary.adapters.tools.writing import register_writing
from ostiary.adapters.workspace import DocumentWorkspace
from ostiary.assembly.builtin import Host
from ostiary.assembly.newest import Newest
from ostiary.assembly.prompting import is_private_place
from ostiary.contracts.clock import Clock, Ids
from ostiary.contracts.errors import SandboxUnavailable
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.sandbox import Sandbox
from ostiary.core.agent.bootstrap import folder_of

if TYPE_CHECKING:
    from ostiary.adapters.sandbox.bubblewrap import Bubblewrap
    from ostiary.assembly.config.agents import Sandbox as SandboxConfig

log = logging.getLogger("ostiary.tools")

WORKSPACES = Path("workspaces")
SANDBOX = Path("sandbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What has something running: a kill stops it."""

    processes: Processes


class RunningCommands:
    """The commands under way, as a kill sees them."""

    name = "processes"

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def stop_all(self, reason: str) -> int:
        return await self._processes.end_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the hands stand on. `protected` gives the reason why a path is kept from them, empty if it is not."""

    host: Host
    home: Path
    store: SqliteStore
    newest: Newest
    clock: Clock
    ids: Ids
    protected: Callable[[str], str]


@asynccontextmanager
async def open_hands(ground: Ground) -> AsyncIterator[Hands]:
    """Add the tools that act to the host, and keep what they need until the house closes."""
    async with AsyncExitStack() as stack:
        _add_writing(ground)
        processes = await stack.enter_async_context(_shell(ground))
        yield Hands(processes=processes)


def _add_writing(ground: Ground) -> None:
    register_writing(
        ground.host,
        documents=ground.store.documents,
        folder_of=folder_of,
        clock=ground.clock,
        is_private=is_private_place,
        protected=ground.protected,
    )


@asynccontextmanager
async def _shell(ground: Ground) -> AsyncIterator[Processes]:
    newest = ground.newest

    def sandbox_of(session: SessionKey) -> "SandboxConfig":
        agents = newest.live.current.config.agents
        own = next((agent.sandbox for agent in agents.list if agent.id == session.agent), None)
        return own or agents.defaults.sandbox

    workspace = DocumentWorkspace(
        ground.store.documents,
        ground.home / WORKSPACES,
        folder_of=folder_of,
        diff=lambda before, after, path, limit: unified(before, after, path, limit=limit),
        scope=lambda session: sandbox_of(session).scope,
        protected=ground.protected,
        is_private=is_private_place,
        owner=_owner(),
    )
    processes = Processes(workspace, clock=ground.clock, ids=ground.ids)
    fences = Fences(ground.home / SANDBOX)

    def rules(session: SessionKey) -> ExecRules:
        tools = newest.live.current.config.tools
        return ExecRules(
            access=sandbox_of(session).workspace_access,
            seconds=float(tools.exec.timeout_sec),
            background_seconds=tools.exec.background_ms / 1000,
            result_bytes=tools.result_max_bytes,
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
        try:
            yield processes
        finally:
            await fences.close()


class Fences:
    """The sandbox, made when the first command is run."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._made: Bubblewrap | None = None

    def of(self, session: SessionKey) -> Sandbox:
        if self._made is None:
            from ostiary.adapters.sandbox.bubblewrap import Bubblewrap

            self._made = Bubblewrap(state=self._state)
        return self._made

    async def close(self) -> None:
        if self._made is not None:
            await self._made.aclose()


def _owner() -> tuple[int, int] | None:
    """Whom commands run as, where that is not ourselves."""
    try:
        uid = unprivileged_user()
    except SandboxUnavailable as error:
        log.warning("%s %s", error, error.hint)
        return None
    return None if uid is None else (uid, uid)
