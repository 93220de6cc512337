"""Connections to the vault's process: HTTP/1.1, kept open, a bounded number of them. Speaks only to our own server, so it
reads only what that sends: a status line, a length, a body."""

import ssl
from collections import deque
from collections.abc import Callable
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from ostiary.contracts.errors import BadInput, Busy, StoreRefused, StoreUnavailable
from ostiary.contracts.records import dataclass

CONNECTIONS = 16
CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 120.0
WAIT_SECONDS = 10.0
IDLE_SECONDS = 60.0

_HEAD = 64 * 1024
_PIECE = 256 * 1024
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


class _Connection:
    def __init__(self, stream: ByteStream, opened_at: float) -> None:
        self._stream = stream
        self._buffered = BufferedByteReceiveStream(stream)
        self.used_at = opened_at
        self.is_over = False

    async def exchange(self, head: bytes, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer. Raises Broken."""
        is_sent = False
        try:
            if len(body) <= _PIECE:
                is_sent = True
                await self._stream.send(head + body)
            else:
                await self._stream.send(head)
                for start in range(0, len(body), _PIECE):
                    is_sent = start + _PIECE >= len(body)
                    await self._stream.send(body[start : start + _PIECE])
            return await self._answer()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError):
            raise Broken(is_sent=is_sent) from None
        except (anyio.IncompleteRead, anyio.DelimiterNotFound, ValueError, ssl.SSLError):
            raise Broken(is_sent=True) from None

    async def _answer(self) -> tuple[int, bytes]:
        head = await self._buffered.receive_until(b"\r\n\r\n", _HEAD)
        first, *lines = head.split(b"\r\n")
        status = int(first.split(b" ", 2)[1])
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
        body = await self._buffered.receive_exactly(int(headers[b"content-length"])) if b"content-length" in headers else b""
        self.is_over = headers.get(b"connection", b"").lower() == b"close"
        return status, body

    async def close(self) -> None:
        await anyio.aclose_forcefully(self._stream)


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
            await connection.close()
            raise Broken(is_sent=True) from None
        except BaseException:
            await connection.close()
            raise
        connection.used_at = self._monotonic()
        if connection.is_over:
            await connection.close()
        else:
            self._idle.append(connection)
        self.is_down = False
        if status == 503:
            # It is stopping, or has too much to do; what became of the call it does not say.
            raise Broken(is_sent=True)
        if status != 200:
            raise self._refusal(status)
        return answer

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    def away(self) -> StoreUnavailable:
        self.is_down = True
        hint = "Start it with `ostiary vault serve`; nothing is kept elsewhere meanwhile."
        return StoreUnavailable(f"the vault at {self.place.shown} does not answer", hint=hint)

    async def _connection(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if self._monotonic() - connection.used_at < IDLE_SECONDS:
                return connection
            await connection.close()
        place = self.place
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                stream: ByteStream
                if place.path:
                    stream = await anyio.connect_unix(place.path)
                elif self._tls is not None:
                    stream = await anyio.connect_tcp(place.host, place.port, ssl_context=self._tls, tls_hostname=place.host)
                else:
                    stream = await anyio.connect_tcp(place.host, place.port)
        except (OSError, TimeoutError):
            # The others lead to the same nobody.
            await self.close()
            raise self.away() from None
        return _Connection(stream, self._monotonic())

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
