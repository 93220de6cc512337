"""A command that runs, whatever fence it runs behind: its output, its input, its limits, and its certain end.

Callbacks of the event loop do all of it and no task: a command that says nothing and is over soon then costs next to nothing.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from typing import Protocol, Self

from anyio import CancelScope

from ostiary.adapters.sandbox.ends import Ends
from ostiary.adapters.sandbox.feed import Feed
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


# Code and signal of the command, or why there is neither.
Outcome = tuple[int | None, int | None] | NeverBegan | SandboxUnavailable


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
        """What remains to be done to bound it, in a thread, while it runs already. False ends it."""
        ...

    def follow(self, over: Callable[[Outcome], None]) -> None:
        """`over` is called once, by the event loop or at once, when nothing of the tree is left."""
        ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...

    def close(self) -> None:
        """Let go of everything. Ends what has not ended."""
        ...


class Running:
    """A Process of the contract. Whoever makes one must `finish` it, or use it as a context: then nothing of the tree is left
    when that ends, however it ends. `then` is called when it is over."""

    def __init__(
        self,
        started: Tree,
        limits: SandboxLimits,
        *,
        stdin: bytes,
        interactive: bool,
        on_output: Callable[[bytes], None] | None,
        disk: str = "",
        then: Callable[[], None] | None = None,
    ) -> None:
        self._tree = started
        self._limits = limits
        self._on_output = on_output
        self._disk = disk
        self._then = then
        self._kept = HeadTail(limits.output_bytes)
        self._loop = asyncio.get_running_loop()
        self._begun = time.monotonic()
        self._is_stopping = self._timed_out = self.is_over = False
        self._failure: NeverBegan | SandboxUnavailable | None = None
        self._exit: Exit | None = None
        self._done = asyncio.Event()
        self._loop.add_reader(started.ends.reader, self._read)
        self._is_heard = True
        self._timers = {
            self._watch: self._loop.call_later(_WATCH_EVERY, self._watch),
            self._run_out: self._loop.call_later(limits.seconds, self._run_out),
        }
        if started.settle is not None:
            # Most commands are over by then, and what they can take until then is little.
            self._later(_SETTLE_AFTER, self._settle)
        self._feed = Feed(started.ends, stdin, is_all=not interactive)
        started.follow(self._over)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.finish()

    def output(self, after: int = 0) -> tuple[bytes, int]:
        return self._kept.after(after), self._kept.total

    async def write(self, data: bytes) -> None:
        if self.is_over or not await self._feed.write(data):
            raise ToolError("The command takes no input any more.")

    def stop(self) -> None:
        """Begin the end: a polite signal, a moment, a certain one. `wait` says when it is over."""
        is_first, self._is_stopping = not self._is_stopping, True
        if is_first and not self.is_over:
            self._later(GRACE, self._kill)
            self._tree.terminate()

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

    async def finish(self) -> None:
        """End it if it is not over. No caller's going away and no deadline of theirs cuts this short; the limits here do."""
        if self.is_over:
            return
        self.stop()
        try:
            with CancelScope(shield=True):
                await self._done.wait()
        finally:
            # The event loop itself may be ending.
            if not self.is_over:
                self._give_up()

    def _over(self, how: Outcome) -> None:
        self.is_over = True
        for timer in self._timers.values():
            timer.cancel()
        # What it had said when it ended.
        for _ in range(_MOST_PIECES):
            if not (self._is_heard and self._read()):
                break
        self._hush()
        self._feed.close()
        if isinstance(how, Exception):
            self._failure = how
        else:
            self._exit = Exit(
                code=how[0],
                signal=how[1],
                timed_out=self._timed_out,
                output=self._kept.whole(),
                left_out=self._kept.left_out,
                seconds=time.monotonic() - self._begun,
            )
        self._done.set()
        self._tree.close()
        if self._then is not None:
            self._then()

    def _later(self, seconds: float, then: Callable[[], None]) -> None:
        self._timers[then] = self._loop.call_later(seconds, then)

    def _run_out(self) -> None:
        self._timed_out = not self._is_stopping
        self.stop()

    def _kill(self) -> None:
        self._later(_LAST, self._give_up)
        self._tree.kill()

    def _give_up(self) -> None:
        self._over(SandboxUnavailable("A command did not end when it was killed.", hint="Look at the processes."))

    def _settle(self) -> None:
        assert self._tree.settle is not None
        self._loop.run_in_executor(None, self._tree.settle).add_done_callback(self._settled)

    def _settled(self, work: "asyncio.Future[bool]") -> None:
        if not self.is_over and (work.cancelled() or work.exception() is not None or not work.result()):
            self._stop_because("its memory could not be bounded")

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
            self._hush()
            return False
        self._kept.add(data)
        self._tell(data)
        return True

    def _hush(self) -> None:
        if self._is_heard:
            self._loop.remove_reader(self._tree.ends.reader)
            self._is_heard = False

    def _tell(self, data: bytes) -> None:
        if self._on_output is None:
            return
        try:
            self._on_output(data)
        except Exception:  # noqa: BLE001 - a watcher that breaks must not leave a command behind
            self._on_output = None
            _log.warning("whoever watched a command's output broke and is not told any more")

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
