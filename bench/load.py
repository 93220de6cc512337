"""The load: sessions that talk side by side, each its next message when the last one is answered. A process of its own.

`python -m bench.load --url http://127.0.0.1:N --sessions 64 --turns 20` with the token in BENCH_TOKEN prints JSON: the seconds of
every turn by session, the wall time of all, and the CPU time this process itself used meanwhile. It writes requests that are
ready beforehand onto plain sockets, so that it stays far cheaper than what it measures.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from functools import partial
from typing import cast
from urllib.parse import urlsplit

import uvloop

_CHUNKED_END = b"0\r\n\r\n"


class Talk(asyncio.Protocol):
    """One session on one connection."""

    def __init__(self, request: bytes, turns: int, expected: bytes, done: asyncio.Future[None]) -> None:
        self._request = request
        self._left = turns
        self._expected = expected
        self._done = done
        self._received = bytearray()
        self._sent_at = 0.0
        self._transport: asyncio.Transport | None = None
        self.seconds: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the gateway hung up")

    def begin(self) -> None:
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not is_whole(self._received):
            return
        self.seconds.append(time.perf_counter() - self._sent_at)
        if not self._received.startswith(b"HTTP/1.1 200") or self._expected not in self._received:
            self._fail(f"unexpected answer: {bytes(self._received[:600])!r}")
            return
        self._left -= 1
        if self._left:
            self._ask()
        elif not self._done.done():
            self._done.set_result(None)

    def _ask(self) -> None:
        self._received.clear()
        assert self._transport is not None
        self._sent_at = time.perf_counter()
        self._transport.write(self._request)

    def _fail(self, why: str) -> None:
        if not self._done.done():
            self._done.set_exception(ConnectionError(why))


def is_whole(received: bytearray) -> bool:
    """Whether this is all of an answer, by its length or its last chunk."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = bytes(received[:end]).lower()
    at = head.find(b"\r\ncontent-length:")
    if at >= 0:
        return len(received) >= end + 4 + int(head[at + 17 :].split(b"\r\n", 1)[0])
    return received.endswith(_CHUNKED_END, end + 4)


def _same(made: Talk) -> Talk:
    return made


def request(host: str, token: str, user: str, text: str, *, streams: bool) -> bytes:
    said = {"model": "ostiary", "user": user, "stream": streams, "messages": [{"role": "user", "content": text}]}
    body = json.dumps(said).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def talk(arguments: argparse.Namespace, token: str) -> dict[str, object]:
    """Raises ConnectionError if a turn is not answered as expected, TimeoutError if all of them take too long."""
    loop = asyncio.get_running_loop()
    address = urlsplit(arguments.url)
    talks, ends = [], []
    for number in range(arguments.sessions):
        done = loop.create_future()
        asked = request(address.netloc, token, f"{arguments.prefix}-{number}", arguments.text, streams=arguments.stream)
        made = Talk(asked, arguments.turns, arguments.expect.encode(), done)
        await loop.create_connection(partial(_same, made), address.hostname, address.port)
        talks.append(made)
        ends.append(done)
    wall, cpu = time.perf_counter(), time.process_time()
    for each in talks:
        each.begin()
    async with asyncio.timeout(arguments.seconds):
        await asyncio.gather(*ends)
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "turns": [each.seconds for each in talks],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Sessions that talk side by side.")
    parser.add_argument("--url", required=True)
    parser.add_argument("--sessions", type=int, default=1)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--prefix", default="load")
    parser.add_argument("--text", default="hi")
    parser.add_argument("--expect", default="", help="words that every answer must hold")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            result = runner.run(talk(arguments, os.environ["BENCH_TOKEN"]))
    except (OSError, TimeoutError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
