import json
from pathlib import Path

import anyio

from tests.journeys.socket.server import serving
from tests.journeys.socket.test_bad_clients import connected


async def test_when_the_server_stops_every_socket_hears_it_first(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        raw = await connected(served.port)
    seen = []
    with anyio.fail_after(5):
        while not seen or seen[-1][0] != 8:
            seen.append(await raw.frame())
    events = [json.loads(payload) for opcode, payload in seen if opcode == 1]
    assert events[-1]["event"] == "shutdown"
    assert int.from_bytes(seen[-1][1][:2], "big") == 1012
    await raw.aclose()
