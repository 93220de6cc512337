"""Clients that do what no client should, against the real server."""

import json
import random
from pathlib import Path

import anyio
import anyio.lowlevel

from ostiary.client import connect
from ostiary.gateway.socket.limits import SocketLimits
from tests.journeys.socket.server import RawSocket, head, many_descriptors, serving
from tests.unit.gateway.socket.room import connect as hello
from tests.unit.gateway.socket.test_fuzz import frames

PARAMS = hello(client={"mode": "cli"})
CONNECT = json.dumps({"type": "req", "id": "c", "method": "connect", "params": PARAMS}).encode()


async def connected(port: int) -> RawSocket:
    raw = await RawSocket.open(port)
    await raw.send(CONNECT)
    while json.loads((await raw.frame())[1]).get("id") != "c":
        pass
    return raw


async def test_a_frame_of_a_hundred_megabytes_ends_in_1009(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        for raw in (await RawSocket.open(served.port), await connected(served.port)):
            block = b"x" * 1024 * 1024
            await raw.send_bytes(head(100 * len(block)))
            for _ in range(100):
                await raw.send_bytes(block)
            assert await raw.closed() == 1009
            await raw.aclose()


async def test_a_large_message_in_small_frames_ends_in_1009(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        raw = await connected(served.port)
        await raw.send(b"{", is_last=False)
        for _ in range(5):
            await raw.send(b" " * 300_000, opcode=0, is_last=False)
        assert await raw.closed() == 1009
        await raw.aclose()


async def test_a_frame_of_just_the_allowed_size_is_taken(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        raw = await connected(served.port)
        start = b'{"type":"req","id":"1","method":"health"'
        await raw.send(start + b" " * (1024 * 1024 - len(start) - 1) + b"}")
        answers = [json.loads((await raw.frame())[1])]
        while answers[-1]["type"] != "res":
            answers.append(json.loads((await raw.frame())[1]))
        assert answers[-1]["ok"]
        await raw.aclose()


async def test_what_is_not_utf_8_ends_in_1007(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        raw = await connected(served.port)
        await raw.send(b'{"type":"req","id":"\xff\xfe"}')
        assert await raw.closed() == 1007
        await raw.aclose()


async def test_a_binary_frame_ends_in_1003(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        raw = await connected(served.port)
        await raw.send(b"\x00\x01", opcode=2)
        assert await raw.closed() == 1003
        await raw.aclose()


async def test_who_does_not_connect_in_time_ends_in_1008(tmp_path: Path) -> None:
    async with serving(tmp_path, limits=SocketLimits(connect_seconds=0.05)) as served:
        raw = await RawSocket.open(served.port)
        assert await raw.closed() == 1008
        await raw.aclose()


async def test_a_client_that_stops_reading_is_cut_off_within_its_bound(tmp_path: Path) -> None:
    async with serving(tmp_path, limits=SocketLimits(max_buffered=200_000)) as served:
        raw = await connected(served.port)
        (connection,) = served.room.socket.hub.audience.everybody
        largest = 0
        with anyio.fail_after(20):
            while served.room.socket.hub.audience.everybody:
                connection.outgoing.frame(b'{"filler":"%b"}' % (b"x" * 20_000))
                largest = max(largest, connection.outgoing.size)
                await anyio.lowlevel.checkpoint()
        assert largest <= 200_000 + 2 * 20_020
        assert connection.closing == (1013, "too slow")
        async with connect(served.url, token="tok") as gateway:
            assert (await gateway.call("health"))["ok"]
        await raw.aclose()


async def test_a_peer_that_answers_no_ping_is_dropped_and_one_that_does_stays(tmp_path: Path) -> None:
    async with serving(tmp_path, ping_seconds=1.0) as served, connect(served.url, token="tok") as answering:
        silent = await connected(served.port)
        assert len(served.room.socket.hub.audience.everybody) == 2
        assert await silent.closed() == 1011
        with anyio.fail_after(5):
            while len(served.room.socket.hub.audience.everybody) > 1:
                await anyio.lowlevel.checkpoint()
        assert (await answering.call("health"))["ok"]
        await silent.aclose()


async def test_a_peer_that_is_gone_without_a_word_is_forgotten_although_bytes_wait_for_it(tmp_path: Path) -> None:
    async with serving(tmp_path, ping_seconds=0.2) as served:
        raw = await connected(served.port)
        (connection,) = served.room.socket.hub.audience.everybody
        # More than the kernel takes for somebody who does not read: closing in order would wait for it to go.
        connection.outgoing.frame(b'"%b"' % (b"x" * 8_000_000))
        with anyio.fail_after(10):
            while served.room.socket.hub.audience.everybody:
                await anyio.lowlevel.checkpoint()
        await raw.aclose()


async def test_made_up_bytes_break_nothing_but_their_own_connection(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        chance = random.Random(7)
        for number in range(60):
            raw = await (connected if number % 2 else RawSocket.open)(served.port)
            with_mask = chance.random() < 0.5
            content = chance.randbytes(chance.randrange(1, 300))
            try:
                await (raw.send(content, opcode=chance.randrange(16)) if with_mask else raw.send_bytes(content))
                for text in frames(number)[:20]:
                    await raw.send(text.encode("utf-8", "replace"))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass
            await raw.aclose()
        async with connect(served.url, token="tok") as gateway:
            assert (await gateway.call("health"))["ok"]


async def test_a_thousand_sockets_are_served(tmp_path: Path) -> None:
    many_descriptors(4096)
    async with serving(tmp_path) as served:
        sockets = [await connected(served.port) for _ in range(1000)]
        assert len(served.room.socket.hub.audience.everybody) == 1000
        await served.room.clock.advance(30.0)
        for raw in sockets:
            names = [json.loads((await raw.frame())[1]).get("event")]
            while names[-1] != "tick":
                names.append(json.loads((await raw.frame())[1]).get("event"))
        for raw in sockets:
            await raw.aclose()
        with anyio.fail_after(20):
            while served.room.socket.hub.audience.everybody:
                await anyio.lowlevel.checkpoint()
