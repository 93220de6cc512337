"""A command as a process of the host, with whatever fence its command line brings along; for backends without pid namespaces.

There everything it started is found by a mark in its environment, which children inherit, and by its process group.
"""

import os
import pty
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import anyio
from anyio.abc import Process as Child

from ostiary.adapters.sandbox.ends import Ends, open_ends
from ostiary.adapters.sandbox.waits import Over, Until
from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.sandbox import Command, SandboxProfile

MARK = "OSTIARY_RUN"
_LOOK_EVERY = 0.02


class PlainTree:
    """`find` lists what is left of the run, given its mark."""

    def __init__(self, child: Child, ends: Ends, mark: str, find: Callable[[str], list[int]], until: Until) -> None:
        self._child = child
        self.ends = ends
        self._mark = mark
        self._find = find
        self._until = until

    @property
    def root(self) -> int | None:
        return self._child.pid

    @property
    def settle(self) -> Callable[[], bool] | None:
        return None

    def follow(self, over: Over) -> None:
        self._until(self._gone, over)

    async def _gone(self) -> tuple[int | None, int | None]:
        code = await self._child.wait()
        # Nothing tells us when processes that are not our children end; `running` bounds this wait.
        while self._signal_all(signal.SIGKILL):  # noqa: ASYNC110
            await anyio.sleep(_LOOK_EVERY)
        return (None, -code) if code < 0 else (code, None)

    def terminate(self) -> None:
        self._signal_all(signal.SIGTERM)

    def kill(self) -> None:
        self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: signal.Signals) -> bool:
        """Whether there was anything to signal."""
        found = self._find(self._mark)
        if self._child.returncode is None:
            found.append(self._child.pid)
        for pid in found:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue
        return bool(found)

    def close(self) -> None:
        if self._child.returncode is None:
            self.kill()
        self.ends.close()


async def start_plain(
    argv: Sequence[str], command: Command, until: Until, *, environment: Mapping[str, str], cwd: str, interactive: bool
) -> PlainTree:
    """Raises SandboxUnavailable if it cannot be started at all."""
    mark = secrets.token_hex(16)
    with ExitStack() as held:
        ends = open_ends(command, held, interactive=interactive, terminal=pty.openpty if command.pty else None)
        try:
            child = await anyio.open_process(
                list(argv),
                stdin=ends.near_in,
                stdout=ends.near_out,
                stderr=ends.near_out,
                cwd=cwd,
                env={**environment, MARK: mark},
                start_new_session=True,
            )
        except OSError as error:
            ends.close()
            raise SandboxUnavailable(f"The command cannot be started: {error.strerror}.") from error
    return PlainTree(child, ends, mark, marked if sys.platform == "linux" else marked_by_ps, until)


def marked(mark: str) -> list[int]:
    """Living processes of this user with the mark, by /proc."""
    found = []
    word = f"{MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            # What has ended and waits to be reaped has no environment any more.
            found += [int(path.parent.name)] if word in path.read_bytes() else []
        except OSError:
            continue
    return found


def marked_by_ps(mark: str) -> list[int]:
    """The same where there is no /proc: macOS shows one's own processes' environments."""
    shown = subprocess.run(
        ["ps", "-A", "-E", "-ww", "-o", "pid=,stat=,command="], capture_output=True, text=True, timeout=5, check=False
    )
    lines = [line.split(None, 2) for line in shown.stdout.splitlines() if f"{MARK}={mark}" in line]
    return [int(fields[0]) for fields in lines if not fields[1].startswith("Z")]


def on_host(path: str, profile: SandboxProfile) -> str:
    """Where a path of the profile lies without mounts. Raises ToolError for one that no mount holds."""
    holding = [mount for mount in profile.mounts if (path + "/").startswith(mount.target.rstrip("/") + "/")]
    if not holding:
        raise ToolError(f"{path} is in no directory of this command.")
    mount = max(holding, key=lambda each: len(each.target))
    return os.path.normpath(mount.source + path[len(mount.target.rstrip("/")) :])
