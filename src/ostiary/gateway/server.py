"""Listening, until cancelled. Signals belong to the process, not to the server."""

import asyncio
import errno
import ipaddress
import math
import os
import socket
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ostiary.contracts.errors import BadInput
from ostiary.gateway.addresses import EVERYWHERE, LOOPBACK
from ostiary.gateway.asgi import App
from ostiary.gateway.socket.lazy import socket_wire
from ostiary.gateway.tls import Certificate

HEAD_BYTES = 65_536
HEAD_SECONDS = 20.0


class _Heads(HttpToolsProtocol):
    """Until its head is complete nobody knows who sends a request, so a head that does not end, or does not come, is cut off."""

    _head = 0.0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0.0
        if self._late is None:
            self._wait_for_head()

    def on_headers_complete(self) -> None:
        self._head_is_there()
        super().on_headers_complete()
        self._head = -math.inf

    def _wait_for_head(self) -> None:
        self._late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _head_is_there(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._head += len(data)
        if self._head > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")


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
    host: str = LOOPBACK,
    port: int = 0,
    tls: Certificate | None = None,
    on_ready: Callable[[str], None] = lambda url: None,
    drain_seconds: int = 5,
    max_frame: int = 1_048_576,
    ping_seconds: float = 30.0,
    unix: str = "",
) -> None:
    """Serve `app` until cancelled; requests under way then get `drain_seconds` to end, and are cancelled.

    With `unix`, a path, it listens on a socket there that only this user can open, and on no address.
    A socket is asked every `ping_seconds` whether its peer is there, and dropped if no answer comes within as many.
    `on_ready` is told the address once connections are accepted. Raises BadInput if the address cannot be had.
    """
    listener = bind_unix(unix) if unix else bind(host, port)
    scheme = "https" if tls is not None else "http"
    shown = LOOPBACK if host == EVERYWHERE else host
    url = f"unix:{unix}" if unix else f"{scheme}://{_shown(shown)}:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        app,
        http=_Heads,
        ws=socket_wire,  # type: ignore[arg-type]
        ws_max_size=max_frame,
        ws_per_message_deflate=False,
        ws_ping_interval=ping_seconds,
        ws_ping_timeout=ping_seconds,
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
        ssl_certfile=str(tls.certificate) if tls is not None else None,
        ssl_keyfile=str(tls.key) if tls is not None else None,
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
        if unix:
            _remove(unix)


def bind_unix(path: str) -> socket.socket:
    """A listening socket that only this user can open. What a process that died left there is replaced. Raises BadInput."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        if _is_answered(path):
            raise BadInput(f"Another process listens at {path}", hint="Stop it first, or choose another path.")
        _remove(path)
        # The mode is there from the first moment, not after a chmod.
        mask = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(mask)
        listener.listen(512)
    except (OSError, BadInput) as error:
        listener.close()
        if isinstance(error, BadInput):
            raise
        hint = "The folder must exist and be yours; a path has at most 107 bytes."
        raise BadInput(f"Cannot listen at {path}: {error.strerror or error}", hint=hint) from None
    return listener


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def _is_answered(path: str) -> bool:
    """Raises OSError for what is there and is no socket."""
    if not stat.S_ISSOCK(os.lstat(path).st_mode if os.path.lexists(path) else stat.S_IFSOCK):
        raise FileExistsError(errno.EEXIST, "something else is there")
    with socket.socket(socket.AF_UNIX) as trial:
        trial.settimeout(1.0)
        try:
            trial.connect(path)
        except OSError:
            return False
    return True


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises BadInput saying what to do."""
    try:
        address = ipaddress.ip_address(LOOPBACK if host == "localhost" else host)
    except ValueError:
        raise BadInput(f"{host!r} is not an address", hint="Use 127.0.0.1.") from None
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
