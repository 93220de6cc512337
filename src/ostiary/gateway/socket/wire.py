"""uvicorn's WebSocket protocol with what a public door needs besides: no waiting where none is needed, no peer that
lingers or is gone without a word, no trace in the log for what a client did wrong, and a word to everybody before the
server stops.

Give it to uvicorn as `ws=SocketWire`.
"""

from collections.abc import Callable
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.protocol import State

from ostiary.gateway.socket.line import EXTENSION, LineGone

# A peer that is still sending when it is refused gets to send this much into the void, so that it reads why.
_HEARD_OUT_BYTES = 256 * 1024 * 1024
_HEARD_OUT_SECONDS = 5.0
_GOODBYE_SECONDS = 2.0


class SocketWire(WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unheard = 0
        self.on_shutdown: Callable[[], None] | None = None

    async def run_asgi(self) -> None:
        extensions: dict[str, Any] = self.scope["extensions"]
        extensions[EXTENSION] = self
        await super().run_asgi()

    def try_write(self, frame: bytes) -> bool:
        if not self.writable.is_set() or self.conn.state is not State.OPEN or self.disconnected:
            return False
        self.transport.write(_text_frame(frame))
        return True

    async def write(self, frame: bytes) -> None:
        while True:
            await self.writable.wait()
            if self.try_write(frame):
                return
            if self.writable.is_set():
                # It would take bytes but no frame: it is closing.
                raise LineGone

    async def close(self, code: int, reason: str) -> None:
        if self.close_sent or self.transport.is_closing():
            return
        try:
            self.conn.send_close(code, reason)
        except InvalidState:
            return
        self.transport.writelines(self.conn.data_to_send())
        self.close_sent = True
        self._resume()
        self.close_timer = self.loop.call_later(_GOODBYE_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """Whoever does not answer takes nothing either: closing in order would wait for them for ever."""
        self.pong_timer = None
        self.pending_ping_payload = None
        if self.close_sent or self.transport.is_closing():
            return
        self.queue.put_nowait({"type": "websocket.disconnect", "code": 1011, "reason": "no answer to a ping"})
        self.conn.fail(1011, "no answer to a ping")
        self.transport.writelines(self.conn.data_to_send())
        self.close_sent = True
        self.close_timer = self.loop.call_later(_GOODBYE_SECONDS, self.transport.abort)

    def shutdown(self) -> None:
        if self.on_shutdown is not None and self.handshake_complete and not self.close_sent:
            self.on_shutdown()
        super().shutdown()

    def data_received(self, data: bytes) -> None:
        if self._unheard:
            self._unheard -= len(data)
            if self._unheard <= 0:
                self._unheard = 0
                self.transport.abort()
            return
        super().data_received(data)

    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text" and not _is_text(self.frames):
            self.frames = []
            self.conn.fail(1007, "not UTF-8")
            self.handle_parser_exception()
            return
        super().send_receive_event_to_app()

    def handle_parser_exception(self) -> None:
        """Say why, then let the peer finish: closing on one that still writes would lose the reason with the connection."""
        sent = self.conn.close_sent
        assert sent is not None
        self.queue.put_nowait({"type": "websocket.disconnect", "code": sent.code, "reason": sent.reason})
        self.transport.writelines(self.conn.data_to_send())
        self.close_sent = True
        self._unheard = _HEARD_OUT_BYTES
        self._resume()
        if self.close_timer is None:
            self.close_timer = self.loop.call_later(_HEARD_OUT_SECONDS, self.transport.abort)

    def eof_received(self) -> None:
        if self._unheard:
            self.transport.close()

    def _resume(self) -> None:
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()


def _text_frame(text: bytes) -> bytes:
    """A whole text message in one unmasked frame, as a server sends it: a tenth of the way through the library's."""
    size = len(text)
    if size < 126:
        return b"\x81%c%b" % (size, text)
    if size < 65536:
        return b"\x81\x7e%b%b" % (size.to_bytes(2, "big"), text)
    return b"\x81\x7f%b%b" % (size.to_bytes(8, "big"), text)


def _is_text(frames: list[bytes]) -> bool:
    try:
        (frames[0] if len(frames) == 1 else b"".join(frames)).decode()
    except UnicodeDecodeError:
        return False
    return True
