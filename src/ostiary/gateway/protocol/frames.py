"""Frames: one JSON object each. Decoding is one strict pass; encoding shares what many sockets receive."""

from typing import Any, Literal

import msgspec

from ostiary.gateway.protocol.errors import Code, MethodError

MAX_ID = 128

_NO_PARAMS = msgspec.Raw(b"{}")


class Request(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`params` stays as it came until the method is known and the caller may use it."""

    type: Literal["req"]
    id: str
    method: str
    params: msgspec.Raw = _NO_PARAMS


class Error(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    code: Code
    message: str
    hint: str = ""
    details: dict[str, Any] | None = None
    retry_after_ms: int = 0


class Response(msgspec.Struct, kw_only=True):
    """`ok` tells which of the two follows."""

    type: Literal["res"] = "res"
    id: str
    ok: bool
    payload: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    error: Error | msgspec.UnsetType = msgspec.UNSET


class Event(msgspec.Struct, kw_only=True, rename={"state_version": "stateVersion"}):
    """`seq` counts the events of this socket from 1; a gap means that something was lost: ask again for what is shown."""

    type: Literal["event"] = "event"
    event: str
    payload: dict[str, Any]
    seq: int | msgspec.UnsetType = msgspec.UNSET
    state_version: dict[str, int] | msgspec.UnsetType = msgspec.UNSET


_requests = msgspec.json.Decoder(Request)
_anything = msgspec.json.Decoder()
encode = msgspec.json.Encoder().encode


def decode(text: str | bytes) -> Request:
    """Raises MethodError BAD_FRAME; its `details.id` is the frame's id as far as it can be told."""
    try:
        frame = _requests.decode(text)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise MethodError("BAD_FRAME", f"This is not a request frame: {_said(error)}.", details={"id": _id_of(text)}) from None
    if not frame.id or len(frame.id) > MAX_ID:
        raise MethodError("BAD_FRAME", f"The id of a request has 1 to {MAX_ID} characters.", details={"id": ""})
    return frame


def answer(request: str, payload: bytes) -> bytes:
    """A successful response around an encoded payload."""
    return b'{"type":"res","id":%b,"ok":true,"payload":%b}' % (encode(request), payload)


def refusal(request: str, error: MethodError) -> bytes:
    body = Error(
        code=error.code,
        message=error.message,
        hint=error.hint,
        details=dict(error.details) if error.details else None,
        retry_after_ms=error.retry_after_ms,
    )
    return b'{"type":"res","id":%b,"ok":false,"error":%b}' % (encode(request), encode(body))


def event_head(event: str, payload: bytes, state_version: bytes = b"") -> bytes:
    """An event up to its `seq`: the same bytes for every socket."""
    state = b'"stateVersion":%b,' % state_version if state_version else b""
    return b'{"type":"event","event":%b,"payload":%b,%b"seq":' % (encode(event), payload, state)


def event_frame(head: bytes, seq: int) -> bytes:
    return b"%b%d}" % (head, seq)


def unnumbered_event(event: str, payload: bytes) -> bytes:
    """An event before the connection stands; it is not counted."""
    return b'{"type":"event","event":%b,"payload":%b}' % (encode(event), payload)


def _said(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200].rstrip(".")


def _id_of(text: str | bytes) -> str:
    try:
        found = _anything.decode(text)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return ""
    name = found.get("id") if isinstance(found, dict) else None
    return name if isinstance(name, str) and len(name) <= MAX_ID else ""
