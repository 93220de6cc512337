"""The client against the real server."""

from pathlib import Path

import anyio
import pytest

from ostiary.client import CallRefused, Unreachable, connect, connect_home
from ostiary.client.link import socket_url
from ostiary.gateway.protocol.chat import History
from ostiary.gateway.protocol.system import Health
from ostiary.kit.models import call, say
from tests.journeys.socket.server import serving
from tests.unit.core.engines import Tool
from tests.unit.gateway.socket.room import MAIN


async def test_a_call_gives_plain_data_or_what_was_asked_for(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, connect(served.url, token="tok") as gateway:
        assert gateway.hello["protocol"] == 3
        assert (await gateway.call("health"))["version"] == "1.2.3"
        health = await gateway.call("health", None, Health)
        assert (health.ok, health.version) == (True, "1.2.3")
        history = await gateway.call("chat.history", {"key": MAIN}, History)
        assert history.turns == []


async def test_a_refusal_is_an_error_with_its_code(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        async with connect(served.url, token="tok") as gateway:
            with pytest.raises(CallRefused) as refused:
                await gateway.call("sessions.get", {"key": "agent:main:api:none"})
            assert refused.value.code == "NOT_FOUND"
        with pytest.raises(CallRefused) as refused:
            async with connect(served.url, token="wrong"):
                pass
        assert refused.value.code == "UNAUTHORIZED"


async def test_nobody_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="no gateway"):
        async with connect("http://127.0.0.1:9", token="tok"):
            pass
    with pytest.raises(Unreachable, match="no gateway runs"):
        async with connect_home(tmp_path):
            pass


async def test_the_run_file_leads_to_the_gateway(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "gateway.json").write_text(f'{{"url": "{served.url}", "token": "tok"}}')
        async with connect_home(tmp_path) as gateway:
            assert (await gateway.call("health"))["ok"]


async def test_an_answer_comes_in_pieces_that_make_it_up(tmp_path: Path) -> None:
    steps = [say("Let me ", "look.").then(call("probe", {"n": 1})), say("It is ", "four.")]
    async with serving(tmp_path, *steps, tools={"probe": Tool("probe")}) as served, connect(served.url, token="tok") as gateway:
        pieces = [piece async for piece in gateway.chat(MAIN, "What is it?")]
        assert "".join(piece.text for piece in pieces if piece.kind == "text") == "Let me look.It is four."
        assert [piece.text for piece in pieces if piece.kind == "tool"] == ["probe", "probe"]
        assert (pieces[-1].kind, pieces[-1].text) == ("final", "It is four.")


async def test_a_run_gives_how_it_ended(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, connect(served.url, token="tok") as gateway:
        assert (await gateway.run("hi"))["text"] == "Hello, world."


async def test_events_are_heard_by_name(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, connect(served.url, token="tok") as gateway:
        with gateway.listening("sessions") as listener:
            await gateway.run("hi")
            with anyio.fail_after(5):
                event = await listener.get()
            assert (event.name, event.payload["key"]) == ("sessions", MAIN)


async def test_it_comes_back_asks_again_and_follows_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, connect(served.url, token="tok") as gateway:
        await gateway.follow(MAIN)
        with gateway.listening() as listener:
            for connection in list(served.room.socket.hub.audience.everybody):
                connection.close(1012, "for a test")
            with anyio.fail_after(10):
                assert (await gateway.call("health"))["ok"]
                event = await listener.get()
                while event.name != "gap":
                    event = await listener.get()
        pieces = [piece async for piece in gateway.chat(MAIN, "still there?")]
        assert pieces[-1].text == "Hello, world."


async def test_an_answer_survives_a_lost_connection(tmp_path: Path) -> None:
    hold = anyio.Event()
    async with serving(tmp_path, say("Hello", ", again.").held(hold)) as served, connect(served.url, token="tok") as gateway:
        pieces = []
        async for piece in gateway.chat(MAIN, "hi"):
            pieces.append(piece)
            if piece.kind == "text" and not hold.is_set():
                for connection in list(served.room.socket.hub.audience.everybody):
                    connection.close(1012, "for a test")
                hold.set()
        assert (pieces[-1].kind, pieces[-1].text) == ("final", "Hello, again.")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:1", "ws://127.0.0.1:1/ws"),
        ("https://host/base/", "wss://host/base/ws"),
        ("ws://h:1/ws", "ws://h:1/ws"),
    ],
)
def test_addresses_of_http_lead_to_the_socket(url: str, address: str) -> None:
    assert socket_url(url) == address
