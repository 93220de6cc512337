"""Connections to the vault's process: HTTP/1.1, kept open, a bounded number of them. Speaks only to our own server, so it
reads only what that sends: a status line, a length, a body."""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit

import anyio

from ostiary.contracts.errors import BadInput, Busy, StoreRefused, StoreUnavailable
from ostiary.contracts.records import dataclass

CONNECTIONS = 16
CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 120.0
WAIT_SECONDS = 10.0
IDLE_SECONDS = 60.0

_HEAD = 64 * 1024
_JOINED = 256 * 1024
_HTTP = ("http", "https")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the vault is. `path` names a unix socket, else `host` and `port` count."""

    shown: str
    path: str = ""
    host: str = ""
    port: int = 0
    is_tls: bool = False


def place_of(url: str) -> Place:
    """`unix:/run/vault.sock` or `http://127.0.0.1:8181`. Raises BadInput."""
    if url.startswith("unix:"):
        path = url.removeprefix("unix:").removeprefix("//")
        if not path.startswith("/"):
            raise BadInput(f"{url[:200]!r} is no place of a vault", hint="Write vault.url like unix:/run/ostiary/vault.sock.")
        return Place(shown=url, path=path)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in _HTTP or not parts.hostname or parts.path.strip("/") or parts.username or parts.query:
        hint = "Write vault.url like http://127.0.0.1:8181 or unix:/run/ostiary/vault.sock."
        raise BadInput(f"{url[:200]!r} is no place of a vault", hint=hint)
    is_tls = parts.scheme == "https"
    return Place(shown=url, host=parts.hostname, port=port or (443 if is_tls else 8181), is_tls=is_tls)


class Broken(Exception):
    """The connection ended. `is_sent`: the vault may have got the whole request."""

    def __init__(self, *, is_sent: bool) -> None:
        super().__init__()
        self.is_sent = is_sent


class _Connection(asyncio.Protocol):
    """Notices the other end's goodbye while it is idle, so that a request is not sent to nobody."""

    def __init__(self) -> None:
        self.used_at = 0.0
        self.is_over = False
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._body = -1
        self._wanted = 0
        self._status = 0
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Broken(is_sent=True))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        try:
            is_whole = self._is_whole()
        except (ValueError, IndexError):
            self.close()
            return
        if is_whole and self._answer is not None and not self._answer.done():
            self._answer.set_result((self._status, bytes(self._buffer[self._body : self._body + self._wanted])))

    async def exchange(self, head: bytes, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer. Raises Broken."""
        if self.is_over or self._transport is None:
            raise Broken(is_sent=False)
        self._buffer.clear()
        self._body = -1
        self._answer = asyncio.get_running_loop().create_future()
        if len(body) <= _JOINED:
            self._transport.write(head + body)
        else:
            self._transport.writelines((head, body))
        try:
            return await self._answer
        finally:
            self._answer = None

    def close(self) -> None:
        self.is_over = True
        if self._transport is not None:
            self._transport.abort()

    def _is_whole(self) -> bool:
        if self._body < 0:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _HEAD:
                    raise ValueError("a head that does not end")
                return False
            first, *lines = bytes(self._buffer[:end]).split(b"\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
            self._status, self._body = int(first.split(b" ", 2)[1]), end + 4
            self._wanted = int(headers.get(b"content-length", b"0"))
            self.is_over = headers.get(b"connection", b"").lower() == b"close"
        return len(self._buffer) >= self._body + self._wanted


class Link:
    """One exchange after another on each connection. While the vault is away, a try costs no more than `CONNECT_SECONDS`."""

    def __init__(self, place: Place, token: Callable[[], str], path: str, monotonic: Callable[[], float]) -> None:
        self.place = place
        self._token = token
        self._path = path
        self._monotonic = monotonic
        self._idle: deque[_Connection] = deque()
        self._room = anyio.Semaphore(CONNECTIONS, fast_acquire=True)
        self._tls = ssl.create_default_context() if place.is_tls else None
        self.is_down = False

    async def take_room(self) -> None:
        """Raises Busy if there is none in time. Does not wait while there is some."""
        try:
            self._room.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.move_on_after(WAIT_SECONDS):
                await self._room.acquire()
                return
            raise Busy("The vault has more work than it can take", hint="Try again in a moment.") from None

    def give_room(self) -> None:
        self._room.release()

    async def exchange(self, body: bytes) -> bytes:
        """With room taken. Raises Broken, StoreUnavailable (nobody is there, nothing was sent), StoreRefused."""
        connection = await self._connection()
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                status, answer = await connection.exchange(self._head(len(body)), body)
        except TimeoutError:
            connection.close()
            raise Broken(is_sent=True) from None
        except BaseException:
            connection.close()
            raise
        connection.used_at = self._monotonic()
        if connection.is_over:
            connection.close()
        else:
            self._idle.append(connection)
        self.is_down = False
        if status == 503:
            # It is stopping, or has too much to do; what became of the call it does not say.
            raise Broken(is_sent=True)
        if status != 200:
            raise self._refusal(status)
        return answer

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def away(self) -> StoreUnavailable:
        self.is_down = True
        hint = "Start it with `ostiary vault serve`; nothing is kept elsewhere meanwhile."
        return StoreUnavailable(f"the vault at {self.place.shown} does not answer", hint=hint)

    async def _connection(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_over and self._monotonic() - connection.used_at < IDLE_SECONDS:
                return connection
            connection.close()
        place, loop = self.place, asyncio.get_running_loop()
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                if place.path:
                    _, connection = await loop.create_unix_connection(_Connection, place.path)
                else:
                    _, connection = await loop.create_connection(_Connection, place.host, place.port, ssl=self._tls)
        except (OSError, TimeoutError):
            # The others lead to the same nobody.
            self.close()
            raise self.away() from None
        return connection

    def _head(self, length: int) -> bytes:
        place = self.place
        name = "localhost" if place.path else f"[{place.host}]" if ":" in place.host else place.host
        lines = [f"POST {self._path} HTTP/1.1", f"host: {name}", f"content-length: {length}"]
        token = self._token()
        if token:
            lines.append(f"authorization: Bearer {token}")
        return "\r\n".join((*lines, "", "")).encode("latin-1")

    def _refusal(self, status: int) -> Exception:
        shown = self.place.shown
        match status:
            case 401 | 403:
                hint = "Give vault.token the token of that vault: `ostiary vault serve` made it at its first start."
                return StoreRefused(f"the vault at {shown} does not accept the token", hint=hint)
            case 429:
                return Busy(f"the vault at {shown} has shut us out for a while after wrong tokens")
            case 413:
                return BadInput("That is more than the vault takes at once")
            case _:
                hint = "Is vault.url the address of `ostiary vault serve`, of the same release?"
                return StoreRefused(f"what answers at {shown} is no vault (status {status})", hint=hint)
