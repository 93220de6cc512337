"""A sandbox that runs nothing: it writes down what it was asked to run and answers as the test says."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import anyio.lowlevel

from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.sandbox import Command, Exit, Process, SandboxProfile

Answer = Callable[[Command, SandboxProfile], Exit]


class RecordingSandbox:
    """`runs` are the commands asked for, in order, with their fences. `answer` is what every run ends with, or says it for each.
    With `unavailable` it refuses, as a machine without a fence does. `processes` are those that were started, oldest first."""

    name = "recording"

    def __init__(self, answer: Exit | Answer | None = None, *, unavailable: str = "") -> None:
        self._answer = answer if answer is not None else Exit(code=0)
        self.unavailable = unavailable
        self.runs: list[tuple[Command, SandboxProfile]] = []
        self.processes: list[RecordedProcess] = []
        self.probes = 0

    async def probe(self) -> None:
        self.probes += 1
        self._refuse()

    async def run(self, command: Command, profile: SandboxProfile, *, on_output: Callable[[bytes], None] | None = None) -> Exit:
        self._refuse()
        self.runs.append((command, profile))
        await anyio.lowlevel.checkpoint()
        done = self._answer if isinstance(self._answer, Exit) else self._answer(command, profile)
        if on_output is not None and done.output:
            on_output(done.output)
        return done

    def start(self, command: Command, profile: SandboxProfile) -> AbstractAsyncContextManager[Process]:
        return self._start(command, profile)

    async def aclose(self) -> None:
        """Nothing is kept."""

    @asynccontextmanager
    async def _start(self, command: Command, profile: SandboxProfile) -> AsyncIterator[Process]:
        self._refuse()
        self.runs.append((command, profile))
        process = RecordedProcess()
        self.processes.append(process)
        try:
            yield process
        finally:
            if not process.is_over:
                process.finish(Exit(code=None, signal=15, output=process.said))

    def _refuse(self) -> None:
        if self.unavailable:
            raise SandboxUnavailable(self.unavailable)


class RecordedProcess:
    """A process in the test's hand: `say` prints, `finish` ends it, `written` is what it was given."""

    def __init__(self) -> None:
        self.said = b""
        self.written = b""
        self._exit: Exit | None = None
        self._over = anyio.Event()

    @property
    def is_over(self) -> bool:
        return self._exit is not None

    def say(self, data: bytes) -> None:
        self.said += data

    def finish(self, how: Exit) -> None:
        self._exit = how
        self._over.set()

    def output(self, after: int = 0) -> tuple[bytes, int]:
        return self.said[after:], len(self.said)

    async def write(self, data: bytes) -> None:
        if self.is_over:
            raise ToolError("The command takes no input any more.")
        self.written += data

    async def end(self) -> None:
        if not self.is_over:
            self.finish(Exit(code=None, signal=15, output=self.said))

    async def wait(self) -> Exit:
        await self._over.wait()
        assert self._exit is not None
        return self._exit
