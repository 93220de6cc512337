"""Commands through a fork server: a program of ours that stays inside a sandbox and starts each run in namespaces of its own.

Runs of one server share its mounts, its network namespace (a loopback, and the way to the proxy) and its control group.
Each has its own processes, /proc, /tmp, /dev/shm, terminals and System V memory, and ends whole before it is reported as ended.
The same program takes one command alone, and then the whole sandbox is that run's.
"""

import asyncio
import os
import select
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from errno import EAGAIN, ETOOMANYREFS
from functools import partial

import anyio

from ostiary.adapters.sandbox import machine as machines
from ostiary.adapters.sandbox.cgroups import Group, Groups
from ostiary.adapters.sandbox.ends import Ends, nothing, open_ends
from ostiary.adapters.sandbox.instructions import failed
from ostiary.adapters.sandbox.launch import Launched, address_bytes, cpu_seconds, data_file, launch
from ostiary.adapters.sandbox.machine import Machine
from ostiary.adapters.sandbox.order import Order
from ostiary.adapters.sandbox.proc import tree
from ostiary.adapters.sandbox.running import NeverBegan, Outcome
from ostiary.adapters.sandbox.view import PROXY_SOCKET, Source
from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.sandbox import SandboxLimits, SandboxProfile

_MAGIC = 0x4F535433
_PTY = 1
_SECONDS = 10.0
_CLOSING_SECONDS = 2.0
_AGAIN = 0.005
_BUSY = (EAGAIN, ETOOMANYREFS)
# As much as a run takes with the message itself; what is longer comes in a file.
_MOST_SAID = 16384
_MOST_WORDS = 4096
# To make each run's namespaces and mounts; given up by the run before it hears of a command.
_CAPABILITIES = ("--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP")
# What was said, who said it as the host counts, and descriptors.
Message = tuple[bytes, int, list[int]]


class ServerGone(Exception):
    """It ended before the run began: another way must be taken, and may be, for nothing has happened."""


class ServedTree:
    """A run that was asked for. `root` is the first process of its pid namespace, which the kernel lets end only after all others
    there; it says so itself when no other is left, and else its own end is waited for."""

    def __init__(self, status: socket.socket, ends: Ends, *, pty: bool) -> None:
        self.ends = ends
        self.root: int | None = None
        self.settle: Callable[[], bool] | None = None
        self._status = status
        self._pty = pty
        self._root_fd = -1
        self._how: Outcome | None = None
        self._has_ended = False
        self._over: Callable[[Outcome], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._begun: asyncio.Future[bool | None] = self._loop.create_future()
        self._loop.add_reader(status.fileno(), self._hear)

    async def begun(self) -> bool:
        """False if the server has gone. Raises SandboxUnavailable if nothing comes."""
        timer = self._loop.call_later(_SECONDS, self._tell, None)
        try:
            began = await self._begun
        finally:
            timer.cancel()
        if began is None:
            raise SandboxUnavailable("The fork server does not answer.")
        return began

    def follow(self, over: Callable[[Outcome], None]) -> None:
        self._over = over
        if self._has_ended:
            over(self._outcome())

    def terminate(self) -> None:
        with suppress(OSError):
            self._status.send(b"T")

    def kill(self) -> None:
        """With its first process everything ends."""
        if self._root_fd >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._root_fd, signal.SIGKILL)

    def close(self) -> None:
        if not self._has_ended:
            self._end_now()
        self._status.close()
        self.ends.close()
        if self._root_fd >= 0:
            os.close(self._root_fd)

    def _end_now(self) -> None:
        """Nobody waits any more: what has not begun must not begin, and the rest must go."""
        self._loop.remove_reader(self._status.fileno())
        self._status.shutdown(socket.SHUT_RDWR)
        while self.root is None and self._note():
            continue
        if self._root_fd >= 0:
            self._loop.remove_reader(self._root_fd)
            self.kill()
            ended = select.poll()
            ended.register(self._root_fd, select.POLLIN)
            ended.poll(_CLOSING_SECONDS * 1000)

    def _hear(self) -> None:
        if self._note():
            return
        self._loop.remove_reader(self._status.fileno())
        self._tell(False)
        if self._root_fd >= 0:
            self._loop.add_reader(self._root_fd, self._end)
        else:
            self._end()

    def _note(self) -> bool:
        """What it says next; False if there is no more to come."""
        try:
            word, sender, fds = _take(self._status)
        except BlockingIOError:
            return True
        kind = word[:1]
        if self.root is None and word:
            self._know(sender)
        if kind == b"P":
            self.ends.close()
            self.ends = Ends(reader=fds[0], writer=fds[0], is_terminal=True)
        elif kind == b"E":
            self._how = NeverBegan(word[2:].decode(errors="replace"))
        elif kind == b"X":
            self._how = self._how or ((None, word[2]) if word[1] else (word[2], None))
            if word[3] and sender == self.root:
                self._end()
        if word and (kind != b"R" or not self._pty):
            self._tell(True)
        return bool(word)

    def _know(self, root: int) -> None:
        self.root = root
        # One that is not there has ended and was even reaped.
        with suppress(ProcessLookupError):
            self._root_fd = os.pidfd_open(root)

    def _tell(self, began: bool | None) -> None:
        if not self._begun.done():
            self._begun.set_result(began)

    def _end(self) -> None:
        self._has_ended = True
        self._loop.remove_reader(self._status.fileno())
        if self._root_fd >= 0:
            self._loop.remove_reader(self._root_fd)
        if self._over is not None:
            self._over(self._outcome())

    def _outcome(self) -> Outcome:
        # Its first process was killed with everything else: by us, or for want of memory.
        return (None, signal.SIGKILL) if self._how is None else self._how


class Server:
    """One sandbox that stays. `busy` counts its runs. `errors` is where bubblewrap's own words go."""

    def __init__(self, launched: Launched, control: socket.socket, errors: int, groups: Groups | None) -> None:
        self._launched = launched
        self._control = control
        self._errors = errors
        self._groups = groups
        self._group: Group | None = None
        self._has_begun = self._is_settled = self._is_closed = False
        self.busy = 0

    @property
    def is_alive(self) -> bool:
        return self._launched.is_alive

    async def start(self, order: Order) -> ServedTree:
        """Raises ServerGone if it has served before, SandboxUnavailable if it never did, ToolError."""
        request = _request(order)
        with ExitStack() as held:
            ends = open_ends(order.command, held, interactive=order.interactive, terminal=None)
            status, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            held.callback(far.close)
            status.setblocking(False)
            status.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            fds = [far.fileno(), ends.near_in, ends.near_out]
            if len(request) > _MOST_SAID:
                fds.append(data_file(request, held))
                request = b"\0"
            try:
                if not self._send(request, fds):
                    await self._send_later(request, fds)
            except BaseException:
                status.close()
                ends.close()
                raise
            made = ServedTree(status, ends, pty=order.command.pty)
        try:
            if not await made.begun():
                raise self._gone()
            if not self._has_begun:
                self._has_begun = await self._launched.meet()
        except BaseException:
            made.close()
            raise
        if not self._is_settled:
            made.settle = partial(self._settle, order.profile.limits) if self._groups is not None else None
        return made

    def _send(self, request: bytes, fds: list[int]) -> bool:
        """False if it has as much to do as the kernel keeps for it."""
        try:
            socket.send_fds(self._control, [request], fds)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise self._gone() from error
        return True

    async def _send_later(self, request: bytes, fds: list[int]) -> None:
        with anyio.move_on_after(_SECONDS):
            while True:
                # Not every kind of fullness can be waited for otherwise.
                await anyio.sleep(_AGAIN)
                if self._send(request, fds):
                    return
        raise SandboxUnavailable("Too many commands wait for this fork server.")

    def _gone(self) -> Exception:
        if self._has_begun or self._is_closed:
            return ServerGone()
        return failed(os.pread(self._errors, 4096, 0).decode(errors="replace"))

    def _settle(self, limits: SandboxLimits) -> bool:
        """Put everything there is into a control group; what comes later is born into it. The kernel may take its time.

        Blocks, and is for a thread. False if it could not be done."""
        assert self._groups is not None
        if self._is_settled:
            return True
        self._is_settled = True
        try:
            self._group = self._groups.make(limits)
        except OSError:
            return False
        settled: set[int] = set()
        # A process that was begun before its parent was moved is found in the next round.
        while new := set(tree(self._launched.inner)) - settled:
            if not all(self._group.add(pid) for pid in sorted(new)):
                return False
            settled |= new
        if self._is_closed:
            self._group.remove()
        return True

    def when_ended(self, then: Callable[[], None]) -> None:
        """Called once, by the event loop. Closing it takes that back."""
        self._launched.when_ended(then)

    def dismiss(self) -> None:
        """Without us it has nothing to wait for and ends."""
        self._control.close()

    def close(self) -> None:
        """Every run of it ends at once."""
        self.dismiss()
        self._launched.close()
        self._is_closed = True
        if self._errors >= 0:
            os.close(self._errors)
            self._errors = -1
        if self._group is not None:
            self._group.remove()


def start_server(
    machine: Machine, sources: Sequence[Source], profile: SandboxProfile, home: str, *, idle_seconds: float
) -> Server:
    """It takes requests at once and answers when it is ready. With no `idle_seconds` it is for one run.

    Raises SandboxUnavailable, ToolError."""
    assert machine.fence is not None
    program, rules = machine.fence.program, machine.fence.filter
    line = machines.line(machine, sources, profile, home, is_shared=idle_seconds > 0)
    with ExitStack() as held:
        control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        held.callback(far.close)
        control.setblocking(False)
        errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        words = [*line.options, "--as-pid-1", *(_CAPABILITIES if idle_seconds else ())]
        fds = (program, far.fileno(), rules)
        argv = [f"/proc/self/fd/{program}", *map(str, fds), str(int(idle_seconds * 1000)), str(profile.limits.temporary_bytes)]
        argv += [PROXY_SOCKET] if profile.network == "proxy" else []
        try:
            launched = launch(line.starter, words, argv, fds=fds, stdin=nothing(), stdout=errors)
        except BaseException:
            control.close()
            os.close(errors)
            raise
        return Server(launched, control, errors, machine.groups)


def _take(source: socket.socket) -> Message:
    """What has come, empty at the end. Raises BlockingIOError if there is nothing yet."""
    try:
        data, extra, _, _ = source.recvmsg(256, 256, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        # It ended without hearing our last word. That is told once, and before what it had said itself.
        data, extra, _, _ = source.recvmsg(256, 256, socket.MSG_CMSG_CLOEXEC)
    sender = 0
    fds: list[int] = []
    for level, kind, content in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            sender = struct.unpack("3i", content)[0]
        elif level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds += struct.unpack(f"{len(content) // 4}i", content)
    return data, sender, fds


def _request(order: Order) -> bytes:
    """As `struct request` of fence.h, and the strings."""
    command, profile, environment = order.command, order.profile, order.environment
    if not 0 < len(command.argv) <= _MOST_WORDS:
        raise ToolError("A command has at least one word and not thousands.")
    limits = profile.limits
    head = struct.pack(
        "<IIIIQQQQQ",
        _MAGIC,
        _PTY if command.pty else 0,
        len(command.argv),
        len(environment),
        limits.processes,
        limits.file_bytes,
        limits.open_files,
        address_bytes(limits),
        cpu_seconds(limits),
    )
    texts = (profile.workdir, *command.argv, *(f"{name}={value}" for name, value in environment.items()))
    return head + "\0".join((*texts, "")).encode(errors="surrogateescape")
