"""What travels over the browser process's socket: a length in four bytes, then that much JSON, both ways."""

import json
from collections.abc import Mapping
from typing import Any, cast

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

MAX_FRAME = 4 * 1024 * 1024
_HEAD = 4

Frame = Mapping[str, Any]


class BadFrame(Exception):
    """The other side does not speak this protocol, or is gone; nothing after this can be trusted."""


class Line:
    """One end of the socket. Any task may `say`; one task `hear`s."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._buffered = BufferedByteReceiveStream(stream)
        self._lock = anyio.Lock()

    async def say(self, frame: Frame) -> None:
        """Raises BadFrame."""
        body = json.dumps(frame, separators=(",", ":")).encode()
        if len(body) > MAX_FRAME:
            raise BadFrame(f"a frame of {len(body):,} bytes is too large")
        try:
            async with self._lock:
                await self._stream.send(len(body).to_bytes(_HEAD, "big") + body)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise BadFrame("the other end is gone") from None

    async def hear(self) -> Frame:
        """The next frame. Raises BadFrame."""
        try:
            size = int.from_bytes(await self._buffered.receive_exactly(_HEAD), "big")
            if not 0 < size <= MAX_FRAME:
                raise BadFrame(f"a frame claims {size:,} bytes")
            frame = json.loads(await self._buffered.receive_exactly(size))
        except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise BadFrame("the other end is gone") from None
        except (ValueError, RecursionError):
            raise BadFrame("a frame is not JSON") from None
        if not isinstance(frame, dict):
            raise BadFrame("a frame is not an object")
        return cast(Frame, frame)

    async def close(self) -> None:
        await self._stream.aclose()
