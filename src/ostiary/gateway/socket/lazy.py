"""Sockets and their wire, loaded after the gateway listens: it starts without them, and who comes early waits a moment."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from ostiary.gateway.asgi import Receive, Scope, Send

if TYPE_CHECKING:
    from ostiary.gateway.socket.app import Socket
    from ostiary.gateway.socket.wire import SocketWire

_WAIT_SECONDS = 10.0


def socket_wire(**parts: Any) -> "SocketWire":
    """What uvicorn is given as `ws`: it makes the protocol of one connection."""
    from ostiary.gateway.socket.wire import SocketWire

    return SocketWire(**parts)


class LateSocket:
    """Stands for a `Socket` that `make` builds once `run` is called; `make` imports what it needs."""

    def __init__(self, make: "Callable[[], Socket]") -> None:
        self._make = make
        self._socket: Socket | None = None
        self._made = anyio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        socket = self._make()
        async with socket.running():
            self._socket = socket
            self._made.set()
            await anyio.sleep_forever()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.move_on_after(_WAIT_SECONDS):
            await self._made.wait()
        if self._socket is not None:
            await self._socket(scope, receive, send)
            return
        from ostiary.gateway.socket.line import refuse

        await refuse(receive, send, 503, "The gateway is still starting.")
