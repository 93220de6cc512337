"""A command that runs, whatever fence it runs behind: its output, its input, its limits, and its certain end."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
from anyio import CancelScope

from ostiary.adapters.sandbox.ends import Ends
from ostiary.adapters.sandbox.instructions import not_begun
from ostiary.adapters.sandbox.output import HeadTail
from ostiary.adapters.sandbox.proc import tree, usage
from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.sandbox import Exit, SandboxLimits

# Between the polite signal and the certain one. Short: an owner who says stop waits for it.
GRACE = 0.4
_LAST = 10.0
_WATCH_EVERY = 0.25
_SETTLE_AFTER = 0.02
_PIECE = 65536
_MOST_PIECES = 64
_FREE_AT_LEAST = 256 * 1024**2
# A command may rewrite its files some times over, not for ever.
_WRITES_PER_FILE_LIMIT = 8

_log = logging.getLogger(__name__)


class NeverBegan(Exception):
    """The command was never started; the fence's own words say why, here or in what was printed."""


class Tree(Protocol):
    """What a backend has started; its output and input are at `ends`."""

    @property
    def ends(self) -> Ends: ...

    @property
    def root(self) -> int | None:
        """The process all others of the run are below of, as the host counts."""
        ...

    @property
    def settle(self) -> Callable[[], bool] | None:
        """What remains to be done to bound it, in a thread, while it runs already. False ends it. With this, cancelling `gone`
        and calling it again must lose nothing."""
        ...

    async def gone(self) -> tuple[int | None, int | None]:
        """Code and signal of the command, once nothing of its tree is left. Raises NeverBegan, SandboxUnavailable."""
        ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


@asynccontextmanager
async def running(
    started: Tree,
    limits: SandboxLimits,
    *,
    stdin: bytes,
    interactive: bool,
    on_output: Callable[[bytes], None] | None,
    disk: str = "",
) -> AsyncIterator["Running"]:
    """Nothing of the tree is left when this ends, however it ends."""
    process = Running(started, limits, on_output, disk)
    # Kept out of the group, which would wrap it: the caller's own error is to arrive as it is.
    failure: Exception | None = None
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(process.live)
            if stdin:
                group.start_soon(process.give, stdin, interactive)
            elif not interactive:
                started.ends.finish_input()
            try:
                yield process
            except Exception as error:  # noqa: BLE001 - raised below
                failure = error
            finally:
                if stdin or not process.is_over:
                    process.stop()
                    group.cancel_scope.cancel()
    finally:
        started.close()
    if failure is not None:
        raise failure


class Running:
    """A Process of the contract."""

    def __init__(self, started: Tree, limits: SandboxLimits, on_output: Callable[[bytes], None] | None, disk: str) -> None:
        self._tree = started
        self._limits = limits
        self._on_output = on_output
        self._disk = disk
        self._kept = HeadTail(limits.output_bytes)
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}
        self._is_living = self._is_stopping = self._timed_out = self.is_over = False
        self._how: tuple[int | None, int | None] = (None, None)
        self._failure: NeverBegan | SandboxUnavailable | None = None
        self._exit: Exit | None = None
        self._done = asyncio.Event()
        # Neither the caller's going away nor a deadline of theirs may cut this short; the limits here do.
        self._waiting = CancelScope(shield=True)

    def output(self, after: int = 0) -> tuple[bytes, int]:
        return self._kept.after(after), self._kept.total

    async def write(self, data: bytes) -> None:
        if self.is_over or self._tree.ends.writer is None:
            raise ToolError("The command takes no input any more.")
        try:
            await self._feed(self._tree.ends.writer, data)
        except OSError as error:
            raise ToolError("The command takes no input any more.") from error

    def stop(self) -> None:
        """Begin the end: a polite signal, a moment, a certain one. `wait` says when it is over."""
        is_first, self._is_stopping = not self._is_stopping, True
        if is_first and self._is_living:
            self._tree.terminate()
            self._later(GRACE, self._kill)

    async def end(self) -> None:
        self.stop()
        await self._done.wait()

    async def wait(self) -> Exit:
        await self._done.wait()
        if isinstance(self._failure, NeverBegan):
            raise not_begun(str(self._failure) or self._kept.whole().decode(errors="replace"))
        if self._failure is not None:
            raise self._failure
        assert self._exit is not None
        return self._exit

    async def live(self) -> None:
        """From start to certain end. It is bounded by its own limits, and a half-ended command must not stay.

        Callbacks and not tasks do the rest: a command that says nothing and is over soon then costs nothing."""
        begun = time.monotonic()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._tree.ends.reader, self._read)
        self._later(_WATCH_EVERY, self._watch)
        self._later(self._limits.seconds, self._run_out)
        self._is_living = True
        if self._is_stopping:
            self._kill()
        try:
            with self._waiting:
                self._how = await self._until_gone()
        except (NeverBegan, SandboxUnavailable) as error:
            self._failure = error
        finally:
            self.is_over, self._is_living = True, False
            for timer in self._timers.values():
                timer.cancel()
            loop.remove_reader(self._tree.ends.reader)
        if self._waiting.cancelled_caught:
            self._failure = SandboxUnavailable("A command did not end when it was killed.", hint="Look at the processes.")
        # What it had said when it ended.
        for _ in range(_MOST_PIECES):
            if not self._read():
                break
        code, number = self._how
        self._exit = Exit(
            code=code,
            signal=number,
            timed_out=self._timed_out,
            output=self._kept.whole(),
            left_out=self._kept.left_out,
            seconds=time.monotonic() - begun,
        )
        self._done.set()

    async def _until_gone(self) -> tuple[int | None, int | None]:
        if self._tree.settle is None:
            return await self._tree.gone()
        # Most commands are over by then, and what they can take until then is little.
        with anyio.move_on_after(_SETTLE_AFTER):
            return await self._tree.gone()
        failure: NeverBegan | SandboxUnavailable | None = None
        how: tuple[int | None, int | None] = (None, None)
        async with anyio.create_task_group() as group:
            group.start_soon(self._settle, self._tree.settle)
            try:
                how = await self._tree.gone()
            except (NeverBegan, SandboxUnavailable) as error:
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return how

    async def _settle(self, work: Callable[[], bool]) -> None:
        if not await anyio.to_thread.run_sync(work, abandon_on_cancel=True):
            self._stop_because("its memory could not be bounded")

    def _later(self, seconds: float, then: Callable[[], None]) -> None:
        self._timers[then] = asyncio.get_running_loop().call_later(seconds, then)

    def _run_out(self) -> None:
        self._timed_out = not self._is_stopping
        self.stop()

    def _kill(self) -> None:
        self._tree.kill()
        self._later(_LAST, self._waiting.cancel)

    def _read(self) -> bool:
        """One piece of output; False if there is none now, or no more. Others run between two pieces."""
        try:
            data = os.read(self._tree.ends.reader, _PIECE)
        except BlockingIOError:
            return False
        except OSError:
            # A terminal whose other side is closed.
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._tree.ends.reader)
            return False
        self._kept.add(data)
        self._tell(data)
        return True

    def _tell(self, data: bytes) -> None:
        if self._on_output is None:
            return
        try:
            self._on_output(data)
        except Exception:  # noqa: BLE001 - a watcher that breaks must not leave a command behind
            self._on_output = None
            _log.warning("whoever watched a command's output broke and is not told any more")

    async def give(self, stdin: bytes, interactive: bool) -> None:
        """All of its input, and then its end if there is no more to come."""
        try:
            if stdin and self._tree.ends.writer is not None:
                await self._feed(self._tree.ends.writer, stdin)
        except OSError:
            # A command need not read what it is given.
            return
        if not interactive:
            self._tree.ends.finish_input()

    async def _feed(self, writer: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(writer, rest[:_PIECE]) :]
            except BlockingIOError:
                await anyio.wait_writable(writer)

    def _watch(self) -> None:
        """Memory and disk of the whole tree, for what the kernel's limits on single processes and files leave open."""
        if self._tree.root is None:
            return
        self._later(_WATCH_EVERY, self._watch)
        used = usage(tree(self._tree.root))
        if used.memory > self._limits.memory_bytes:
            self._stop_because("it used more memory than it may")
        elif used.written > _WRITES_PER_FILE_LIMIT * self._limits.file_bytes or self._fills_disk(used.written):
            self._stop_because("it wrote more than it may")

    def _fills_disk(self, written: int) -> bool:
        if not self._disk or written < _FREE_AT_LEAST // 4:
            return False
        found = os.statvfs(self._disk)
        return found.f_bavail * found.f_frsize < _FREE_AT_LEAST

    def _stop_because(self, reason: str) -> None:
        self._kept.add(f"\n[ended: {reason}]\n".encode())
        self._tree.kill()
