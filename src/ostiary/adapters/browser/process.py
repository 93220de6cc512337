"""The gateway's end of the browser's process: orders out, views and questions in, the relay to the proxy beside it."""

import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from itertools import count
from typing import Any, Self

import anyio
from anyio.abc import Process, UNIXSocketStream

from ostiary.adapters.browser.chromium import require_parts
from ostiary.adapters.browser.fence import environment, fenced
from ostiary.adapters.browser.frames import BadFrame, Frame, Line
from ostiary.adapters.browser.outline import clean
from ostiary.adapters.browser.records import ProxyAddress, Settings
from ostiary.adapters.browser.relay import relay
from ostiary.contracts.errors import SandboxUnavailable, ToolError

Judge = Callable[[int, str], Awaitable[str]]
"""The number of a room and a URL in; why it may not be asked for out, empty if it may."""

WayOf = Callable[[int], ProxyAddress | None]
"""The number of a room in; the proxy of whoever it belongs to out, None if it is nobody's."""

COMMAND = (sys.executable, "-P", "-m", "ostiary.adapters.browser.child")
_KILL_SECONDS = 5.0
_REAP_SECONDS = 2.0
_GRACE = 15.0
_MAX_JUDGED = 256
_STDERR = 4000
_MAX_SAID = 2000
_NAMESPACES = "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap)."


class BrowserGone(ToolError):
    """The process ended, hung or was ended; every page in it is lost."""


class _Waiting:
    """One order under way and where its answer goes."""

    __slots__ = ("answer", "heard")

    def __init__(self) -> None:
        self.heard = anyio.Event()
        self.answer: Frame | None = None


class BrowserProcess:
    """A Chromium that runs. `live` must run beside it; when it returns, nothing of the process is left."""

    def __init__(self, process: Process, line: Line, doors: tuple[socket.socket, ...], settings: Settings) -> None:
        self._process = process
        self._line = line
        self._doors = doors
        self._settings = settings
        self._numbers = count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._judged = 0
        self._ended = anyio.Event()
        self._reason = "the browser ended"
        self.version = ""

    @classmethod
    async def start(cls, settings: Settings) -> Self:
        """Raises SandboxUnavailable with what to install or allow; then nothing is left running."""
        chromium = require_parts(settings.executable)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            try:
                process = await _spawn(settings, str(chromium), theirs)
            except BaseException:
                ours.close()
                raise
        stream = await UNIXSocketStream.from_socket(ours)
        line = Line(stream)
        limits = settings.limits
        fds: list[int] = []
        try:
            with anyio.fail_after(limits.start + _GRACE):
                await line.say({"executable": str(chromium), "limits": dataclasses.asdict(limits)})
                _, fds = await stream.receive_fds(1, limits.rooms)
                if len(fds) != limits.rooms:
                    raise BadFrame("it opened no doors")
                # Chromium is only told of the doors; it goes through one when the first page is opened.
                first = await line.hear()
        except BaseException as error:
            for fd in fds:
                os.close(fd)
            said = await _end(process, line)
            if isinstance(error, TimeoutError | BadFrame | OSError | anyio.EndOfStream | anyio.BrokenResourceError):
                raise SandboxUnavailable(f"the browser could not be started: {_why(said, error)}", hint=_NAMESPACES) from None
            raise
        if "ready" not in first:
            for fd in fds:
                os.close(fd)
            said = await _end(process, line)
            raise SandboxUnavailable(
                f"the browser could not be started: {_why(str(first.get('failed', said)))}", hint=_NAMESPACES
            )
        browser = cls(process, line, tuple(socket.socket(fileno=fd) for fd in fds), settings)
        browser.version = str(first["ready"])
        return browser

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None and not self._ended.is_set()

    @property
    def is_busy(self) -> bool:
        return bool(self._waiting)

    async def live(self, judge: Judge, way_of: WayOf, beside: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Until `end` is called or the process ends by itself; `beside` runs as long. Cancelling is not heard: call `end`.

        The socket is read to its end: taking the reader away while something arrives would upset the event loop."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for slot, door in enumerate(self._doors):
                    group.start_soon(relay, door, partial(way_of, slot), self._settings.limits.connections, partial(judge, slot))
                group.start_soon(self._drain)
                group.start_soon(beside)
                await self._hear(judge, group)
                group.cancel_scope.cancel()
            for door in self._doors:
                door.close()
            for waiting in self._waiting.values():
                waiting.heard.set()
            await _end(self._process, self._line)

    def end(self, reason: str) -> None:
        """Now, whatever it is doing."""
        if not self._ended.is_set():
            self._reason = reason
            self._ended.set()
        _kill(self._process)

    async def ask(self, frame: Frame) -> Frame:
        """The answer to one order. Raises ToolError (the page's fault) or BrowserGone."""
        number, waiting = next(self._numbers), _Waiting()
        self._waiting[number] = waiting
        try:
            # The process limits every order itself; who outlasts even that is ended from here.
            with anyio.fail_after(self._settings.limits.order + _GRACE):
                await self._line.say({**frame, "id": number})
                await waiting.heard.wait()
        except TimeoutError:
            self.end("the browser did not answer and was ended")
        except BadFrame:
            self.end("the browser ended unexpectedly")
        except BaseException:
            await self._forget(number)
            raise
        finally:
            self._waiting.pop(number, None)
        if waiting.answer is None:
            raise BrowserGone(f"{self._reason[:1].upper()}{self._reason[1:]}; every page is closed. Open it again.")
        if "failed" in waiting.answer:
            raise ToolError(clean(str(waiting.answer["failed"]), _MAX_SAID))
        done = waiting.answer.get("done")
        if not isinstance(done, dict):
            self.end("the browser spoke nonsense and was ended")
            raise BrowserGone("The browser spoke nonsense and was ended. Open the page again.")
        return done

    async def _forget(self, number: int) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(1), contextlib.suppress(BadFrame):
            await self._line.say({"forget": number})

    async def _hear(self, judge: Judge, group: anyio.abc.TaskGroup) -> None:
        with contextlib.suppress(BadFrame, KeyError, TypeError, ValueError):
            while True:
                frame = await self._line.hear()
                if "judge" in frame:
                    group.start_soon(self._verdict, judge, int(frame["judge"]), int(frame["slot"]), str(frame["url"]))
                elif (waiting := self._waiting.get(frame["id"])) is not None:
                    waiting.answer = frame
                    waiting.heard.set()
        self.end("the browser ended unexpectedly")

    async def _verdict(self, judge: Judge, number: int, slot: int, url: str) -> None:
        reason = "too many requests at once"
        if self._judged < _MAX_JUDGED:
            self._judged += 1
            try:
                reason = await judge(slot, url)
            except Exception:  # noqa: BLE001 - a judge that breaks must not let anything through
                reason = "it could not be judged"
            finally:
                self._judged -= 1
        with contextlib.suppress(BadFrame):
            await self._line.say({"verdict": number, "reason": reason})

    async def _drain(self) -> None:
        """What it prints is nobody's concern, but a full pipe would stop it."""
        assert self._process.stderr is not None
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                await self._process.stderr.receive()


async def _spawn(settings: Settings, chromium: str, line: socket.socket) -> Process:
    from pathlib import Path

    limits = settings.limits
    command = fenced(
        COMMAND, chromium=Path(chromium), temporary_bytes=limits.temporary_bytes, fences_network=settings.fences_network
    )
    try:
        return await anyio.open_process(
            command,
            stdin=line.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(),
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxUnavailable(f"the browser could not be started: {os.strerror(error.errno or 0)}", hint=_NAMESPACES) from None


async def _end(process: Process, line: Line) -> str:
    """Kill the whole tree, take its last words and wait until nothing of it is left."""
    said = b""
    with anyio.CancelScope(shield=True), anyio.move_on_after(_KILL_SECONDS):
        await line.close()
        _kill(process)
        if process.stderr is not None:
            with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                while len(said) < _STDERR:
                    said += await process.stderr.receive()
        with anyio.move_on_after(_REAP_SECONDS):
            await process.wait()
        _kill_one(process.pid if process.returncode is None else 0)
        await process.wait()
        await process.aclose()
    return said.decode("utf-8", "replace")[:_STDERR]


def _kill(process: Process) -> None:
    """The first process inside of the fence, and with it everything in there. The fence itself then sees it end and ends too:
    killed before it, it would leave a dead child to whoever is first on this machine, and not everybody buries those."""
    if process.returncode is None:
        for pid in _children(process.pid) or [process.pid]:
            _kill_one(pid)


def _kill_one(pid: int) -> None:
    """Popen.kill would look first whether it has ended, and so take its exit status away from the event loop."""
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as listed:
            return [int(each) for each in listed.read().split()]
    except (OSError, ValueError):
        return []


def _why(said: str, error: BaseException | None = None) -> str:
    """The line that tells most, of what was printed."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for mark in ("bwrap:", "setpriv:", "No usable sandbox", "FATAL", "Error"):
        for line in lines:
            if mark in line:
                return line[:300]
    return lines[-1][:300] if lines else f"it said nothing ({type(error).__name__})"
