"""The proxy for what runs beside the gateway."""

import logging
import os
import stat
from base64 import b64encode
from pathlib import Path

import aiohttp
import anyio
import pytest
from aiohttp import web

from ostiary.adapters.egress import Egress, EgressFailed, EgressRules
from ostiary.adapters.egress.proxy import ProxyLimits
from tests.unit.adapters.egress.sites import HERE, LOCAL, Names, certificate, serving


async def hello(request: web.Request) -> web.Response:
    body = await request.read()
    return web.Response(text=f"{request.method} {request.host} {request.path_qs} {body.decode()} {sorted(request.headers)}")


def basic(username: str, password: str) -> dict[str, str]:
    return {"Proxy-Authorization": "Basic " + b64encode(f"{username}:{password}".encode()).decode()}


async def ask(path: str, *sent: bytes) -> bytes:
    """Everything that comes back until the proxy closes."""
    with anyio.fail_after(5):
        async with await anyio.connect_unix(path) as stream:
            for part in sent:
                await stream.send(part)
            return b"".join([chunk async for chunk in stream])


async def test_a_plain_request_goes_to_the_judged_host_without_the_proxys_own_headers(tmp_path: Path) -> None:
    path = str(tmp_path / "p.sock")
    async with serving(hello) as port, Egress(resolve=Names(site_example=HERE)).proxy(LOCAL, path) as door:
        assert (door.socket_path, door.port) == (path, 0)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        asked = (
            f"POST http://site.example:{port}/a?b HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 4\r\n"
            "Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\n\r\nbody"
        )
        answer = await ask(path, asked.encode())
    assert answer.startswith(b"HTTP/1.1 200")
    assert f"POST site.example:{port} /a?b body ['Connection', 'Content-Length', 'Host']".encode() in answer
    assert os.listdir(tmp_path) == []


async def test_a_tunnel_carries_tls_to_the_pinned_address(tmp_path: Path) -> None:
    server, client = certificate(tmp_path, "site.example")
    names = Names(site_example=HERE)
    async with serving(hello, tls=server) as port, Egress(resolve=names).proxy(LOCAL, loopback=True) as door:
        auth = basic(door.username, door.password)
        async with aiohttp.ClientSession() as session:
            url = f"https://site.example:{port}/x"
            async with session.get(url, proxy=door.server, proxy_headers=auth, ssl=client) as response:
                assert (await response.text()).startswith(f"GET site.example:{port} /x")
    assert names.asked == ["site.example"]


async def test_a_port_asks_for_the_credential_of_this_start() -> None:
    async with serving(hello) as port, Egress(resolve=Names(site_example=HERE)).proxy(LOCAL, loopback=True) as door:
        async with aiohttp.ClientSession() as session:
            for auth in ({}, basic("ostiary", ""), basic("", door.password)):
                async with session.get(f"http://site.example:{port}/", proxy=door.server, headers=auth) as response:
                    assert response.status == 407
                    assert response.headers["Proxy-Authenticate"].startswith("Basic")
            right = basic(door.username, door.password)
            async with session.get(f"http://site.example:{port}/", proxy=door.server, headers=right) as response:
                assert response.status == 200
        async with Egress().proxy(LOCAL, loopback=True) as other:
            assert other.password != door.password


@pytest.mark.parametrize(
    "line",
    [
        "CONNECT 127.0.0.1:443",
        "CONNECT localhost:443",
        "CONNECT inside.example:443",
        "CONNECT 169.254.169.254:80",
        "CONNECT [::ffff:127.0.0.1]:443",
        "CONNECT mixed.example:443",
        "CONNECT site.example:25",
        "CONNECT blocked.example:443",
        "GET http://127.0.0.1/",
        "GET http://inside.example/",
    ],
)
async def test_what_the_judge_refuses_is_answered_403_and_not_connected(line: str, tmp_path: Path) -> None:
    path = str(tmp_path / "p.sock")
    names = Names(inside_example=(("10.0.0.1",),), mixed_example=(("8.8.8.8", "127.0.0.1"),))
    async with Egress(resolve=names).proxy(EgressRules(blocked=("blocked.example",)), path):
        assert (await ask(path, f"{line} HTTP/1.1\r\nHost: x\r\n\r\n".encode())).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(
    "head",
    [
        b"CONNECT site.example HTTP/1.1\r\n\r\n",
        b"CONNECT user@site.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT 127.1:443 HTTP/1.1\r\n\r\n",
        b"CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: site.example\r\n\r\n",
        b"GET https://site.example/ HTTP/1.1\r\n\r\n",
        b"GET file:///etc/passwd HTTP/1.1\r\n\r\n",
        b"GET http://site.example/ HTTP/2.0\r\n\r\n",
        b"GET http://site.example/ HTTP/1.1\r\nA : b\r\n\r\n",
        b"GET http://site.example/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        b"GET http://site.example/ HTTP/1.1\r\nA: b\nHost: c\r\n\r\n",
        b"POST http://site.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST http://site.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST http://site.example/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET http://site.example/ HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"\x16\x03\x01\x00\x00\r\n\r\n",
        b"GET http://site.example/" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
async def test_what_is_not_plainly_a_request_is_answered_400(head: bytes, tmp_path: Path) -> None:
    path = str(tmp_path / "p.sock")
    async with Egress(resolve=Names(site_example=HERE)).proxy(LOCAL, path):
        assert (await ask(path, head)).startswith(b"HTTP/1.1 400")


async def test_a_second_request_behind_the_first_reaches_nobody(tmp_path: Path) -> None:
    path, seen = str(tmp_path / "p.sock"), []

    async def remember(request: web.Request) -> web.Response:
        seen.append(request.host)
        return web.Response(text="ok")

    async with serving(remember) as port, Egress(resolve=Names(site_example=HERE)).proxy(LOCAL, path):
        first = f"GET http://site.example:{port}/ HTTP/1.1\r\n\r\n"
        await ask(path, f"{first}GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".encode())
    assert seen == [f"site.example:{port}"]


async def test_a_host_that_is_not_there_is_answered_502(tmp_path: Path, free_tcp_port: int) -> None:
    path = str(tmp_path / "p.sock")
    async with Egress(resolve=Names(site_example=HERE)).proxy(LOCAL, path):
        for host in ("nowhere.example:443", f"site.example:{free_tcp_port}"):
            assert (await ask(path, f"CONNECT {host} HTTP/1.1\r\n\r\n".encode())).startswith(b"HTTP/1.1 502")


async def test_a_slow_head_a_silent_tunnel_and_too_many_bytes_end(tmp_path: Path) -> None:
    path = str(tmp_path / "p.sock")
    forever = anyio.Event()

    async def silent(request: web.Request) -> web.Response:
        await forever.wait()
        return web.Response()

    async def endless(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * 1_000_000)

    limits = ProxyLimits(head_seconds=0.1, idle_seconds=0.1, bytes=100_000)
    names = Names(site_example=HERE)
    async with serving(silent) as mute, serving(endless) as loud, Egress(resolve=names).proxy(LOCAL, path, limits=limits):
        assert (await ask(path, b"CONNECT")).startswith(b"HTTP/1.1 408")
        assert await ask(path, f"GET http://site.example:{mute}/ HTTP/1.1\r\n\r\n".encode()) == b""
        assert len(await ask(path, f"GET http://site.example:{loud}/ HTTP/1.1\r\n\r\n".encode())) <= 200_000
        forever.set()


async def test_more_connections_than_there_are_places_are_turned_away(tmp_path: Path) -> None:
    path = str(tmp_path / "p.sock")
    async with Egress(resolve=Names()).proxy(LOCAL, path, limits=ProxyLimits(connections=1)):
        async with await anyio.connect_unix(path) as first:
            await first.send(b"CONNECT site")
            answers = [await ask(path) for _ in range(2)]
        assert any(answer.startswith(b"HTTP/1.1 503") for answer in answers)


async def test_the_log_names_the_host_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "ostiary")
    path = str(tmp_path / "p.sock")
    secret = b64encode(b"user:hunter22").decode()
    async with Egress(resolve=Names(inside_example=(("10.0.0.1",),))).proxy(EgressRules(), path):
        await ask(path, f"GET http://inside.example/private?q=1 HTTP/1.1\r\nAuthorization: Basic {secret}\r\n\r\n".encode())
    assert "inside.example" in caplog.text
    assert "private" not in caplog.text.replace("private address", "")
    assert secret not in caplog.text


async def test_a_file_in_the_sockets_place_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "p.sock"
    path.write_text("precious")
    with pytest.raises(EgressFailed):
        async with Egress().proxy(LOCAL, str(path)):
            pass
    assert path.read_text() == "precious"
