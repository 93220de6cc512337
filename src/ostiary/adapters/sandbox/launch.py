"""Starting bubblewrap: with a clean environment, as the right user, and known by its first process."""

import asyncio
import json
import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from errno import EINVAL
from fcntl import F_ADD_SEALS, F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_WRITE, fcntl

import anyio

from ostiary.contracts.errors import SandboxUnavailable
from ostiary.contracts.sandbox import SandboxLimits

_SECONDS = 10.0
_CLOSING_SECONDS = 2.0
# What JavaScript and Go reserve and never use; the memory itself is bounded elsewhere.
_ADDRESS_BYTES = 8 * 1024**3
_MFD_EXEC = 0x10
_CORES = os.cpu_count() or 1
CLEAN = {"PATH": "/usr/bin:/bin"}


def rlimits(limits: SandboxLimits) -> list[str]:
    """Per process, as the words of prlimit(1)."""
    most = {
        "fsize": limits.file_bytes,
        "nofile": limits.open_files,
        "as": address_bytes(limits),
        "cpu": cpu_seconds(limits),
        "memlock": 65536,
        # One byte, not none: a core_pattern that begins with a pipe is run on the host for 0 and not for 1.
        "core": 1,
        "nproc": limits.processes,
    }
    return [f"--{name}={value}:{value}" for name, value in most.items()]


def address_bytes(limits: SandboxLimits) -> int:
    return max(_ADDRESS_BYTES, limits.memory_bytes)


def cpu_seconds(limits: SandboxLimits) -> int:
    return int(limits.seconds * _CORES) + 1


def data_file(content: bytes, held: ExitStack) -> int:
    """A descriptor that reads `content`; it exists nowhere else."""
    fd = os.memfd_create("ostiary", os.MFD_CLOEXEC)
    held.callback(os.close, fd)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def sealed(content: bytes) -> int:
    """The same for long, for many readers, and to be run as a program: nobody can change it any more. Raises OSError."""
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        fd = os.memfd_create("ostiary", flags | _MFD_EXEC)
    except OSError as error:
        # An older kernel has no such flag, and runs anything.
        if error.errno != EINVAL:
            raise
        fd = os.memfd_create("ostiary", flags)
    try:
        os.write(fd, content)
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)
    except BaseException:
        os.close(fd)
        raise
    return fd


class Launched:
    """A bubblewrap that has been started. `inner` is the first process of its pid namespace: with it everything inside ends."""

    def __init__(self, outer: "subprocess.Popen[bytes]", status: int) -> None:
        self._outer = outer
        self._outer_fd = os.pidfd_open(outer.pid)
        self._status = status
        self._told = b""
        self.inner = 0
        self._inner_fd = -1

    async def meet(self) -> bool:
        """Learn who the first process is. False if there is none: bubblewrap's own words are in its output."""
        with anyio.move_on_after(_SECONDS):
            while not self._listen():
                await anyio.wait_readable(self._status)
        return self._inner_fd >= 0

    def _listen(self) -> bool:
        """Whether its first line has come, or none will."""
        try:
            data = os.read(self._status, 4096)
        except BlockingIOError:
            return False
        self._told += data
        if b"\n" not in self._told:
            return not data
        line, _, self._told = self._told.partition(b"\n")
        self.inner = int(json.loads(line)["child-pid"])
        with suppress(ProcessLookupError):
            self._inner_fd = os.pidfd_open(self.inner)
        return True

    @property
    def is_alive(self) -> bool:
        return self._outer.poll() is None

    def follow(self, ended: Callable[[int | None], None]) -> None:
        """When nothing inside is left: the command's status, or None if it never began."""
        loop = asyncio.get_running_loop()

        def inner_ended() -> None:
            loop.remove_reader(self._inner_fd)
            ended(self._last())

        def outer_ended() -> None:
            self.kill()
            loop.add_reader(self._inner_fd, inner_ended)

        self.when_ended(outer_ended)

    def when_ended(self, then: Callable[[], None]) -> None:
        """When bubblewrap itself has ended."""
        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(self._outer_fd)
            self._outer.wait()
            then()

        loop.add_reader(self._outer_fd, ended)

    def _last(self) -> int | None:
        """What bubblewrap said when it ended."""
        with suppress(BlockingIOError):
            self._told += os.read(self._status, 4096)
        return int(json.loads(self._told)["exit-code"]) if self._told else None

    def kill(self) -> None:
        if self._inner_fd >= 0:
            try:
                signal.pidfd_send_signal(self._inner_fd, signal.SIGKILL)
            except ProcessLookupError:
                return
        else:
            self._outer.kill()

    def close(self) -> None:
        """The end of an object whose process is gone or must go now."""
        if self._outer.poll() is None:
            # Without its parent the first process might go on: it must be known to be killed.
            if not self.inner:
                told = select.poll()
                told.register(self._status, select.POLLIN)
                while told.poll(_CLOSING_SECONDS * 1000) and not self._listen():
                    continue
            self.kill()
            # It ends by itself when its first process has, which it alone can reap.
            try:
                self._outer.wait(_CLOSING_SECONDS)
            except subprocess.TimeoutExpired:
                self._outer.kill()
                self._outer.wait()
        for fd in (self._outer_fd, self._inner_fd, self._status):
            if fd >= 0:
                asyncio.get_running_loop().remove_reader(fd)
                os.close(fd)
        self._outer_fd = self._inner_fd = self._status = -1


def launch(
    bubblewrap: Sequence[str],
    options: Iterable[str],
    argv: Sequence[str],
    *,
    fds: Sequence[int],
    stdin: int,
    stdout: int,
) -> Launched:
    """Start it. Raises SandboxUnavailable. It dies with the thread that starts it, so this must be the event loop's."""
    with ExitStack() as held:
        status, status_far = os.pipe()
        held.callback(os.close, status_far)
        # By descriptor: an argument list is for every user of the machine to read.
        words = "\0".join((*options, "--json-status-fd", str(status_far), ""))
        arguments = data_file(words.encode(), held)
        try:
            outer = subprocess.Popen(
                [*bubblewrap, "--args", str(arguments), "--", *argv],
                pass_fds=(*fds, status_far, arguments),
                stdin=stdin,
                stdout=stdout,
                stderr=stdout,
                env=CLEAN,
                cwd="/",
                umask=0o022,
                start_new_session=True,
            )
        except OSError as error:
            os.close(status)
            raise SandboxUnavailable(f"bubblewrap cannot be started: {error.strerror}.") from error
        os.set_blocking(status, False)
        return Launched(outer, status)
