import json
import os
import shutil
from pathlib import Path

import anyio

from tests.journeys.socket.server import serving

NODE = shutil.which("node")
CLIENT = Path(__file__).with_name("minimal_client.mjs")


async def test_a_minimal_client_in_node_connects_and_gets_health(tmp_path: Path) -> None:
    assert NODE is not None
    async with serving(tmp_path) as served:
        environ = {"PATH": os.environ["PATH"], "OSTIARY_TOKEN": "tok", "OSTIARY_URL": f"ws://127.0.0.1:{served.port}"}
        with anyio.fail_after(30):
            done = await anyio.run_process([NODE, "--experimental-websocket", str(CLIENT)], env=environ)
        health = json.loads(done.stdout)
        assert (health["ok"], health["version"]) == (True, "1.2.3")
