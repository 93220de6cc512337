"""A small HTTP proxy for what runs beside the gateway (a sandbox, a browser): the same judge, the same pinning, hard limits.

It serves CONNECT tunnels and plain http requests, one per connection. It never looks into a tunnel, and logs hosts only.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import socket
import stat
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
from anyio.abc import ByteStream, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from ostiary.adapters.egress.errors import EgressFailed
from ostiary.adapters.egress.judge import Judge
from ostiary.adapters.egress.proxy_head import Asked, credential, read_head
from ostiary.adapters.egress.resolver import Resolve, judged_addresses
from ostiary.contracts.errors import EgressRefused
from ostiary.contracts.records import dataclass

log = logging.getLogger("ostiary.egress")

_CHUNK = 64 * 1024
_PAUSE = 0.1
_BROKEN = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, anyio.IncompleteRead, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyLimits:
    """For one connection, but for `connections`: more than so many at once are turned away. `bytes` counts both directions."""

    connections: int = 64
    head_bytes: int = 16 * 1024
    head_seconds: float = 10.0
    name_seconds: float = 5.0
    connect_seconds: float = 10.0
    idle_seconds: float = 60.0
    total_seconds: float = 600.0
    bytes: int = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyDoor:
    """Where the proxy listens. Whoever may open `socket_path` needs nothing else; `port` (0: none) is on 127.0.0.1 and asks for
    the user name and the password, which are made anew at every start."""

    socket_path: str
    port: int
    username: str
    password: str

    @property
    def server(self) -> str:
        """As browsers and libraries are told, without the credential."""
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def serve_proxy(
    judge: Judge, resolve: Resolve, *, socket_path: str, loopback: bool, mode: int, limits: ProxyLimits
) -> AsyncIterator[ProxyDoor]:
    """Serves until the context is left; then every connection ends. Raises EgressFailed if it cannot listen."""
    username, password = "ostiary", secrets.token_urlsafe(24)
    proxy = _Proxy(judge, resolve, limits, credential(username, password))
    async with AsyncExitStack() as stack:
        port = 0
        doors: list[tuple[socket.socket, Callable[[ByteStream], Coroutine[Any, Any, None]]]] = []
        if socket_path:
            doors.append((stack.enter_context(_listening_at(socket_path, mode)), proxy.serve_trusted))
        if loopback:
            at_port = stack.enter_context(_listening(("127.0.0.1", 0)))
            port = at_port.getsockname()[1]
            doors.append((at_port, proxy.serve_stranger))
        group = await stack.enter_async_context(anyio.create_task_group())
        for door, serve in doors:
            group.start_soon(_accept, door, serve)
        try:
            yield ProxyDoor(socket_path=socket_path, port=port, username=username, password=password)
        finally:
            group.cancel_scope.cancel()


@contextmanager
def _listening_at(path: str, mode: int) -> Iterator[socket.socket]:
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise EgressFailed(f"{path} is there already and is no socket.", failure="connect")
        os.unlink(path)
    with _listening(path, mode) as listener:
        try:
            yield listener
        finally:
            with suppress(OSError):
                os.unlink(path)


@contextmanager
def _listening(place: str | tuple[str, int], mode: int = 0) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX if isinstance(place, str) else socket.AF_INET) as listener:
        listener.setblocking(False)
        try:
            listener.bind(place)
            if isinstance(place, str):
                # Nobody can connect before `listen`, so nobody gets in by a mode that is too wide for a moment.
                os.chmod(place, mode)
            listener.listen()
        except OSError as error:
            raise EgressFailed(f"The proxy cannot listen at {place}: {error.strerror or error}.", failure="connect") from None
        yield listener


async def _accept(listener: socket.socket, serve: Callable[[ByteStream], Coroutine[Any, Any, None]]) -> None:
    """Until cancelled. anyio's own listener for unix sockets loses a race with its cancellation, so it is not used here."""
    async with anyio.create_task_group() as group:
        while True:
            await anyio.wait_readable(listener)
            try:
                client, _ = listener.accept()
            except BlockingIOError:
                continue
            except OSError:
                log.warning("the proxy could not take a connection")
                await anyio.sleep(_PAUSE)
                continue
            with suppress(OSError, ValueError):
                group.start_soon(serve, await SocketStream.from_socket(client))


class _Proxy:
    def __init__(self, judge: Judge, resolve: Resolve, limits: ProxyLimits, wanted: str) -> None:
        self._judge = judge
        self._resolve = resolve
        self._limits = limits
        self._wanted = wanted
        self._open = 0

    async def serve_trusted(self, client: ByteStream) -> None:
        """Who could open the socket was let in by its place and mode."""
        await self._serve(client, wanted="")

    async def serve_stranger(self, client: ByteStream) -> None:
        """Every process of the machine reaches a port, and so does every web page in a browser on it."""
        await self._serve(client, wanted=self._wanted)

    async def _serve(self, client: ByteStream, *, wanted: str) -> None:
        async with client:
            if self._open >= self._limits.connections:
                await _answer(client, "503 Too Many Connections", "The proxy has no place left.")
                return
            self._open += 1
            try:
                with anyio.move_on_after(self._limits.total_seconds):
                    await self._handle(client, wanted)
            except* _BROKEN:
                # One side went away; there is nobody to tell.
                pass
            except* Exception:
                # One client's connection must not end the others.
                log.exception("a connection of the proxy failed")
            finally:
                self._open -= 1

    async def _handle(self, client: ByteStream, wanted: str) -> None:
        reader = BufferedByteReceiveStream(client)
        try:
            with anyio.fail_after(self._limits.head_seconds):
                raw = await reader.receive_until(b"\r\n\r\n", self._limits.head_bytes)
            asked = read_head(raw)
        except TimeoutError:
            await _answer(client, "408 Request Timeout", "The request did not arrive in time.")
            return
        except (EgressRefused, anyio.DelimiterNotFound) as error:
            await _answer(client, "400 Bad Request", str(error))
            return
        if wanted and not hmac.compare_digest(asked.authorization.encode(), wanted.encode()):
            await _answer(client, "407 Proxy Authentication Required", "The proxy asks for a user name and password.")
            return
        try:
            server = await self._dial(asked)
        except EgressRefused as error:
            log.info("proxy refused %s", asked.host)
            await _answer(client, "403 Forbidden", str(error))
            return
        except EgressFailed as error:
            await _answer(client, "504 Gateway Timeout" if error.failure == "timeout" else "502 Bad Gateway", str(error))
            return
        log.debug("proxy connected %s", asked.host)
        async with server:
            await _Pipe(self._limits).join(asked, client, reader, server)

    async def _dial(self, asked: Asked) -> ByteStream:
        """One of the judged addresses, in their order. Raises EgressRefused, EgressFailed."""
        limits = self._limits
        addresses = await judged_addresses(asked.host, asked.port, self._judge, self._resolve, limits.name_seconds)
        try:
            with anyio.fail_after(limits.connect_seconds):
                for address in addresses:
                    with suppress(OSError):
                        return await anyio.connect_tcp(address, asked.port)
        except TimeoutError:
            raise EgressFailed(
                f"{asked.host} could not be reached within {limits.connect_seconds:g} s.", failure="timeout"
            ) from None
        raise EgressFailed(f"{asked.host} could not be reached.", failure="connect")


class _Pipe:
    """Bytes both ways until one side is done, too many came, or nothing came for too long."""

    def __init__(self, limits: ProxyLimits) -> None:
        self._limits = limits
        self._left = limits.bytes
        self._scope = anyio.CancelScope()

    async def join(self, asked: Asked, client: ByteStream, reader: BufferedByteReceiveStream, server: ByteStream) -> None:
        self._touch()
        with self._scope:
            async with anyio.create_task_group() as group:
                if asked.url is None:
                    await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    group.start_soon(self._copy, reader, server)
                    await self._copy(server, client)
                    return
                await server.send(asked.head)
                # Exactly its body: a second request behind it would go to a host that nobody judged.
                group.start_soon(self._copy_exactly, asked.length, reader, server)
                await self._copy(server, client)
                group.cancel_scope.cancel()

    async def _copy(self, source: BufferedByteReceiveStream | ByteStream, sink: ByteStream) -> None:
        while True:
            try:
                chunk = await source.receive(_CHUNK)
            except anyio.EndOfStream:
                with suppress(*_BROKEN):
                    await sink.send_eof()
                return
            await self._pass_on(chunk, sink)

    async def _copy_exactly(self, length: int, source: BufferedByteReceiveStream, sink: ByteStream) -> None:
        while length:
            chunk = await source.receive(min(length, _CHUNK))
            length -= len(chunk)
            await self._pass_on(chunk, sink)

    async def _pass_on(self, chunk: bytes, sink: ByteStream) -> None:
        self._left -= len(chunk)
        if self._left < 0:
            self._scope.cancel()
        await sink.send(chunk)
        self._touch()

    def _touch(self) -> None:
        self._scope.deadline = anyio.current_time() + self._limits.idle_seconds


async def _answer(client: ByteStream, status: str, text: str) -> None:
    body = text.encode()
    challenge = 'Proxy-Authenticate: Basic realm="ostiary"\r\n' if status.startswith("407") else ""
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        f"{challenge}Connection: close\r\n\r\n"
    )
    with suppress(*_BROKEN), anyio.move_on_after(5):
        await client.send(head.encode() + body)
