"""Commands one by one, behind a fence that has been proven once: the verbs of every backend that keeps nothing between them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import anyio

from ostiary.adapters.sandbox.running import Running
from ostiary.contracts.sandbox import Command, Exit, Process, SandboxProfile


class Start(Protocol):
    """Begins one command; nothing of it is left when the context ends."""

    def __call__(
        self, command: Command, profile: SandboxProfile, *, interactive: bool, on_output: Callable[[bytes], None] | None
    ) -> AbstractAsyncContextManager[Running]: ...


class Commands:
    """`prove` raises SandboxUnavailable where the fence does not hold. It is asked before the first command until it held."""

    def __init__(self, prove: Callable[[], Awaitable[None]], start: Start) -> None:
        self._prove = prove
        self._start = start
        self._is_proven = False
        self._proving = anyio.Lock()

    async def probe(self) -> None:
        if self._is_proven:
            return
        async with self._proving:
            if not self._is_proven:
                await self._prove()
                self._is_proven = True

    async def run(self, command: Command, profile: SandboxProfile, *, on_output: Callable[[bytes], None] | None = None) -> Exit:
        await self.probe()
        return await self.run_unproven(command, profile, on_output=on_output)

    async def run_unproven(
        self, command: Command, profile: SandboxProfile, *, on_output: Callable[[bytes], None] | None = None
    ) -> Exit:
        """For canaries alone."""
        async with self._start(command, profile, interactive=False, on_output=on_output) as process:
            return await process.wait()

    @asynccontextmanager
    async def start(self, command: Command, profile: SandboxProfile) -> AsyncIterator[Process]:
        await self.probe()
        async with self._start(command, profile, interactive=True, on_output=None) as process:
            yield process

    async def aclose(self) -> None:
        """Nothing is kept."""
