"""The port to fenced execution. There is no way to run a command that does not go through a `Sandbox`."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Literal, Protocol

from ostiary.contracts.records import dataclass

Network = Literal["none", "proxy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A directory of the host as the command sees it. Everything else of the host but the system is not there."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Every run has all of them; none means "unlimited". `output_bytes` keeps head and tail, the middle is counted."""

    seconds: float = 30.0
    output_bytes: int = 1024 * 1024
    processes: int = 256
    memory_bytes: int = 2 * 1024**3
    file_bytes: int = 256 * 1024**2
    open_files: int = 1024
    temporary_bytes: int = 64 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxProfile:
    """The fence of one run. With `network` "proxy" the command reaches the world only through `proxy_socket`, a unix
    socket on the host that speaks HTTP CONNECT and applies the egress rules; inside it is 127.0.0.1:3128."""

    mounts: tuple[Mount, ...]
    workdir: str
    network: Network = "none"
    proxy_socket: str = ""
    limits: SandboxLimits = field(default_factory=SandboxLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`env` is everything the command sees besides PATH, HOME, LANG and TERM, which the sandbox sets."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    pty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a run ended. `code` is None if a signal ended it. `left_out` counts output bytes beyond the cap."""

    code: int | None
    signal: int | None = None
    timed_out: bool = False
    output: bytes = b""
    left_out: int = 0
    seconds: float = 0.0


class Process(Protocol):
    """A command that runs; its whole tree ends with the context that started it."""

    def output(self, after: int = 0) -> tuple[bytes, int]:
        """What it has printed beyond offset `after` as far as it is kept, and the offset reached."""
        ...

    async def write(self, data: bytes) -> None:
        """To its terminal or standard input. Raises ToolError once it is gone."""
        ...

    async def end(self) -> None:
        """SIGTERM to its children, a moment, then SIGKILL to the whole tree; returns when nothing of it is left."""
        ...

    async def wait(self) -> Exit: ...


class Sandbox(Protocol):
    """Raises SandboxUnavailable, never runs unfenced. `name` is what people read (bubblewrap, docker, seatbelt)."""

    @property
    def name(self) -> str: ...

    async def probe(self) -> None:
        """Run the real command line on canaries, once; raises SandboxUnavailable with what to install or allow."""
        ...

    async def run(self, command: Command, profile: SandboxProfile, *, on_output: Callable[[bytes], None] | None = None) -> Exit:
        """Returns when nothing of the command's tree is left; cancelling ends it too."""
        ...

    def start(self, command: Command, profile: SandboxProfile) -> AbstractAsyncContextManager[Process]: ...
