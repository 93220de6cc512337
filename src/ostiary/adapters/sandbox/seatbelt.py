"""The fence of macOS: sandbox-exec with a profile written for each command. Directories keep their own names there."""

import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from ostiary.adapters.sandbox import environment
from ostiary.adapters.sandbox.commands import Commands
from ostiary.adapters.sandbox.plain import on_host, start_plain
from ostiary.adapters.sandbox.running import Running
from ostiary.adapters.sandbox.waits import awaiting
from ostiary.contracts.errors import SandboxUnavailable
from ostiary.contracts.sandbox import Command, Mount, SandboxLimits, SandboxProfile

_SYSTEM = (
    "/usr", "/bin", "/sbin", "/System", "/Library/Frameworks", "/Library/Developer", "/Library/Apple", "/opt/homebrew",
    "/private/etc/ssl", "/private/var/db/timezone", "/private/var/db/dyld", "/private/var/select",
)  # fmt: skip
_FILES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper", "/private/etc/localtime")
_FOLDERS = ("/", "/private", "/private/etc", "/private/var", "/dev", "/Library", "/opt", "/Users")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/fd/1", "/dev/fd/2")
_NETWORK = "Network by proxy does not exist behind seatbelt: everything there shares the machine's own loopback."
_CANARY_SECONDS = 10.0


def profile_text(profile: SandboxProfile, temporary: str) -> str:
    """In Apple's language: everything is refused but what is named. `temporary` is a directory of the run alone."""
    return "\n".join(_lines(profile, temporary)) + "\n"


def _lines(profile: SandboxProfile, temporary: str) -> Iterator[str]:
    yield "(version 1)"
    yield "(deny default)"
    yield "(allow process-fork process-exec)"
    yield "(allow signal (target same-sandbox))"
    yield "(allow process-info* (target same-sandbox))"
    yield "(allow sysctl-read)"
    yield '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))'
    readable = [*_SYSTEM, temporary, *(mount.source for mount in profile.mounts)]
    writable = [temporary, *(mount.source for mount in profile.mounts if mount.writable)]
    yield f"(allow file-read* {_each('subpath', readable)} {_each('literal', _FILES)})"
    yield f"(allow file-read-metadata {_each('literal', _FOLDERS)} {_each('literal', _above(readable))})"
    yield f"(allow file-write* {_each('subpath', writable)})"
    yield f"(allow file-write-data {_each('literal', _DEVICES)})"
    yield '(allow file-read* file-write* file-ioctl (regex #"^/dev/ttys[0-9]+$") (literal "/dev/ptmx"))'
    # A file that changes the identity of who runs it, and names for what lies outside.
    yield "(deny file-write-setugid)"
    yield "(deny file-link)"
    yield "(deny network*)"


def _each(kind: str, paths: list[str] | tuple[str, ...]) -> str:
    """Quoted: a path cannot end its own quotation."""
    return " ".join(f"({kind} {json.dumps(path, ensure_ascii=False)})" for path in paths)


def _above(paths: list[str]) -> list[str]:
    return sorted({str(parent) for path in paths for parent in Path(path).parents})


class Seatbelt:
    """A Sandbox. `state` holds each run's temporary directory; `program` is where the system keeps sandbox-exec."""

    name = "seatbelt"

    def __init__(self, *, state: Path, program: str = "/usr/bin/sandbox-exec") -> None:
        self._state = state
        self._program = program
        self._commands = commands = Commands(self._prove, self._started)
        self.probe, self.run, self.start, self.aclose = commands.probe, commands.run, commands.start, commands.aclose

    async def _prove(self) -> None:
        """A file outside must not be readable, and one inside must be."""
        if shutil.which(self._program) is None:
            raise SandboxUnavailable("Commands are not run: sandbox-exec is not here.", hint="Seatbelt is part of macOS only.")
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        inside, outside = self._state / "canary", self._state / "outside-canary"
        inside.mkdir(exist_ok=True)
        (inside / "file").write_text("inside")
        outside.write_text("outside")
        mount = Mount(source=str(inside.resolve()), target="/workspace", writable=True)
        limits = SandboxLimits(seconds=_CANARY_SECONDS, output_bytes=4096)
        profile = SandboxProfile(mounts=(mount,), workdir="/workspace", limits=limits)
        command = Command(argv=("/bin/sh", "-c", f'cat file; cat "{outside.resolve()}" 2>/dev/null; exit 0'))
        done = await self._commands.run_unproven(command, profile)
        if done.output != b"inside":
            raise SandboxUnavailable("Commands are not run: the sandbox does not hold on this machine.", hint="Please report it.")

    @asynccontextmanager
    async def _started(
        self, command: Command, profile: SandboxProfile, *, interactive: bool, on_output: Callable[[bytes], None] | None
    ) -> AsyncIterator[Running]:
        if profile.network != "none":
            raise SandboxUnavailable(_NETWORK, hint="Use the docker backend for commands with network.")
        seen = environment.inside(command, profile)
        workdir = on_host(profile.workdir, profile)
        async with anyio.TemporaryDirectory(prefix="run-", dir=str(self._state)) as temporary, awaiting() as until:
            text = profile_text(profile, temporary)
            seen = {**seen, "HOME": workdir, "TMPDIR": temporary, "XDG_CACHE_HOME": f"{temporary}/.cache"}
            argv = (self._program, "-p", text, *_limited(command.argv, profile.limits))
            tree = await start_plain(argv, command, until, environment=seen, cwd=workdir, interactive=interactive)
            async with Running(
                tree, profile.limits, stdin=command.stdin, interactive=interactive, on_output=on_output, disk=workdir
            ) as process:
                yield process


def _limited(argv: tuple[str, ...], limits: SandboxLimits) -> tuple[str, ...]:
    """The shell sets what the system can limit for one process, then becomes the command."""
    text = f'ulimit -c 0; ulimit -n {limits.open_files}; ulimit -f {limits.file_bytes // 512}; exec "$@"'
    return ("/bin/sh", "-c", text, "sh", *argv)
