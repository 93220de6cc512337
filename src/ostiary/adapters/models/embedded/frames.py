"""What travels over the child's pipes: a length in four bytes, then that much JSON."""

import json
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

MAX_FRAME = 4 * 1024 * 1024
_HEAD = 4

Frame = Mapping[str, Any]


class BadFrame(Exception):
    """The other side does not speak this protocol; nothing after this can be trusted."""


def encode(frame: Frame) -> bytes:
    """Raises BadFrame if the frame is too large to send."""
    body = json.dumps(frame, separators=(",", ":")).encode()
    if len(body) > MAX_FRAME:
        raise BadFrame(f"a frame of {len(body):,} bytes is too large")
    return len(body).to_bytes(_HEAD, "big") + body


def decode(body: bytes) -> Frame:
    try:
        frame = json.loads(body)
    except ValueError:
        raise BadFrame("a frame is not JSON") from None
    if not isinstance(frame, dict):
        raise BadFrame("a frame is not an object")
    return cast(Frame, frame)


def length(head: bytes) -> int:
    size = int.from_bytes(head, "big")
    if not 0 < size <= MAX_FRAME:
        raise BadFrame(f"a frame claims {size:,} bytes")
    return size


def read(stream: BinaryIO) -> Frame | None:
    """The next frame, blocking; None at the end of the stream. Raises BadFrame."""
    head = stream.read(_HEAD)
    if len(head) < _HEAD:
        return None
    body = stream.read(size := length(head))
    return decode(body) if len(body) == size else None
