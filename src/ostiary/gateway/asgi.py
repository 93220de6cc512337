"""The little of ASGI that the doors need, without a framework between the socket and the turn."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any

import anyio
import msgspec

from ostiary.gateway.errors import ApiError
from ostiary.gateway.limits import Limits

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

_encode = msgspec.json.Encoder().encode
_HEARD_OUT_BYTES = 64 * 1024 * 1024
_HEARD_OUT_SECONDS = 5.0


def header(scope: Scope, name: bytes) -> str:
    """The value of the only header of that name; empty if absent. A header sent twice is refused."""
    values = [value for key, value in scope["headers"] if key == name]
    if len(values) > 1:
        raise ApiError(400, f"The header {name.decode()} was sent more than once.")
    return values[0].decode("latin-1").strip() if values else ""


async def respond(send: Send, status: int, body: object, headers: Sequence[Header] = (), *, more: bool = False) -> None:
    """Send `body` as JSON. `more`: the connection is kept until an empty last piece is sent."""
    content = _encode(body)
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(content)).encode()),
                (b"cache-control", b"no-store"),
                (b"x-content-type-options", b"nosniff"),
                *headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": content, "more_body": more})


async def refuse(receive: Receive, send: Send, error: ApiError) -> None:
    """Answer with the error and close: what the caller is still sending is not kept, and not read beyond a limit."""
    headers: list[Header] = [(b"connection", b"close")]
    if error.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="ostiary"'))
    if error.retry_after:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    await respond(send, error.status, error.body(), headers, more=error.is_early)
    if error.is_early:
        await _hear_out(receive)
        await send({"type": "http.response.body", "body": b""})


async def _hear_out(receive: Receive) -> None:
    """Closing on a caller that still writes resets the connection, and the answer is lost with it."""
    left = _HEARD_OUT_BYTES
    with anyio.move_on_after(_HEARD_OUT_SECONDS):
        while left > 0 and (event := await receive()).get("more_body", False):
            left -= len(event["body"])


async def read_body(scope: Scope, receive: Receive, limits: Limits) -> bytes:
    """The whole body. Raises ApiError 413 before reading what is declared too long, and 408 when it drips."""
    declared = header(scope, b"content-length")
    if declared and (not declared.isascii() or not declared.isdigit() or int(declared) > limits.body_bytes):
        raise _too_long(limits, is_early=True)
    chunks: list[bytes] = []
    size = 0
    with anyio.move_on_after(limits.body_seconds) as timer:
        while True:
            event = await receive()
            if event["type"] != "http.request":
                raise ClientGone
            chunk: bytes = event.get("body", b"")
            more = event.get("more_body", False)
            size += len(chunk)
            if size > limits.body_bytes:
                raise _too_long(limits, is_early=more)
            chunks.append(chunk)
            if not more:
                break
    if timer.cancelled_caught:
        raise ApiError(408, f"The body did not arrive within {limits.body_seconds:g} seconds.", code="request_timeout")
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def query(scope: Scope) -> Mapping[str, str]:
    """The query's parameters; of a repeated one the last counts."""
    from urllib.parse import parse_qsl

    return dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), max_num_fields=20))


class ClientGone(Exception):
    """The caller hung up; there is nobody to answer."""


def _too_long(limits: Limits, *, is_early: bool) -> ApiError:
    return ApiError(413, f"The body is longer than {limits.body_bytes} bytes.", code="request_too_large", is_early=is_early)
