"""An OpenAI-wire server that answers at once and costs next to nothing: what a benchmark measures is then not the model.

`python -m ostiary.kit.model_servers.instant --port 0 [--delay-ms 500] [--chunks 10]` prints `ready <url>`. It answers
`POST /v1/chat/completions` (stream or not) and `GET /count` (requests so far, size and beginning of the last body).
"""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import cast

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
_CHUNK = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"instant","choices":[{"index":0,'
    b'"delta":{"content":"%b"},"finish_reason":null}]}\n\n'
)
_END = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"instant","choices":[{"index":0,'
    b'"delta":{},"finish_reason":"stop"}]}\n\n'
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"instant","choices":[],'
    b'"usage":{"prompt_tokens":100,"completion_tokens":%d,"total_tokens":%d}}\n\ndata: [DONE]\n\n'
)
_WHOLE = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"instant","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"%b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":%d,'
    b'"total_tokens":%d}}'
)
_MODELS = b'{"object":"list","data":[{"id":"instant","object":"model","created":1,"owned_by":"kit"}]}'
_HEADERS_END = b"\r\n\r\n"
_MAX_BODY = 64 * 1024 * 1024


class Tally:
    """What was asked so far."""

    def __init__(self) -> None:
        self.requests = 0
        self.last_size = 0


class InstantServer(asyncio.Protocol):
    """One connection. Requests are taken one after the other, as HTTP/1.1 clients send them."""

    def __init__(self, tally: Tally, *, streamed: bytes, whole: bytes, delay: float) -> None:
        self._tally = tally
        self._streamed = streamed
        self._whole = whole
        self._delay = delay
        self._buffer = bytearray()
        self._wanted = -1
        self._head = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._take():
            pass

    def _take(self) -> bool:
        """Answer one request if it is here whole."""
        if self._wanted < 0:
            end = self._buffer.find(_HEADERS_END)
            if end < 0:
                return False
            self._head = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            self._wanted = _content_length(self._head)
            if self._wanted > _MAX_BODY:
                self._close()
                return False
        if len(self._buffer) < self._wanted:
            return False
        body = bytes(self._buffer[: self._wanted])
        del self._buffer[: self._wanted]
        self._wanted = -1
        self._answer(self._head, body)
        return True

    def _answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET /count"):
            count = b'{"requests":%d,"last_body_bytes":%d}' % (self._tally.requests, self._tally.last_size)
            self._write(_HEAD % (b"application/json", len(count)) + count)
        elif head.startswith(b"GET "):
            self._write(_HEAD % (b"application/json", len(_MODELS)) + _MODELS)
        else:
            self._tally.requests += 1
            self._tally.last_size = len(body)
            # The flag is small and the body large: it stands near one of the two ends.
            streams = b'"stream":true' in body[:2048] or b'"stream": true' in body or b'"stream":true' in body[-2048:]
            answer = self._streamed if streams else self._whole
            if self._delay:
                asyncio.get_running_loop().call_later(self._delay, self._write, answer)
            else:
                self._write(answer)

    def _write(self, answer: bytes) -> None:
        if self._transport is not None:
            self._transport.write(answer)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _content_length(head: bytes) -> int:
    lowered = head.lower()
    start = lowered.find(b"\r\ncontent-length:")
    return int(lowered[start + 17 :].split(b"\r\n", 1)[0]) if start >= 0 else 0


def answers(chunks: int) -> tuple[bytes, bytes]:
    """The streamed and the whole answer, ready to be written."""
    words = [b"word%d " % number for number in range(chunks)]
    stream = b"".join(_CHUNK % word for word in words) + _END % (chunks, 100 + chunks)
    whole = _WHOLE % (b"".join(words), chunks, 100 + chunks)
    return (
        _HEAD % (b"text/event-stream", len(stream)) + stream,
        _HEAD % (b"application/json", len(whole)) + whole,
    )


async def serve(port: int, *, delay_ms: float, chunks: int) -> None:
    """Until cancelled."""
    streamed, whole = answers(chunks)
    tally = Tally()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: InstantServer(tally, streamed=streamed, whole=whole, delay=delay_ms / 1000), "127.0.0.1", port, backlog=1024
    )
    async with server:
        sys.stdout.write(f"ready http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1\n")
        sys.stdout.flush()
        await server.serve_forever()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-wire model server that answers at once.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay-ms", type=float, default=0)
    parser.add_argument("--chunks", type=int, default=10)
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(arguments.port, delay_ms=arguments.delay_ms, chunks=arguments.chunks))


if __name__ == "__main__":
    main()
