"""Clients on sockets, in a process of their own; the token is in BENCH_TOKEN. Each verb prints JSON but `hold`.

`health` measures round trips on one open socket, `turns` turns of one session while `--watchers` others follow it, and `hold`
keeps idle sockets open until it is ended.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from typing import Any
from uuid import uuid4

import uvloop
from websockets.asyncio.client import ClientConnection

from ostiary.client.link import Identity, open_link

_AT_ONCE = 25


async def join(url: str) -> ClientConnection:
    connection, _ = await open_link(url, Identity(token=os.environ["BENCH_TOKEN"], mode="bench", instance_id=uuid4().hex), None)
    return connection


async def answer(connection: ClientConnection, request: str) -> Any:
    """The payload of the response to `request`. Raises ConnectionError if it was refused."""
    while True:
        frame = json.loads(await connection.recv())
        if frame["type"] == "res" and frame["id"] == request:
            if not frame["ok"]:
                raise ConnectionError(f"refused: {frame['error']}")
            return frame["payload"]


def asked(request: str, method: str, params: object) -> str:
    return json.dumps({"type": "req", "id": request, "method": method, "params": params})


async def health(arguments: argparse.Namespace) -> object:
    connection = await join(arguments.url)
    seconds = []
    for number in range(arguments.count):
        begun = time.perf_counter()
        await connection.send(asked(f"h{number}", "health", {}))
        await answer(connection, f"h{number}")
        seconds.append(time.perf_counter() - begun)
    await connection.close()
    return {"seconds": seconds}


async def turns(arguments: argparse.Namespace) -> object:
    speaker = await join(arguments.url)
    watchers = [await join(arguments.url) for _ in range(arguments.watchers)]
    for connection in (speaker, *watchers):
        await connection.send(asked("follow", "sessions.subscribe", {"keys": [arguments.key]}))
        await answer(connection, "follow")
    async with asyncio.TaskGroup() as group:
        counting = [group.create_task(_count_finals(each, arguments.count)) for each in watchers]
        seconds = [await _turn(speaker, arguments.key, number) for number in range(arguments.count)]
    for connection in (speaker, *watchers):
        await connection.close()
    return {"seconds": seconds, "deltas": sum(task.result() for task in counting)}


async def _turn(connection: ClientConnection, key: str, number: int) -> float:
    begun = time.perf_counter()
    params = {"key": key, "text": "hi", "idempotencyKey": uuid4().hex}
    await connection.send(asked(f"t{number}", "chat.send", params))
    while True:
        frame = json.loads(await connection.recv())
        payload = frame.get("payload", {})
        if frame.get("ok") is False or payload.get("state") == "error":
            raise ConnectionError(f"the turn failed: {frame}")
        if frame.get("event") == "chat" and payload["state"] == "final":
            return time.perf_counter() - begun


async def _count_finals(connection: ClientConnection, wanted: int) -> int:
    """Every watcher must see every turn end; gives how many pieces of answers it saw on the way."""
    deltas = 0
    while wanted:
        frame = json.loads(await connection.recv())
        if frame.get("event") == "chat":
            deltas += frame["payload"]["state"] == "delta"
            wanted -= frame["payload"]["state"] == "final"
    return deltas


async def hold(arguments: argparse.Namespace) -> object:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one() -> ClientConnection:
        async with gate:
            return await join(arguments.url)

    held = await asyncio.gather(*(one() for _ in range(arguments.sockets)))
    print(f"ready {len(held)}", flush=True)
    async with asyncio.TaskGroup() as group:
        for connection in held:
            group.create_task(_drain(connection))
    return {}


async def _drain(connection: ClientConnection) -> None:
    async for _ in connection:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description="Clients on sockets.")
    parser.add_argument("verb", choices=["health", "turns", "hold"])
    parser.add_argument("--url", required=True)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--key", default="agent:main:bench")
    parser.add_argument("--watchers", type=int, default=0)
    parser.add_argument("--sockets", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=90)
    arguments = parser.parse_args()
    verb = {"health": health, "turns": turns, "hold": hold}[arguments.verb]

    async def within() -> object:
        async with asyncio.timeout(arguments.seconds):
            return await verb(arguments)

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            json.dump(runner.run(within()), sys.stdout)
    except (OSError, TimeoutError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
