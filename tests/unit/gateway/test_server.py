import json
import signal
import socket
import stat
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from ostiary.contracts.errors import BadInput
from ostiary.gateway import server
from ostiary.gateway.app import healthz
from ostiary.gateway.server import bind, bind_unix, serve
from tests.unit.gateway.fakes import TOKEN, Client


class Ready:
    def __init__(self) -> None:
        self.url = ""
        self.event = anyio.Event()

    def __call__(self, url: str) -> None:
        self.url = url
        self.event.set()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


def ask(port: int, body: dict[str, object]) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Authorization": f"Bearer {TOKEN}"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.mark.parametrize("stream", [False, True])
async def test_a_real_client_gets_its_answer_over_a_real_socket(stream: bool) -> None:
    ready = Ready()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: serve(Client().app, on_ready=ready, drain_seconds=1))
            await ready.event.wait()
            body = {"messages": [{"role": "user", "content": "hi"}], "stream": stream}
            status, text = await to_thread.run_sync(ask, ready.port, body)
            group.cancel_scope.cancel()
    assert status == 200
    assert "hello" in text


async def test_serving_leaves_the_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    ready = Ready()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: serve(Client().app, on_ready=ready, drain_seconds=1))
            await ready.event.wait()
            during = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
            group.cancel_scope.cancel()
    assert during == before


@pytest.mark.parametrize("host", ["192.0.2.1", "example.org", ""])
def test_an_address_that_is_not_ours_is_refused_in_words(host: str) -> None:
    with pytest.raises(BadInput):
        bind(host, 0)


def test_a_taken_port_is_said_in_one_sentence() -> None:
    with bind("127.0.0.1", 0) as first, pytest.raises(BadInput, match="is taken"):
        bind("127.0.0.1", first.getsockname()[1])


async def test_a_connection_that_never_sends_a_head_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.05)
    ready = Ready()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: serve(Client().app, on_ready=ready, drain_seconds=1))
            await ready.event.wait()
            port = int(ready.url.rpartition(":")[2])
            async with await anyio.connect_tcp("127.0.0.1", port) as silent:
                with pytest.raises(anyio.EndOfStream):
                    await silent.receive()
            async with await anyio.connect_tcp("127.0.0.1", port) as slow:
                await slow.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
                with pytest.raises(anyio.EndOfStream):
                    await slow.receive()
            group.cancel_scope.cancel()


async def test_a_unix_socket_is_the_users_own_and_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    # What a process that died left behind.
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    ready = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(partial(serve, healthz, unix=str(path), on_ready=lambda url: ready.set(), drain_seconds=0))
        await ready.wait()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(BadInput, match="Another process listens"):
            bind_unix(str(path))
        async with await anyio.connect_unix(path) as stream:
            await stream.send(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert b"200 OK" in await stream.receive()
        group.cancel_scope.cancel()
    assert not path.exists()


def test_a_file_that_is_no_socket_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("mine")
    with pytest.raises(BadInput, match="something else"):
        bind_unix(str(path))
    assert path.read_text() == "mine"
