"""From the browser's only door to the egress proxy: bytes both ways, nothing understood and nothing added."""

import contextlib
import socket
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteStream, SocketListener, SocketStream

from ostiary.adapters.browser.records import ProxyAddress
from ostiary.contracts.errors import ConfigInvalid

_CONNECT_SECONDS = 10.0
_CHUNK = 65_536
_LOST = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


async def relay(listener: socket.socket, proxy: ProxyAddress, connections: int) -> None:
    """Until cancelled. Beyond `connections` at once the newest is closed."""
    busy = 0

    async def serve(stream: SocketStream) -> None:
        nonlocal busy
        async with stream:
            if busy >= connections:
                return
            busy += 1
            try:
                await _carry(stream, proxy)
            finally:
                busy -= 1

    async with await SocketListener.from_socket(listener) as door:
        await door.serve(serve)


async def _carry(inside: ByteStream, proxy: ProxyAddress) -> None:
    try:
        with anyio.fail_after(_CONNECT_SECONDS):
            outside = await _connect(proxy)
    except (OSError, TimeoutError):
        return
    async with outside, anyio.create_task_group() as group:
        group.start_soon(_pump, inside, outside)
        await _pump(outside, inside)
        group.cancel_scope.cancel()


async def _pump(source: ByteStream, sink: ByteStream) -> None:
    with contextlib.suppress(*_LOST):
        while True:
            await sink.send(await source.receive(_CHUNK))
    with contextlib.suppress(*_LOST):
        await sink.send_eof()


async def _connect(proxy: ProxyAddress) -> ByteStream:
    if proxy.url.startswith("unix:"):
        return await anyio.connect_unix(proxy.url.removeprefix("unix:"))
    place = urlsplit(proxy.url)
    if not place.hostname or not place.port:
        raise ConfigInvalid("the browser's proxy has no host and port")
    return await anyio.connect_tcp(place.hostname, place.port)
