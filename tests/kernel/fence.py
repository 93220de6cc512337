"""How the tests run commands inside, and the same commands outside, where they must be able to succeed."""

import platform
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import anyio

from ostiary.adapters.sandbox.syscalls import ARCHITECTURES, NUMBERS
from ostiary.contracts.sandbox import Command, Exit, Mount, Process, Sandbox, SandboxLimits, SandboxProfile

SECRET = "the-host-keeps-this-to-itself"
HERE = ARCHITECTURES[platform.machine()]
PRELUDE = f"""
import ctypes, os, socket, struct, sys
NR = {{{", ".join(f"{name!r}: {numbers[HERE.column]}" for name, numbers in NUMBERS.items() if numbers[HERE.column] is not None)}}}
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    libc.syscall.restype = ctypes.c_long
    done = libc.syscall(NR[name], *[ctypes.c_long(one) if isinstance(one, int) else one for one in arguments])
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done
"""
SMALL = SandboxLimits(
    seconds=20.0, memory_bytes=256 * 1024**2, processes=40, file_bytes=16 * 1024**2, temporary_bytes=8 * 1024**2
)
# bubblewrap's own view of everything, with every capability there is in it and no filter: what a fence must keep from happening.
OPEN = ("bwrap", "--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "ALL", "--dev-bind", "/", "/", "--tmpfs", "/mnt")
APART = ("--unshare-net", "--unshare-uts")


class Fence:
    def __init__(self, sandbox: Sandbox, workspace: Path) -> None:
        self.sandbox = sandbox
        self.workspace = workspace
        self.profile = SandboxProfile(
            mounts=(Mount(source=str(workspace), target="/workspace", writable=True),), workdir="/workspace", limits=SMALL
        )

    async def run(
        self,
        *argv: str,
        limits: SandboxLimits = SMALL,
        on_output: Callable[[bytes], None] | None = None,
        env: Mapping[str, str] | None = None,
        pty: bool = False,
        stdin: bytes = b"",
    ) -> Exit:
        command = Command(argv=argv, env=env or {}, pty=pty, stdin=stdin)
        return await self.sandbox.run(command, replace(self.profile, limits=limits), on_output=on_output)

    async def shell(self, text: str, *, limits: SandboxLimits = SMALL) -> str:
        done = await self.run("/bin/sh", "-c", text, limits=limits)
        return done.output.decode(errors="replace").strip()

    async def python(self, text: str, *arguments: str, limits: SandboxLimits = SMALL) -> str:
        """What the attempt says."""
        done = await self.run("/usr/bin/python3", "-c", PRELUDE + text, *arguments, limits=limits)
        return done.output.decode(errors="replace").strip() or f"nothing (code {done.code}, signal {done.signal})"


def outside(text: str, *arguments: str, env: Mapping[str, str] | None = None, apart: bool = False) -> str:
    """The same attempt without the fence; `apart` in namespaces over which it has power."""
    command = [*OPEN, *(APART if apart else ()), "--", "/usr/bin/python3", "-c", PRELUDE + text, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=False, env={"PATH": "/usr/bin:/bin", **(env or {})}
    )
    return (done.stdout + done.stderr).strip()


def last(text: str) -> str:
    return text.splitlines()[-1]


async def more(process: Process, after: int) -> tuple[bytes, int]:
    """The next output, when it is there."""
    with anyio.fail_after(20):
        while process.output(after)[1] == after:  # noqa: ASYNC110 - the port has nothing to wait for
            await anyio.sleep(0.01)
    return process.output(after)


def alive(marker: str) -> list[int]:
    """Processes of the host that carry the marker in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        found += [int(path.parent.name)] if marker.encode() in text else []
    return found
