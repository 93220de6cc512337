"""The built-in fence of Linux: bubblewrap, a system-call filter and limits. Never less: what cannot be fenced is not run."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from pathlib import Path

import anyio

from ostiary.adapters.sandbox import environment, view
from ostiary.adapters.sandbox.cold import start_cold
from ostiary.adapters.sandbox.machine import Machine, examine, hand_over
from ostiary.adapters.sandbox.probe import try_canaries
from ostiary.adapters.sandbox.running import Running, Tree, running
from ostiary.adapters.sandbox.served import Server, ServerGone
from ostiary.adapters.sandbox.servers import Servers
from ostiary.adapters.sandbox.view import Source
from ostiary.contracts.errors import ToolError
from ostiary.contracts.sandbox import Command, Exit, Process, SandboxProfile

_IDLE_SECONDS = 60.0
_MOST_SERVERS = 4
_MOST_BYTES = 120 * 1024


class Bubblewrap:
    """A Sandbox. `state` is a directory of ours alone: the fork server's program and the canaries lie there."""

    name = "bubblewrap"

    def __init__(
        self, *, state: Path, fork_server: bool = True, idle_seconds: float = _IDLE_SECONDS, most_servers: int = _MOST_SERVERS
    ) -> None:
        self._state = state
        self._fork_server = fork_server
        self._servers = Servers(most=most_servers, idle_seconds=idle_seconds)
        self._machine: Machine | None = None
        self._probing = anyio.Lock()

    async def probe(self) -> None:
        await self._examined()

    async def run(self, command: Command, profile: SandboxProfile, *, on_output: Callable[[bytes], None] | None = None) -> Exit:
        machine = await self._examined()
        async with self._started(machine, command, profile, interactive=False, on_output=on_output) as process:
            return await process.wait()

    def start(self, command: Command, profile: SandboxProfile) -> AbstractAsyncContextManager[Process]:
        return self._start(command, profile)

    async def aclose(self) -> None:
        """End every fork server, and with them every run."""
        if self._machine is not None:
            self._forget(self._machine)
        self._machine = None

    def _forget(self, machine: Machine) -> None:
        self._servers.close()
        if machine.groups is not None:
            machine.groups.close()

    @asynccontextmanager
    async def _start(self, command: Command, profile: SandboxProfile) -> AsyncIterator[Process]:
        machine = await self._examined()
        async with self._started(machine, command, profile, interactive=True, on_output=None) as process:
            yield process

    async def _examined(self) -> Machine:
        """Once, before the first command: every way a command can take is tried on canaries."""
        async with self._probing:
            if self._machine is None:
                found = await anyio.to_thread.run_sync(lambda: examine(self._state, fork_server=self._fork_server))
                try:
                    await self._try(found)
                except BaseException:
                    self._forget(found)
                    raise
                self._machine = found
            return self._machine

    async def _try(self, machine: Machine) -> None:
        for served in (True, False):
            if served and machine.program is None:
                continue

            async def run(command: Command, profile: SandboxProfile, served: bool = served) -> Exit:
                async with self._started(machine, command, profile, interactive=False, on_output=None, served=served) as process:
                    return await process.wait()

            await try_canaries(run, self._state)
        # The canaries are gone, and with them the use of a server that holds them.
        self._servers.close()

    @asynccontextmanager
    async def _started(
        self,
        machine: Machine,
        command: Command,
        profile: SandboxProfile,
        *,
        interactive: bool,
        on_output: Callable[[bytes], None] | None,
        served: bool = True,
    ) -> AsyncIterator[Running]:
        inside = environment.inside(command, profile)
        _check(command, profile)
        server: Server | None = None
        with ExitStack() as held:
            sources = view.open_sources(profile, held)
            hand_over(machine, sources, profile)
            tree: Tree | None = None
            if served and machine.program is not None:
                server, tree = await self._through_server(machine, sources, command, profile, inside, interactive=interactive)
            if tree is None:
                tree = await start_cold(machine, sources, command, profile, inside, interactive=interactive)
        disk = next((mount.source for mount in profile.mounts if mount.writable), "")
        try:
            async with running(
                tree, profile.limits, stdin=command.stdin, interactive=interactive, on_output=on_output, disk=disk
            ) as process:
                yield process
        finally:
            if server is not None:
                server.busy -= 1

    async def _through_server(
        self,
        machine: Machine,
        sources: tuple[Source, ...],
        command: Command,
        profile: SandboxProfile,
        inside: environment.Environment,
        *,
        interactive: bool,
    ) -> tuple[Server | None, Tree | None]:
        """Nothing if no server is free, or if the one we had is gone: the command then gets a sandbox of its own."""
        server = await self._servers.get(machine, sources, profile, environment.home(profile))
        if server is None:
            return None, None
        server.busy += 1
        try:
            return server, await server.start(command, profile, inside, interactive=interactive)
        except ServerGone:
            server.busy -= 1
            self._servers.drop(server)
            return None, None
        except BaseException:
            server.busy -= 1
            raise


def _check(command: Command, profile: SandboxProfile) -> None:
    """Raises ToolError for what the kernel could not be told."""
    words = (*command.argv, profile.workdir)
    if not command.argv or not command.argv[0]:
        raise ToolError("There is no command.")
    if any("\0" in word for word in words):
        raise ToolError("A command cannot hold a NUL character.")
    if any(len(word.encode(errors="surrogateescape")) > _MOST_BYTES for word in words):
        raise ToolError("The command is too long; put it into a file and run that.")
    if not profile.workdir.startswith("/"):
        raise ToolError("The working directory must be an absolute path inside the sandbox.")
