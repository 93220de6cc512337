"""A proxy with a credential that is the whole internet: it serves made-up hosts itself and refuses every other."""

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from urllib.parse import urlsplit

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from ostiary.contracts.identity import Principal

_WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_GONE = (OSError, anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError)


class Internet:
    """Hosts below `.example` exist; `owners.example` is forbidden to everybody but the owner.

    `asked` is every request as `METHOD host path`; `judged` every URL put to the judge."""

    def __init__(self) -> None:
        self.username, self.password = "browser", "s3cret"
        self.proxy = ""
        self.asked: list[str] = []
        self.judged: list[str] = []
        self.unproven = 0
        self._pages: dict[str, bytes] = {}
        self._numbers = count(1)

    def page(self, body: str, *, head: str = "Content-Type: text/html; charset=utf-8", host: str = "site.example") -> str:
        """A new address that answers with this."""
        path = f"/{next(self._numbers)}"
        content = body.encode()
        self._pages[path] = f"HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
        return f"http://{host}{path}"

    def redirect(self, to: str) -> str:
        path = f"/{next(self._numbers)}"
        opened = "Access-Control-Allow-Origin: *"
        self._pages[path] = f"HTTP/1.1 302 Found\r\nLocation: {to}\r\n{opened}\r\nContent-Length: 0\r\n\r\n".encode()
        return f"http://site.example{path}"

    def silent(self) -> str:
        """An address that takes the request and never answers."""
        return "http://silent.example/"

    @property
    def hosts(self) -> set[str]:
        return {line.split()[1] for line in self.asked}

    async def refuses(self, url: str, principal: Principal) -> str:
        self.judged.append(url)
        if "owners.example" in url and not principal.is_owner:
            return "this address is the owner's"
        return "the rules forbid this address" if "forbidden" in url else ""

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                await self._requests(stream)
            except _GONE:
                return

    async def _requests(self, stream: SocketStream) -> None:
        reader = BufferedByteReceiveStream(stream)
        proof = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
        tunnel = ""
        while True:
            head = (await reader.receive_until(b"\r\n\r\n", 65_536)).decode("latin-1")
            method, target, _ = head.split("\r\n")[0].split(" ")
            fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])}
            await reader.receive_exactly(int(fields.get("content-length", 0)) or 0)
            if not tunnel and fields.get("proxy-authorization") != f"Basic {proof}":
                self.unproven += 1
                await stream.send(b"HTTP/1.1 407 Proof\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
                continue
            host = tunnel or (target.rpartition(":")[0] if method == "CONNECT" else urlsplit(target).hostname or "")
            self.asked.append(f"{method} {host} {urlsplit(target).path}")
            if method == "CONNECT" and host.endswith(".example"):
                tunnel = host
                await stream.send(b"HTTP/1.1 200 Connected\r\n\r\n")
            elif not host.endswith(".example"):
                await stream.send(b"HTTP/1.1 403 Refused\r\nContent-Length: 7\r\n\r\nrefused")
            elif host == "silent.example":
                await anyio.sleep_forever()
            elif "sec-websocket-key" in fields:
                await self._greet(stream, fields["sec-websocket-key"])
            else:
                missing = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\nnot here."
                await stream.send(self._pages.get(urlsplit(target).path, missing))

    async def _greet(self, stream: SocketStream, key: str) -> None:
        accept = base64.b64encode(hashlib.sha1((key + _WEBSOCKET).encode()).digest()).decode()
        upgrade = f"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        await stream.send(upgrade.encode() + b"\x81\x05hello")
        await anyio.sleep_forever()


@asynccontextmanager
async def running_internet() -> AsyncIterator[Internet]:
    internet = Internet()
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    internet.proxy = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, internet.serve)
        yield internet
        group.cancel_scope.cancel()


class Victim:
    """What listens on the machine's own loopback, and must never hear from a page."""

    def __init__(self, tcp: int, udp: int) -> None:
        self.tcp, self.udp = tcp, udp
        self.connections = 0
        self.datagrams = 0

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            self.connections += 1

    async def hear(self, socket: anyio.abc.UDPSocket) -> None:
        async for _ in socket:
            self.datagrams += 1


@asynccontextmanager
async def running_victim() -> AsyncIterator[Victim]:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    datagrams = await anyio.create_udp_socket(local_host="127.0.0.1", local_port=0)
    async with listener, datagrams, anyio.create_task_group() as group:
        victim = Victim(listener.extra(SocketAttribute.local_port), datagrams.extra(SocketAttribute.local_port))
        group.start_soon(listener.serve, victim.serve)
        group.start_soon(victim.hear, datagrams)
        yield victim
        group.cancel_scope.cancel()
