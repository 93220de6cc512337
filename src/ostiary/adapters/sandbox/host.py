"""No fence at all: for the posture `open`, whose owner has said so in as many words."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from ostiary.adapters.sandbox import environment
from ostiary.adapters.sandbox.plain import on_host, start_plain
from ostiary.adapters.sandbox.running import Running
from ostiary.adapters.sandbox.waits import awaiting
from ostiary.contracts.errors import SandboxUnavailable
from ostiary.contracts.sandbox import Command, Exit, Process, SandboxProfile


class Host:
    """A Sandbox in name only: time, output and the end of the whole tree are kept, nothing else is."""

    name = "host"

    def __init__(self, *, i_accept_no_fence: bool) -> None:
        if i_accept_no_fence is not True:
            raise SandboxUnavailable("Commands are not run without a fence.", hint="Choose another sandbox backend.")

    async def probe(self) -> None:
        """There is nothing to look for."""

    async def run(self, command: Command, profile: SandboxProfile, *, on_output: Callable[[bytes], None] | None = None) -> Exit:
        async with self._started(command, profile, interactive=False, on_output=on_output) as process:
            return await process.wait()

    def start(self, command: Command, profile: SandboxProfile) -> AbstractAsyncContextManager[Process]:
        return self._started(command, profile, interactive=True, on_output=None)

    async def aclose(self) -> None:
        """Nothing is kept."""

    @asynccontextmanager
    async def _started(
        self, command: Command, profile: SandboxProfile, *, interactive: bool, on_output: Callable[[bytes], None] | None
    ) -> AsyncIterator[Running]:
        # The world is open to it anyway: there is no proxy to lead it through.
        seen = environment.inside(command, replace(profile, network="none"))
        workdir = on_host(profile.workdir, profile)
        seen = {**seen, "HOME": workdir}
        async with awaiting() as until:
            tree = await start_plain(command.argv, command, until, environment=seen, cwd=workdir, interactive=interactive)
            async with Running(
                tree, profile.limits, stdin=command.stdin, interactive=interactive, on_output=on_output, disk=workdir
            ) as process:
                yield process
