"""From a room's only door to the egress proxy: the first line is judged by the rules of whoever the room belongs to, then
bytes go both ways, nothing added. Redirects, sockets and workers come through here like everything else.

The proxy takes one request per connection, so what was judged is what is asked for.
"""

import contextlib
import socket
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteReceiveStream, ByteStream, SocketListener, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from ostiary.adapters.browser.records import ProxyAddress
from ostiary.contracts.errors import ConfigInvalid

_CONNECT_SECONDS = 10.0
_HEAD_SECONDS = 60.0
_HEAD_BYTES = 65_536
_CHUNK = 65_536
_END = b"\r\n\r\n"
_NO = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\nConnection: close\r\n\r\nrefused"
_LOST = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


Refuses = Callable[[str], Awaitable[str]]
"""Why this URL may not be asked for; empty if it may."""

Way = Callable[[], ProxyAddress | None]
"""The proxy that keeps the rules of whoever the room belongs to now, None if it is nobody's."""


async def relay(listener: socket.socket, way: Way, connections: int, refuses: Refuses) -> None:
    """Until cancelled. Beyond `connections` at once the newest is closed."""
    busy = 0

    async def serve(stream: SocketStream) -> None:
        nonlocal busy
        async with stream:
            if busy >= connections:
                return
            busy += 1
            try:
                await _carry(stream, way, refuses)
            finally:
                busy -= 1

    async with await SocketListener.from_socket(listener) as door:
        await door.serve(serve)


async def _carry(inside: ByteStream, way: Way, refuses: Refuses) -> None:
    reader = BufferedByteReceiveStream(inside)
    try:
        with anyio.fail_after(_HEAD_SECONDS):
            head = await reader.receive_until(_END, _HEAD_BYTES) + _END
            if not (url := asked_for(head)) or await refuses(url) or (proxy := way()) is None:
                await inside.send(_NO)
                return
        with anyio.fail_after(_CONNECT_SECONDS):
            outside = await _connect(proxy)
    except (*_LOST, TimeoutError, anyio.IncompleteRead, anyio.DelimiterNotFound):
        return
    async with outside, anyio.create_task_group() as group:
        group.start_soon(_pump, reader, outside, head)
        await _pump(outside, inside)
        group.cancel_scope.cancel()


def asked_for(head: bytes) -> str:
    """The URL that the first line asks for, or for a tunnel the host it leads to; empty if it is neither."""
    method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
    target = rest.partition(" ")[0]
    if method != "CONNECT":
        return target if target.startswith(("http://", "https://")) else ""
    return f"{'http' if target.endswith(':80') else 'https'}://{target}/" if target else ""


async def _pump(source: ByteReceiveStream, sink: ByteStream, first: bytes = b"") -> None:
    with contextlib.suppress(*_LOST):
        if first:
            await sink.send(first)
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
