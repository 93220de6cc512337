"""A model on the OpenAI wire that writes as real ones do: `--chunks` pieces, one each `--every-ms`. Prints `ready <url>`."""

import argparse
import asyncio
import json
from functools import partial

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_END = b"data: [DONE]\n\n"


def piece(text: str, finish: str | None = None) -> bytes:
    delta = {"content": text} if text else {}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "paced",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, chunks: int, every: float) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n") if b": " in line)
            await reader.readexactly(int(fields.get(b"content-length", b"0")))
            writer.write(_HEAD)
            for number in range(chunks):
                _write(writer, piece(f"word{number} "))
                await asyncio.sleep(every)
            _write(writer, piece("", "stop") + _END)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def serve(chunks: int, every: float) -> None:
    server = await asyncio.start_server(partial(answer, chunks=chunks, every=every), "127.0.0.1", 0)
    print(f"ready http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A model that writes at a steady pace.")
    parser.add_argument("--chunks", type=int, default=50)
    parser.add_argument("--every-ms", type=float, default=10)
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.chunks, arguments.every_ms / 1000))
