"""The gateway's end of the child's pipes."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Self

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from ostiary.adapters.models.embedded import frames
from ostiary.adapters.models.embedded.frames import BadFrame, Frame
from ostiary.contracts.records import dataclass

COMMAND = (sys.executable, "-P", "-m", "ostiary.adapters.models.embedded.child")
_KILL_SECONDS = 5.0
_SEND_SECONDS = 30.0


class ChildGone(Exception):
    """The child ended, hung or spoke nonsense. It has been killed; start another."""


class ChildFailed(Exception):
    """The child could not load the model; the text is its reason."""


class WeightsDamaged(ChildFailed):
    """The file no longer has its hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a child is told to load and how much of the machine it may take."""

    path: Path
    sha256: str
    context: int
    memory: int
    nice: int
    threads: int
    prompt_threads: int
    command: tuple[str, ...] = COMMAND


def default_threads() -> tuple[int, int]:
    """For writing and for reading the prompt.

    Writing waits for all threads after every step, so on few shared cores a second one makes it slower, not faster; reading the
    prompt does long stretches of work between two waits and gains from every core.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return (1 if cores < 4 else min(4, cores // 2)), min(4, cores)


class Child:
    """A loaded model. One request at a time; whoever uses it holds the turn."""

    def __init__(self, process: Process, order: Order) -> None:
        assert process.stdout is not None
        self.order = order
        self._process = process
        self._stdout = BufferedByteReceiveStream(process.stdout)

    @classmethod
    async def start(cls, order: Order, seconds: float) -> Self:
        """Raises ChildFailed, WeightsDamaged or ChildGone; then nothing is left running."""
        try:
            process = await anyio.open_process(
                order.command, env=_environment(), cwd="/", stderr=subprocess.DEVNULL, start_new_session=True
            )
        except OSError as error:
            raise ChildFailed(f"its process could not be started: {error.strerror}") from None
        child = cls(process, order)
        try:
            await child.send({"parent": os.getpid(), **_facts(order)})
            first = await child.receive(seconds)
        except BaseException:
            await child.kill()
            raise
        if first.get("ready"):
            return child
        await child.kill()
        if first.get("damaged"):
            raise WeightsDamaged("its file no longer has its SHA-256")
        raise ChildFailed(str(first.get("failed", "it did not say why")))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def send(self, frame: Frame) -> None:
        """Raises ChildGone."""
        assert self._process.stdin is not None
        try:
            with anyio.fail_after(_SEND_SECONDS):
                await self._process.stdin.send(frames.encode(frame))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError, BadFrame):
            await self.kill()
            raise ChildGone("it does not take requests any more") from None

    async def receive(self, seconds: float) -> Frame:
        """The next frame. Raises ChildGone if none comes within `seconds`."""
        try:
            with anyio.fail_after(seconds):
                head = await self._stdout.receive_exactly(4)
                return frames.decode(await self._stdout.receive_exactly(frames.length(head)))
        except TimeoutError:
            reason = f"it was silent for {seconds:g} s"
        except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            reason = "its process ended"
        except BadFrame as error:
            reason = str(error)
        await self.kill()
        raise ChildGone(reason)

    async def kill(self) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_KILL_SECONDS):
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
            await self._process.aclose()


def _facts(order: Order) -> Frame:
    return {
        "path": str(order.path),
        "sha256": order.sha256,
        "context": order.context,
        "memory": order.memory,
        "nice": order.nice,
        "threads": order.threads,
        "prompt_threads": order.prompt_threads,
    }


def _environment() -> dict[str, str]:
    """Nothing of the gateway's own: no keys, no engine settings, only where to find this package."""
    import ostiary

    root = Path(ostiary.__file__).parent.parent
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
