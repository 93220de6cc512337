"""Listening, until cancelled. Signals belong to the process, not to the server."""

import errno
import ipaddress
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import anyio
import uvicorn

from ostiary.contracts.errors import BadInput
from ostiary.gateway.asgi import App


class _Server(uvicorn.Server):
    """uvicorn without its hands on the signal handlers, and with a word when it listens."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()


async def serve(
    app: App,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    on_ready: Callable[[str], None] = lambda url: None,
    drain_seconds: int = 5,
) -> None:
    """Serve `app` on loopback until cancelled; requests under way then get `drain_seconds` to end.

    `on_ready` is told the address once connections are accepted. Raises BadInput if the address is not loopback or taken.
    """
    listener = bind(host, port)
    url = f"http://{_shown(host)}:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        loop="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=drain_seconds,
    )
    server = _Server(config, lambda: on_ready(url))
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_run, server, listener)
            try:
                await anyio.sleep_forever()
            finally:
                server.should_exit = True
    finally:
        listener.close()


def bind(host: str, port: int) -> socket.socket:
    """A listening socket on loopback. Raises BadInput saying what to do."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise BadInput(f"{host!r} is not an address", hint="Use 127.0.0.1.") from None
    if not address.is_loopback:
        raise BadInput(f"{host} is not loopback", hint="The gateway listens on 127.0.0.1 only; put a tunnel in front of it.")
    listener = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(address), port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise BadInput(f"Port {port} is taken", hint="Choose another with --port, or 0 for any free one.") from None
        raise BadInput(f"Cannot listen on {host}:{port}: {error.strerror}", hint="Choose another port with --port.") from None
    return listener


async def _run(server: _Server, listener: socket.socket) -> None:
    with anyio.CancelScope(shield=True):
        await server.serve(sockets=[listener])


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
