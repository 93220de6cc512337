"""A sandbox for one command by the system's own programs alone: used where nothing can be compiled."""

import os
import pty
import shutil
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from importlib import resources
from pathlib import Path

import anyio

from ostiary.adapters.sandbox import machine as machines
from ostiary.adapters.sandbox.cgroups import Group
from ostiary.adapters.sandbox.ends import Ends, open_ends, text_of
from ostiary.adapters.sandbox.instructions import failed
from ostiary.adapters.sandbox.launch import Launched, data_file, launch, rlimits
from ostiary.adapters.sandbox.machine import Machine
from ostiary.adapters.sandbox.order import Order
from ostiary.adapters.sandbox.proc import tree
from ostiary.adapters.sandbox.running import NeverBegan, Outcome
from ostiary.adapters.sandbox.view import PROXY_SOCKET, Source
from ostiary.contracts.errors import SandboxUnavailable
from ostiary.contracts.sandbox import Command, SandboxProfile


class ColdTree:
    def __init__(self, launched: Launched, ends: Ends, group: Group | None) -> None:
        self._launched = launched
        self.ends = ends
        self._group = group

    @property
    def root(self) -> int | None:
        return self._launched.inner

    @property
    def settle(self) -> Callable[[], bool] | None:
        return None

    def follow(self, over: Callable[[Outcome], None]) -> None:
        def ended(status: int | None) -> None:
            # bubblewrap reports a signal as shells do.
            is_signal = status is not None and 128 < status < 128 + signal.NSIG
            over(NeverBegan() if status is None else (None, status - 128) if is_signal else (status, None))

        self._launched.follow(ended)

    def terminate(self) -> None:
        for pid in tree(self._launched.inner)[1:]:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                continue

    def kill(self) -> None:
        self._launched.kill()

    def close(self) -> None:
        self._launched.close()
        self.ends.close()
        if self._group is not None:
            self._group.remove()


async def start_cold(machine: Machine, sources: Sequence[Source], order: Order) -> ColdTree:
    """Held back until its limits are in place. Raises SandboxUnavailable, ToolError."""
    command, profile, environment = order.command, order.profile, order.environment
    with ExitStack() as held:
        line = machines.line(machine, sources, profile, environment["HOME"])
        go_far, go = os.pipe()
        for fd in (go_far, go):
            held.callback(os.close, fd)
        seccomp = data_file(machine.filter, held)
        words = [*line.options, "--chdir", profile.workdir]
        words += ["--seccomp", str(seccomp), "--block-fd", str(go_far)]
        words += [word for name, value in environment.items() for word in ("--setenv", name, value)]
        argv = [*_before(command, profile), *command.argv]
        ends = open_ends(command, held, interactive=order.interactive, terminal=pty.openpty if command.pty else None)
        fds = (seccomp, go_far)
        launched = launch(line.starter, words, argv, fds=fds, stdin=ends.near_in, stdout=ends.near_out)
        group = machine.groups.make(profile.limits) if machine.groups else None
        made = ColdTree(launched, ends, group)
        try:
            if not (await launched.meet() and await _join(launched.inner, group)):
                launched.close()
                raise failed(text_of(ends.reader))
            os.write(go, b"g")
        except BaseException:
            made.close()
            raise
        return made


async def _join(pid: int, group: Group | None) -> bool:
    """False if it cannot be bounded."""
    _offer(pid)
    return group is None or await anyio.to_thread.run_sync(group.add, pid)


def _offer(pid: int) -> None:
    """When the machine has no memory left, it is the command that ends, not the gateway."""
    with suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")


def _before(command: Command, profile: SandboxProfile) -> list[str]:
    """What runs inside before the command and becomes it."""
    if shutil.which("prlimit", path="/usr/bin") is None:
        raise SandboxUnavailable("Commands are not run: prlimit is missing.", hint="Install util-linux, or a C compiler.")
    words = ["/usr/bin/prlimit", *rlimits(profile.limits), "--"]
    if profile.network == "proxy":
        if shutil.which("python3", path="/usr/bin") is None:
            raise SandboxUnavailable(
                "Network by proxy needs a C compiler or python3 on this machine.", hint="Install gcc or python3."
            )
        text = resources.files(__package__).joinpath("forwarder.py").read_text()
        words += ["/usr/bin/python3", "-I", "-S", "-c", text, PROXY_SOCKET]
    if command.pty and shutil.which("setsid", path="/usr/bin") is not None:
        words += ["/usr/bin/setsid", "--ctty", "--wait"]
    return words
