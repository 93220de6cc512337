"""The built-in fence of Linux: bubblewrap, a system-call filter and limits. Never less: what cannot be fenced is not run."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio

from ostiary.adapters.sandbox import environment, view
from ostiary.adapters.sandbox.cold import start_cold
from ostiary.adapters.sandbox.instructions import failed
from ostiary.adapters.sandbox.machine import Machine, examine, hand_over
from ostiary.adapters.sandbox.order import Order
from ostiary.adapters.sandbox.probe import try_canaries
from ostiary.adapters.sandbox.running import Running, Tree
from ostiary.adapters.sandbox.served import Server, ServerGone
from ostiary.adapters.sandbox.servers import Servers
from ostiary.adapters.sandbox.view import Source
from ostiary.contracts.errors import ToolError
from ostiary.contracts.sandbox import Command, Exit, Process, SandboxProfile

_IDLE_SECONDS = 60.0
_MOST_SERVERS = 4
_MOST_BYTES = 120 * 1024


class Bubblewrap:
    """A Sandbox. `state` is a directory of ours alone: the fork server's program and the canaries lie there.

    Without `fork_server` none is kept and each command gets a sandbox of its own. Without `native` nothing compiled is used."""

    name = "bubblewrap"

    def __init__(
        self,
        *,
        state: Path,
        fork_server: bool = True,
        native: bool = True,
        idle_seconds: float = _IDLE_SECONDS,
        most_servers: int = _MOST_SERVERS,
    ) -> None:
        self._state = state
        self._native = native
        self._servers = Servers(most=most_servers if fork_server else 0, idle_seconds=idle_seconds)
        self._machine: Machine | None = None
        self._probing = anyio.Lock()

    async def probe(self) -> None:
        await self._examined()

    async def run(self, command: Command, profile: SandboxProfile, *, on_output: Callable[[bytes], None] | None = None) -> Exit:
        return await self._run(await self._examined(), command, profile, on_output)

    def start(self, command: Command, profile: SandboxProfile) -> AbstractAsyncContextManager[Process]:
        return self._start(command, profile)

    async def aclose(self) -> None:
        """End every fork server, and with them every run."""
        if self._machine is not None:
            self._forget(self._machine)
        self._machine = None

    def _forget(self, machine: Machine) -> None:
        self._servers.close()
        machine.close()

    @asynccontextmanager
    async def _start(self, command: Command, profile: SandboxProfile) -> AsyncIterator[Process]:
        async with await self._begin(await self._examined(), command, profile, interactive=True) as process:
            yield process

    async def _run(
        self, machine: Machine, command: Command, profile: SandboxProfile, on_output: Callable[[bytes], None] | None = None
    ) -> Exit:
        async with await self._begin(machine, command, profile, on_output=on_output) as process:
            return await process.wait()

    async def _examined(self) -> Machine:
        """Once, before the first command: the way commands will take is tried on canaries."""
        if self._machine is not None:
            return self._machine
        async with self._probing:
            if self._machine is None:
                found = await anyio.to_thread.run_sync(lambda: examine(self._state, native=self._native))
                try:
                    await self._try(found)
                except BaseException:
                    self._forget(found)
                    raise
                self._machine = found
            return self._machine

    async def _try(self, machine: Machine) -> None:
        await try_canaries(partial(self._run, machine), self._state, known=(*view.PLACES, "/workspace"))
        # The canaries are gone, and with them the use of a server that holds them.
        self._servers.close()

    async def _begin(
        self,
        machine: Machine,
        command: Command,
        profile: SandboxProfile,
        *,
        interactive: bool = False,
        on_output: Callable[[bytes], None] | None = None,
    ) -> Running:
        """A command that runs, for the caller to finish."""
        _check(command, profile)
        order = Order(command=command, profile=profile, environment=environment.inside(command, profile), interactive=interactive)
        give_back: Callable[[], None] | None = None
        tree: Tree
        with ExitStack() as held:
            sources = view.open_sources(profile, held)
            hand_over(machine, sources, profile)
            if machine.fence is None:
                tree = await start_cold(machine, sources, order)
            else:
                server, tree = await self._through_server(machine, sources, order)
                give_back = partial(self._servers.give_back, server)
        return Running(
            tree,
            profile.limits,
            stdin=command.stdin,
            interactive=interactive,
            on_output=on_output,
            disk=next((mount.source for mount in profile.mounts if mount.writable), ""),
            then=give_back,
        )

    async def _through_server(self, machine: Machine, sources: tuple[Source, ...], order: Order) -> tuple[Server, Tree]:
        """One that is kept may end just before it is asked: then another is started, for nothing has happened yet."""
        home = environment.home(order.profile)
        server = await self._servers.take(machine, sources, order.profile, home)
        try:
            return server, await server.start(order)
        except ServerGone:
            self._servers.drop(server)
        except BaseException:
            self._servers.give_back(server)
            raise
        server = await self._servers.take(machine, sources, order.profile, home, fresh=True)
        try:
            return server, await server.start(order)
        except ServerGone as error:
            self._servers.drop(server)
            raise failed("the fork server ended") from error
        except BaseException:
            self._servers.give_back(server)
            raise


def _check(command: Command, profile: SandboxProfile) -> None:
    """Raises ToolError for what the kernel could not be told."""
    words = (*command.argv, profile.workdir)
    if not command.argv or not command.argv[0]:
        raise ToolError("There is no command.")
    for word in words:
        if "\0" in word:
            raise ToolError("A command cannot hold a NUL character.")
        if len(word.encode(errors="surrogateescape")) > _MOST_BYTES:
            raise ToolError("The command is too long; put it into a file and run that.")
    if not profile.workdir.startswith("/"):
        raise ToolError("The working directory must be an absolute path inside the sandbox.")
