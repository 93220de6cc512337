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


def header(scope: Scope, name: bytes) -> str:
    """The value of the only header of that name; empty if absent. A header sent twice is refused."""
    values = [value for key, value in scope["headers"] if key == name]
    if len(values) > 1:
        raise ApiError(400, f"The header {name.decode()} was sent more than once.")
    return values[0].decode("latin-1").strip() if values else ""


async def respond(send: Send, status: int, body: object, headers: Sequence[Header] = ()) -> None:
    """Send `body` as JSON."""
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
    await send({"type": "http.response.body", "body": content})


async def refuse(send: Send, error: ApiError) -> None:
    """Answer with the error and close: whatever the caller is still sending is not read."""
    headers: list[Header] = [(b"connection", b"close")]
    if error.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="ostiary"'))
    if error.retry_after:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    await respond(send, error.status, error.body(), headers)


async def read_body(scope: Scope, receive: Receive, limits: Limits) -> bytes:
    """The whole body. Raises ApiError 413 before reading what is declared too long, and 408 when it drips."""
    declared = header(scope, b"content-length")
    if declared and (not declared.isascii() or not declared.isdigit() or int(declared) > limits.body_bytes):
        raise _too_long(limits)
    chunks: list[bytes] = []
    size = 0
    with anyio.move_on_after(limits.body_seconds) as timer:
        while True:
            event = await receive()
            if event["type"] != "http.request":
                raise ClientGone
            chunk: bytes = event.get("body", b"")
            size += len(chunk)
            if size > limits.body_bytes:
                raise _too_long(limits)
            chunks.append(chunk)
            if not event.get("more_body", False):
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


def _too_long(limits: Limits) -> ApiError:
    return ApiError(413, f"The body is longer than {limits.body_bytes} bytes.", code="request_too_large")
