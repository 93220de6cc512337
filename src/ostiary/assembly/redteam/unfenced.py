"""What a house would be without its fences: commands on the bare machine, addresses nobody judges. For proofs only."""

import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address
from types import SimpleNamespace
from typing import Any
from unicodedata import normalize
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.to_thread

from ostiary.adapters.egress import Fetched
from ostiary.adapters.tools.files import Target
from ostiary.assembly.redteam.observing import Witness
from ostiary.assembly.redteam.puppet import plain_get
from ostiary.contracts.sandbox import Command, Exit, SandboxProfile

_SECONDS = 20.0
# Names that lead inside on the machines they are meant for.
_PLAYED = ("localhost", "metadata.google.internal")
_WITHIN = (b"\0" * 10 + b"\xff\xff", b"\0\x64\xff\x9b" + b"\0" * 8)

Resolve = Callable[[str], Awaitable[Sequence[str]]]


class Ended:
    """A command that has run."""

    def __init__(self, exit: Exit) -> None:
        self._exit = exit

    def output(self, after: int = 0) -> tuple[bytes, int]:
        return self._exit.output[after:], len(self._exit.output)

    async def write(self, data: bytes) -> None:
        return

    async def end(self) -> None:
        return

    async def wait(self) -> Exit:
        return self._exit


class Unfenced:
    """Implements contracts.sandbox.Sandbox by fencing nothing; `environ` is the house's own."""

    name = "unfenced"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)

    async def probe(self) -> None:
        return

    async def run(self, command: Command, profile: SandboxProfile, *, on_output: Callable[[bytes], None] | None = None) -> Exit:
        where = next((mount.source for mount in profile.mounts if mount.target == profile.workdir), "/")

        def run() -> Exit:
            env = {**os.environ, **self._environ, **command.env}
            try:
                done = subprocess.run(
                    command.argv, cwd=where, env=env, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
                )
            except subprocess.TimeoutExpired:
                return Exit(code=None, timed_out=True)
            return Exit(code=done.returncode, output=done.stdout + done.stderr)

        return await anyio.to_thread.run_sync(run)

    @asynccontextmanager
    async def start(self, command: Command, profile: SandboxProfile) -> AsyncIterator[Ended]:
        yield Ended(await self.run(command, profile))


class Unjudged:
    """A profile of the egress that reaches whatever it is told. Hosts are read as the most lenient of clients reads them; the
    witness plays what is not public as a service inside the network. Nobody outside is called."""

    def __init__(self, witness: Witness, resolve: Resolve) -> None:
        self._witness = witness
        self._resolve = resolve

    def check(self, url: str) -> SimpleNamespace:
        parts = urlsplit(url)
        return _Named(url, host=parts.hostname or "nowhere")

    async def fetch(self, url: str, **_: object) -> Fetched:
        before: list[str] = []
        for _hop in range(6):
            parts = urlsplit(url)
            port = self._witness.outside
            if f"127.0.0.1:{port}" != parts.netloc:
                port = self._witness.inside
                await self._reach(parts.hostname or "")
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            status, headers, body = await plain_get("127.0.0.1", port, target)
            if "location" not in headers:
                break
            before.append(url)
            url = urljoin(url, headers["location"])
        return Fetched(
            status=status, url=url, host=urlsplit(url).hostname or "nowhere", headers=headers, body=body, redirects=tuple(before)
        )

    async def _reach(self, host: str) -> None:
        """Raises OSError where nothing would answer but somebody outside."""
        plain = normalize("NFKC", host).replace("\u3002", ".").rstrip(".")
        found = [plain] if _address(plain) else [] if plain.endswith(_PLAYED) else list(await self._resolve(plain))
        addresses = [address for address in map(_address, found) if address is not None]
        if not plain.endswith(_PLAYED) and all(address.is_global for address in addresses):
            raise OSError(f"{host} is not a place inside")


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """What many programs take it for: also 127.1, 0x7f000001, 2130706433 and an address within an address."""
    try:
        # The C library's own reading.
        return IPv4Address(socket.inet_aton(text))
    except (OSError, ValueError):
        pass
    try:
        read = IPv6Address(text.partition("%")[0])
    except ValueError:
        return None
    return IPv4Address(read.packed[-4:]) if read.packed[:12] in _WITHIN else read


class Following:
    """A workspace that takes links for what they lead to."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def capture(self, lease: Any, **named: Any) -> Any:
        await anyio.to_thread.run_sync(_follow_links, lease.directory)
        return await self._inner.capture(lease, **named)


def _follow_links(folder: str) -> None:
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(where, name)
            if os.path.islink(path):
                target = os.path.realpath(path)
                os.unlink(path)
                if os.path.isdir(target):
                    shutil.copytree(target, path)
                elif os.path.isfile(target):
                    shutil.copy(target, path)


class Careless:
    """Files that may be written whatever they are called."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def target(self, path: str, context: Any) -> Target:
        return Target(path=path, place=path, version=0, content=None, label=None)


class _Named(SimpleNamespace):
    def __init__(self, url: str, **facts: str) -> None:
        super().__init__(**facts)
        self._url = url

    def __str__(self) -> str:
        return self._url
