"""The socket of the real process, from outside."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from ostiary.client import CallRefused, DeviceKey, Unreachable, connect, connect_home
from ostiary.client import Gateway as Client
from ostiary.gateway.methods import all_methods
from ostiary.kit.model_servers import Reply, Words
from tests.journeys.gateway.house import TOKEN, Gateway, Home, config
from tests.journeys.gateway.model import Model, running
from tests.journeys.socket.test_node import CLIENT

MAIN = "agent:main:main"
NODE = shutil.which("node")


@pytest.fixture(scope="module")
def model_server() -> Iterator[Model]:
    with running() as model:
        yield model


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, model_server: Model) -> Iterator[Gateway]:
    home = Home(tmp_path_factory.mktemp("shared") / "home")
    home.configure(config(model_server.url))
    with home.up() as gateway:
        yield gateway


async def test_a_conversation_over_the_socket(gateway: Gateway, model_server: Model) -> None:
    model_server.begin("It is four.")
    async with connect(gateway.url, token=TOKEN) as client:
        pieces = [piece async for piece in client.chat("agent:main:api:sum", "What is two and two?")]
        assert pieces[-1].text == "It is four."
        history = await client.call("chat.history", {"key": "agent:main:api:sum"})
        assert [(turn["inputs"][0]["text"], turn["reply"]) for turn in history["turns"]] == [
            ("What is two and two?", "It is four.")
        ]
        rows = (await client.call("sessions.list"))["sessions"]
        assert "agent:main:api:sum" in [row["key"] for row in rows]


async def test_every_method_is_served_and_reading_ones_answer(gateway: Gateway) -> None:
    async with connect(gateway.url, token=TOKEN) as client:
        assert set(client.hello["features"]["methods"]) == set(all_methods())
        for name in (
            "health", "status", "system-presence", "commands.list", "channels.status", "logs.tail", "models.list",
            "models.auth.list", "sessions.list", "usage.summary", "config.get", "config.schema", "device.pair.list",
        ):  # fmt: skip
            assert await client.call(name) != {}
        config = await client.call("config.get")
        assert TOKEN not in str(config)


async def test_the_run_file_and_a_wrong_token(gateway: Gateway) -> None:
    async with connect_home(gateway.home.path) as client:
        assert (await client.call("status"))["home"] == str(gateway.home.path)
    for wrong in ("wrong", "null", "undefined", ""):
        with pytest.raises(CallRefused) as refused:
            async with connect(gateway.url, token=wrong):
                pass
        assert refused.value.code == "UNAUTHORIZED"


async def test_a_device_is_paired_uses_its_scopes_and_is_dropped_when_revoked(gateway: Gateway) -> None:
    key, _ = DeviceKey.new()
    async with connect(gateway.url, token=TOKEN) as owner:
        with pytest.raises(CallRefused) as refused:
            async with connect(gateway.url, device=key, scopes=["read"], client_id="phone", mode="ui"):
                pass
        assert refused.value.code == "NOT_PAIRED"
        request = refused.value.details["requestId"]
        await owner.call("device.pair.approve", {"id": request, "idempotencyKey": "approve-1"})
        async with connect(gateway.url, device=key, scopes=["read"], client_id="phone", mode="ui") as phone:
            assert phone.hello["auth"]["scopes"] == ["read"]
            with pytest.raises(CallRefused) as refused:
                await phone.call("chat.send", {"key": MAIN, "text": "x", "idempotencyKey": "12345678"})
            assert refused.value.code == "FORBIDDEN"
            await owner.call("device.revoke", {"id": key.id})
            with pytest.raises(CallRefused):
                await ask_on(phone)


async def ask_on(client: Client) -> None:
    """Until it is refused."""
    with anyio.fail_after(10):
        while True:
            await client.call("health")


async def test_the_configuration_is_changed_over_the_socket(gateway: Gateway) -> None:
    async with connect(gateway.url, token=TOKEN) as client:
        before = await client.call("config.get")
        params = {"path": "agents.defaults.model.fallbacks", "value": ["kit/kit-2"], "hash": before["hash"]}
        changed = await client.call("config.patch", {**params, "idempotencyKey": "patch-01"})
        assert changed["generation"] > before["generation"]
        with pytest.raises(CallRefused) as refused:
            await client.call("config.patch", {**params, "idempotencyKey": "patch-02"})
        assert refused.value.code == "CONFLICT"
        bad = {"path": "gateway.port", "value": "high", "hash": changed["hash"], "idempotencyKey": "patch-03"}
        with pytest.raises(CallRefused) as refused:
            await client.call("config.patch", bad)
        assert refused.value.code == "INVALID_PARAMS"


def test_a_minimal_client_in_node(gateway: Gateway) -> None:
    assert NODE is not None
    environ = {"PATH": os.environ["PATH"], "OSTIARY_TOKEN": TOKEN, "OSTIARY_URL": gateway.url.replace("http", "ws")}
    done = subprocess.run(
        [NODE, "--experimental-websocket", str(CLIENT)], env=environ, capture_output=True, text=True, timeout=30, check=True
    )
    assert '"ok":true' in done.stdout


async def test_killed_in_the_middle_of_an_answer_it_is_answered_once_after_the_restart(
    tmp_path: Path, model_server: Model
) -> None:
    gate = model_server.gate()
    model_server.begin(Reply(parts=(Words(pieces=("The first ", "half")),), holds={1: gate}), "The whole answer.")
    home = Home(tmp_path / "home")
    home.configure(config(model_server.url))
    with home.up() as first:
        async with connect(first.url, token=TOKEN) as client:
            key = {"key": MAIN, "text": "hi", "idempotencyKey": "said-once"}
            sent = await client.call("chat.send", key)
            await anyio.to_thread.run_sync(model_server.wait_asked)
            first.kill()
    model_server.release(gate)
    with home.up() as second:
        async with connect(second.url, token=TOKEN) as client:
            assert await client.call("chat.send", key) == sent
            ended = await client.call("agent.wait", {"runId": f"run_{sent['item']}", "timeoutMs": 20000})
            assert (ended["status"], ended["text"]) == ("ok", "The whole answer.")
            history = await client.call("chat.history", {"key": MAIN})
            assert [turn["reply"] for turn in history["turns"]] == ["The whole answer."]


async def test_nobody_answers_where_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(Unreachable):
        async with connect_home(tmp_path / "none"):
            pass
