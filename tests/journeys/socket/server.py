"""Sockets as they are served: uvicorn with our wire, on loopback, in the test's own process."""

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import uvicorn

from ostiary.gateway.server import bind
from ostiary.gateway.socket.lazy import socket_wire
from ostiary.gateway.socket.limits import SocketLimits
from tests.unit.gateway.socket.room import Room, open_room


@dataclass
class Served:
    room: Room
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class _Server(uvicorn.Server):
    def install_signal_handlers(self) -> None: ...


@asynccontextmanager
async def serving(
    tmp_path: Path, *steps: Any, limits: SocketLimits | None = None, ping_seconds: float = 30.0, **more: Any
) -> AsyncIterator[Served]:
    limits = limits or SocketLimits()
    async with open_room(tmp_path, *steps, limits=limits, **more) as room:
        listener = bind("127.0.0.1", 0)
        config = uvicorn.Config(
            room.socket, http="httptools", ws=socket_wire, ws_max_size=limits.max_payload, ws_per_message_deflate=False,  # type: ignore[arg-type]
            ws_ping_interval=ping_seconds, ws_ping_timeout=ping_seconds, loop="none", lifespan="off", interface="asgi3",
            log_config=None, access_log=False, timeout_graceful_shutdown=3,
        )  # fmt: skip
        server = _Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(_serve, server, listener)
            with anyio.fail_after(10):
                while not server.started:
                    await anyio.lowlevel.checkpoint()
            try:
                yield Served(room, listener.getsockname()[1])
            finally:
                server.should_exit = True
        listener.close()


async def _serve(server: uvicorn.Server, listener: Any) -> None:
    from contextlib import nullcontext

    server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]
    with anyio.CancelScope(shield=True):
        await server.serve(sockets=[listener])


HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class RawSocket:
    """A WebSocket by hand, for what no library would send."""

    def __init__(self, stream: anyio.abc.SocketStream) -> None:
        self._stream = stream
        self._unread = b""

    @classmethod
    async def open(cls, port: int) -> "RawSocket":
        stream = await anyio.connect_tcp("127.0.0.1", port)
        raw = cls(stream)
        await stream.send(HANDSHAKE)
        with anyio.fail_after(5):
            while b"\r\n\r\n" not in raw._unread:
                raw._unread += await stream.receive()
        raw._unread = raw._unread.partition(b"\r\n\r\n")[2]
        return raw

    async def send(self, payload: bytes, opcode: int = 1, *, is_last: bool = True) -> None:
        await self._stream.send(head(len(payload), opcode, is_last) + payload)

    async def send_bytes(self, content: bytes) -> None:
        await self._stream.send(content)

    async def frame(self) -> tuple[int, bytes]:
        """Opcode and payload of the next frame."""
        first = await self._exactly(2)
        size = first[1] & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", await self._exactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", await self._exactly(8))
        return first[0] & 0x0F, await self._exactly(size)

    async def closed(self) -> int:
        """The code of the close frame; what comes before it is dropped."""
        with anyio.fail_after(20):
            while True:
                opcode, payload = await self.frame()
                if opcode == 8:
                    return int(struct.unpack("!H", payload[:2])[0])

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def _exactly(self, size: int) -> bytes:
        with anyio.fail_after(20):
            while len(self._unread) < size:
                self._unread += await self._stream.receive()
        taken, self._unread = self._unread[:size], self._unread[size:]
        return taken


def head(size: int, opcode: int = 1, is_last: bool = True) -> bytes:
    """A client's frame header with a mask of zeros, so that the payload goes as it is."""
    first = bytes([(0x80 if is_last else 0) | opcode])
    if size < 126:
        return first + bytes([0x80 | size]) + b"\0\0\0\0"
    if size < 65536:
        return first + b"\xfe" + struct.pack("!H", size) + b"\0\0\0\0"
    return first + b"\xff" + struct.pack("!Q", size) + b"\0\0\0\0"


def many_descriptors(count: int) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))
