"""The fence of a container engine, Docker or Podman, behind the same port: one container for each command, gone with it."""

import os
import pty
import secrets
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from importlib import resources
from pathlib import Path

import anyio
from anyio.abc import Process as Child

from ostiary.adapters.sandbox import environment, view
from ostiary.adapters.sandbox.commands import Commands
from ostiary.adapters.sandbox.ends import Ends, open_ends
from ostiary.adapters.sandbox.launch import cpu_seconds
from ostiary.adapters.sandbox.machine import check_socket
from ostiary.adapters.sandbox.ownership import give, lend, unprivileged_user
from ostiary.adapters.sandbox.probe import try_canaries
from ostiary.adapters.sandbox.running import Running
from ostiary.adapters.sandbox.waits import Over, Until, awaiting
from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.sandbox import Command, SandboxProfile

IMAGE = "debian:stable-slim"
# What the engine's own client may see of us: where the engine is.
_CLIENT = (
    "PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "CONTAINER_HOST",
    "XDG_RUNTIME_DIR",
)  # fmt: skip
_SECONDS = 20.0
# The engine answers so when the command itself never began.
_ENGINE_FAILED = 125


def arguments(name: str, image: str, user: str, command: Command, profile: SandboxProfile, seen: Mapping[str, str]) -> list[str]:
    """Of `run`. Values of the caller's variables are not among them: an argument list is for everybody to read."""
    limits = profile.limits
    temporary = f"rw,nosuid,nodev,exec,size={limits.temporary_bytes},mode=1777"
    words = [
        "run",
        "--rm",
        "--init",
        "--interactive",
        "--pull",
        "never",
        "--name",
        name,
        "--hostname",
        "sandbox",
        "--network",
        "none",
    ]
    words += ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--ipc", "private", "--user", user]
    words += [
        "--memory",
        str(limits.memory_bytes),
        "--memory-swap",
        str(limits.memory_bytes),
        "--pids-limit",
        str(limits.processes),
    ]
    words += ["--ulimit", f"fsize={limits.file_bytes}", "--ulimit", f"nofile={limits.open_files}", "--ulimit", "core=1"]
    words += ["--ulimit", f"cpu={cpu_seconds(limits)}", "--shm-size", str(limits.temporary_bytes), "--tmpfs", f"/tmp:{temporary}"]  # noqa: S108
    for mount in profile.mounts:
        words += ["--mount", _mount(mount.source, mount.target, writable=mount.writable)]
    if profile.network == "proxy":
        words += ["--mount", _mount(profile.proxy_socket, view.PROXY_SOCKET, writable=False)]
    for variable in seen:
        words += ["--env", variable if variable in command.env else f"{variable}={seen[variable]}"]
    words += ["--tty"] if command.pty else []
    return [*words, "--workdir", profile.workdir, "--entrypoint", "", image, *_forwarding(profile), *command.argv]


def _mount(source: str, target: str, *, writable: bool) -> str:
    if any(character in source + target for character in ',"\n'):
        raise ToolError(f"{target} cannot be mounted: its name has characters the engine cannot take.")
    return f"type=bind,source={source},target={target}" + ("" if writable else ",readonly")


def _forwarding(profile: SandboxProfile) -> list[str]:
    if profile.network != "proxy":
        return []
    text = resources.files(__package__).joinpath("forwarder.py").read_text()
    return ["python3", "-I", "-S", "-c", text, view.PROXY_SOCKET]


class ContainerTree:
    """The engine's client is our child; the container is ended by name, and its absence is looked for."""

    def __init__(self, engine: str, name: str, child: Child, ends: Ends, until: Until) -> None:
        self._engine = engine
        self._name = name
        self._child = child
        self.ends = ends
        self._until = until
        self._asked: list[subprocess.Popen[bytes]] = []

    @property
    def root(self) -> int | None:
        # Its memory and processes are the engine's to count.
        return None

    @property
    def settle(self) -> Callable[[], bool] | None:
        return None

    def follow(self, over: Over) -> None:
        self._until(self._gone, over)

    async def _gone(self) -> tuple[int | None, int | None]:
        code = await self._child.wait()
        await self._call("rm", "--force", "--volumes", self._name)
        left = await self._call("ps", "--all", "--quiet", "--filter", f"name=^/?{self._name}$")
        if left.strip():
            raise SandboxUnavailable("A container could not be removed.", hint=f"Look at the container {self._name}.")
        if code == _ENGINE_FAILED:
            raise SandboxUnavailable("The container engine could not start the command.", hint="Run it by hand to see why.")
        # The engine reports a signal as shells do; a client that we killed, as the kernel does.
        number = -code if code < 0 else code - 128
        return (None, number) if 0 < number < signal.NSIG else (code, None)

    def terminate(self) -> None:
        self._ask("kill", "--signal", "TERM", self._name)

    def kill(self) -> None:
        self._ask("kill", "--signal", "KILL", self._name)
        # It may be too early for a container: without its client it is removed, whenever it comes.
        if self._child.returncode is None:
            self._child.kill()

    def _ask(self, *words: str) -> None:
        null = subprocess.DEVNULL
        self._asked.append(subprocess.Popen([self._engine, *words], stdin=null, stdout=null, stderr=null, env=_client()))

    async def _call(self, *words: str) -> bytes:
        with anyio.move_on_after(_SECONDS):
            done = await anyio.run_process([self._engine, *words], stdin=subprocess.DEVNULL, check=False, env=_client())
            return done.stdout
        return b"no answer"

    def close(self) -> None:
        if self._child.returncode is None:
            self.kill()
        for asked in self._asked:
            try:
                asked.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                asked.kill()
                asked.wait()
        self.ends.close()


class Container:
    """A Sandbox. `engine` is docker or podman; the image must be there already."""

    def __init__(self, *, state: Path, engine: str = "docker", image: str = IMAGE) -> None:
        self.name = engine
        self._state = state
        self._image = image
        self._commands = commands = Commands(self._prove, self._started)
        self.probe, self.run, self.start, self.aclose = commands.probe, commands.run, commands.start, commands.aclose

    async def _prove(self) -> None:
        self._find()
        try:
            await try_canaries(self._commands.run_unproven, self._state)
        except SandboxUnavailable as error:
            error.hint = error.hint or f"Is the engine running, and the image there? {self.name} pull {self._image}"
            raise

    def _find(self) -> str:
        found = shutil.which(self.name)
        if found is None:
            raise SandboxUnavailable(
                f"Commands are not run: {self.name} is not installed.", hint=f"Install {self.name} and start it."
            )
        return found

    @asynccontextmanager
    async def _started(
        self, command: Command, profile: SandboxProfile, *, interactive: bool, on_output: Callable[[bytes], None] | None
    ) -> AsyncIterator[Running]:
        engine = self._find()
        seen = environment.inside(command, profile)
        name = f"ostiary-{secrets.token_hex(8)}"
        with ExitStack() as held:
            user = _hand_over(profile, held)
            words = arguments(name, self._image, f"{user}:{user}", command, profile, seen)
            ends = open_ends(command, held, interactive=interactive, terminal=pty.openpty if command.pty else None)
            child = await anyio.open_process(
                [engine, *words],
                stdin=ends.near_in,
                stdout=ends.near_out,
                stderr=ends.near_out,
                env={**_client(), **command.env},
                start_new_session=True,
            )
        async with awaiting() as until:
            tree = ContainerTree(engine, name, child, ends, until)
            async with Running(
                tree, profile.limits, stdin=command.stdin, interactive=interactive, on_output=on_output
            ) as process:
                yield process


def _hand_over(profile: SandboxProfile, held: ExitStack) -> int:
    """Who the command is inside: ourselves, or when we are root somebody else, who is then given the directories."""
    sources = view.open_sources(profile, held)
    if profile.network == "proxy":
        check_socket(profile.proxy_socket)
    user = unprivileged_user()
    if user is None:
        return os.getuid()
    for source in sources:
        (give if source.mount.writable else lend)(source.fd, user)
    return user


def _client() -> dict[str, str]:
    return {name: os.environ[name] for name in _CLIENT if name in os.environ}
