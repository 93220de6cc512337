"""The way out to one client: bytes of a frame, now if the connection takes them, else when it does."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ostiary.gateway.asgi import Event, Receive, Scope, Send

EXTENSION = "ostiary.line"


class LineGone(Exception):
    """The connection is no more."""


class Line(Protocol):
    """`on_shutdown` is called when the server stops, while frames are still taken."""

    on_shutdown: Callable[[], None] | None

    def try_write(self, frame: bytes) -> bool:
        """Hand a text frame to the connection if it takes more right now."""
        ...

    async def write(self, frame: bytes) -> None:
        """Wait until the connection takes more. Raises LineGone."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye; a client that does not take even that is cut off soon after."""
        ...


class AsgiLine:
    """Over any ASGI server: it tells when a frame was taken, but not before."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.on_shutdown: Callable[[], None] | None = None

    def try_write(self, frame: bytes) -> bool:
        return False

    async def write(self, frame: bytes) -> None:
        try:
            await self._send({"type": "websocket.send", "text": frame.decode()})
        except OSError:
            raise LineGone from None

    async def close(self, code: int, reason: str) -> None:
        await self._send({"type": "websocket.close", "code": code, "reason": reason})


def line_of(scope: Scope, send: Send) -> Line:
    """The server's own line where it is ours (see wire), else one that any server has."""
    extensions: Mapping[str, Any] = scope.get("extensions") or {}
    own: Line | None = extensions.get(EXTENSION)
    return own if own is not None else AsgiLine(send)


async def refuse(receive: Receive, send: Send, status: int, message: str) -> None:
    """Answer the handshake with an HTTP error: the socket is never opened."""
    body = message.encode()
    start: Event = {
        "type": "websocket.http.response.start",
        "status": status,
        "headers": [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")],
    }
    await send(start)
    await send({"type": "websocket.http.response.body", "body": body})
