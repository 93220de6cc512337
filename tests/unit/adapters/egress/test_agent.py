"""Fetching what the assistant chose: judged, pinned, bounded."""

import ssl
import zlib
from collections.abc import Callable
from pathlib import Path

import anyio
import brotli
import pytest
from aiohttp import web
from backports import zstd

from ostiary.adapters.egress import AgentProfile, Egress, EgressFailed, EgressRules, FetchLimits
from ostiary.contracts.errors import EgressRefused
from tests.unit.adapters.egress.sites import HERE, LOCAL, Names, certificate, gzipped, serving

SECRET = "Bearer sk-very-secret-0123456789"


def agent(names: Names, rules: EgressRules = LOCAL, tls: ssl.SSLContext | None = None) -> AgentProfile:
    return Egress(resolve=names, tls=tls).agent(rules)


async def hello(request: web.Request) -> web.Response:
    response = web.Response(text=f"hello {request.host} {request.path_qs}")
    response.set_cookie("session", "remember-me")
    return response


async def test_a_page_is_fetched_from_the_judged_address_under_its_own_name() -> None:
    names = Names(site_example=HERE)
    async with serving(hello) as port:
        fetched = await agent(names).fetch(f"http://site.example:{port}/a?b=c")
    assert (fetched.status, fetched.body) == (200, f"hello site.example:{port} /a?b=c".encode())
    assert (fetched.url, fetched.host, fetched.redirects) == (f"http://site.example:{port}/a?b=c", "site.example", ())


async def test_without_the_owners_word_loopback_is_not_reached() -> None:
    async with serving(hello) as port:
        for host in ("127.0.0.1", "site.example", "localhost"):
            with pytest.raises(EgressRefused):
                await agent(Names(site_example=HERE), EgressRules()).fetch(f"http://{host}:{port}/")


async def test_one_address_inside_spoils_all_others() -> None:
    names = Names(site_example=(("8.8.8.8", "10.0.0.1"),))
    with pytest.raises(EgressRefused, match="private"):
        await agent(names).fetch("http://site.example/")


async def test_a_name_that_changes_its_answer_is_not_asked_again_for_the_connection() -> None:
    names = Names(site_example=(("127.0.0.1",), ("10.0.0.1",)))
    async with serving(hello) as port:
        fetched = await agent(names).fetch(f"http://site.example:{port}/")
        assert fetched.status == 200
        assert names.asked == ["site.example"]
        with pytest.raises(EgressRefused):
            await agent(names).fetch(f"http://site.example:{port}/")


async def test_a_name_that_changes_its_answer_before_a_redirect_is_judged_again() -> None:
    async def back(request: web.Request) -> web.Response:
        raise web.HTTPFound("/again")

    names = Names(site_example=(("127.0.0.1",), ("169.254.169.254",)))
    async with serving(back) as port:
        with pytest.raises(EgressRefused, match="metadata"):
            await agent(names).fetch(f"http://site.example:{port}/")


@pytest.mark.parametrize("answer", [("nonsense",), ("fe80::1%eth0",), ("127.1",), ("",)])
async def test_an_answer_that_is_no_address_is_refused(answer: tuple[str, ...]) -> None:
    with pytest.raises(EgressRefused):
        await agent(Names(site_example=(answer,))).fetch("http://site.example/")


async def test_a_name_with_too_many_addresses_is_refused() -> None:
    many = tuple(f"8.8.{place}.8" for place in range(40))
    with pytest.raises(EgressRefused, match="addresses"):
        await agent(Names(site_example=(many,))).fetch("http://site.example/")


async def test_a_name_nobody_knows_and_a_name_server_that_is_silent_are_failures() -> None:
    async def silent(host: str) -> tuple[str, ...]:
        await anyio.sleep_forever()
        return ()

    with pytest.raises(EgressFailed) as caught:
        await agent(Names()).fetch("http://site.example/")
    assert caught.value.failure == "name"
    with pytest.raises(EgressFailed) as caught:
        await Egress(resolve=silent).agent(LOCAL).fetch("http://site.example/", limits=FetchLimits(name_seconds=0.01))
    assert caught.value.failure == "name"


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.2:{port}/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:10.0.0.1]/",
        "http://inside.example/",
        "http://[::ffff:127.0.0.3]:{port}/",
        "http://127.1:{port}/",
        "file:///etc/passwd",
        "data:text/html,x",
        "ftp://site.example/",
        "//user@site.example:{port}/",
    ],
)
async def test_a_redirect_to_inside_is_not_followed(location: str) -> None:
    seen: list[str] = []

    async def away(request: web.Request) -> web.Response:
        seen.append(request.path)
        port = request.url.port
        return web.Response(status=302, headers={"Location": location.format(port=port)})

    names = Names(site_example=HERE, inside_example=(("192.168.0.1",),))
    async with serving(away) as port:
        with pytest.raises(EgressRefused):
            await agent(names).fetch(f"http://site.example:{port}/start")
    assert seen == ["/start"]


async def test_five_redirects_are_followed_and_a_sixth_is_not() -> None:
    async def count(request: web.Request) -> web.Response:
        left = int(request.path[1:])
        return web.Response(text="there") if left == 0 else web.Response(status=302, headers={"Location": f"/{left - 1}"})

    async with serving(count) as port:
        fetched = await agent(Names(site_example=HERE)).fetch(f"http://site.example:{port}/5")
        assert (fetched.body, len(fetched.redirects)) == (b"there", 5)
        assert fetched.url.endswith("/0")
        with pytest.raises(EgressRefused, match="redirected more than 5"):
            await agent(Names(site_example=HERE)).fetch(f"http://site.example:{port}/6")


async def test_credentials_stay_with_the_origin_they_were_given_to() -> None:
    seen: dict[str, tuple[str | None, ...]] = {}

    async def site(request: web.Request) -> web.Response:
        seen[request.path] = tuple(
            request.headers.get(name) for name in ("Authorization", "X-Key", "Cookie", "X-Plain", "Referer")
        )
        next_hop = {"/1": f"http://a.example:{request.url.port}/2", "/2": f"http://b.example:{request.url.port}/3"}
        back = {"/3": f"http://a.example:{request.url.port}/4"}
        target = {**next_hop, **back}.get(request.path)
        answer = web.Response(status=302, headers={"Location": target}) if target else web.Response(text="ok")
        answer.set_cookie("planted", "x")
        return answer

    async with serving(site) as port:
        await agent(Names(a_example=HERE, b_example=HERE)).fetch(
            f"http://a.example:{port}/1",
            headers={"Cookie": "mine", "X-Plain": "p"},
            secret_headers={"Authorization": SECRET, "X-Key": "k"},
        )
    assert seen["/1"] == seen["/2"] == (SECRET, "k", "mine", "p", None)
    assert seen["/3"] == seen["/4"] == (None, None, None, "p", None)


async def test_contents_are_not_sent_on_to_another_origin() -> None:
    async def on(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": f"http://b.example:{request.url.port}/"})

    async with serving(on) as port:
        with pytest.raises(EgressRefused, match="sent on"):
            await agent(Names(a_example=HERE, b_example=HERE)).fetch(f"http://a.example:{port}/", method="POST", body=b"private")


async def test_tls_is_for_the_name_although_the_address_is_pinned(tmp_path: Path) -> None:
    server, client = certificate(tmp_path, "site.example")
    names = Names(site_example=HERE, other_example=HERE)
    async with serving(hello, tls=server) as port:
        fetched = await agent(names, tls=client).fetch(f"https://site.example:{port}/")
        assert fetched.status == 200
        with pytest.raises(EgressFailed) as caught:
            await agent(names, tls=client).fetch(f"https://other.example:{port}/")
        assert caught.value.failure == "certificate"
        with pytest.raises(EgressFailed) as caught:
            await agent(names).fetch(f"https://site.example:{port}/")
        assert caught.value.failure == "certificate"


async def test_from_http_to_https_is_followed_and_from_https_to_http_is_not(tmp_path: Path) -> None:
    server, client = certificate(tmp_path, "site.example")
    ports: dict[str, int] = {}

    async def up(request: web.Request) -> web.Response:
        return web.Response(status=301, headers={"Location": f"https://site.example:{ports['tls']}/safe"})

    async def down(request: web.Request) -> web.Response:
        headers = {"Location": f"http://site.example:{ports['plain']}/"}
        return web.Response(text="safe") if request.path == "/safe" else web.Response(status=301, headers=headers)

    async with serving(up) as ports["plain"], serving(down, tls=server) as ports["tls"]:
        site = agent(Names(site_example=HERE), tls=client)
        assert (await site.fetch(f"http://site.example:{ports['plain']}/")).body == b"safe"
        with pytest.raises(EgressRefused, match="https to http"):
            await site.fetch(f"https://site.example:{ports['tls']}/down")


async def test_proxies_of_the_environment_play_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    async with serving(hello) as port:
        assert (await agent(Names(site_example=HERE)).fetch(f"http://site.example:{port}/")).status == 200


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzipped,
    "x-gzip": lambda data: gzipped(data[:5]) + gzipped(data[5:]),
    "deflate": zlib.compress,
    "Deflate": lambda data: zlib.compress(data)[2:-4],
    "br": brotli.compress,
    "zstd": zstd.compress,
    "identity": bytes,
}


@pytest.mark.parametrize("coding", PACKERS)
async def test_a_packed_page_is_unpacked(coding: str) -> None:
    text = "grüße und mehr davon ".encode() * 20_000

    async def packed(request: web.Request) -> web.Response:
        assert {"gzip", "deflate", "br", "zstd"} <= set(request.headers["Accept-Encoding"].split(", "))
        return web.Response(body=PACKERS[coding](text), headers={"Content-Encoding": coding})

    async with serving(packed) as port:
        fetched = await agent(Names(site_example=HERE)).fetch(f"http://site.example:{port}/")
    assert fetched.body == text


BOMBS = {
    "gzip": gzipped(bytes(1 << 20), 64),
    "deflate": zlib.compress(bytes(64 << 20)),
    "br": brotli.compress(bytes(64 << 20), quality=4),
    "zstd": zstd.compress(bytes(64 << 20)),
}


@pytest.mark.parametrize("coding", BOMBS)
@pytest.mark.parametrize("cuts", [True, False])
async def test_a_bomb_is_refused_long_before_it_is_big(coding: str, cuts: bool) -> None:
    async def bomb(request: web.Request) -> web.Response:
        return web.Response(body=BOMBS[coding], headers={"Content-Encoding": coding})

    async with serving(bomb) as port:
        with pytest.raises(EgressFailed, match="bomb") as caught:
            await agent(Names(site_example=HERE)).fetch(f"http://site.example:{port}/", limits=FetchLimits(cuts=cuts))
    assert caught.value.failure == "too_large"


@pytest.mark.parametrize(
    ("coding", "body", "failure"),
    [
        ("gzip", b"not packed at all", "protocol"),
        ("gzip", gzipped(b"x" * 1000)[:-12], "cut"),
        ("br", b"\xff\xff\xff\xff", "protocol"),
        ("zstd", b"\x00\x01\x02\x03\x04", "protocol"),
        ("gzip, gzip", gzipped(gzipped(b"x")), "protocol"),
        ("lzma", b"x", "protocol"),
    ],
)
async def test_a_body_that_cannot_be_unpacked_is_a_failure(coding: str, body: bytes, failure: str) -> None:
    async def broken(request: web.Request) -> web.Response:
        return web.Response(body=body, headers={"Content-Encoding": coding})

    async with serving(broken) as port:
        with pytest.raises(EgressFailed) as caught:
            await agent(Names(site_example=HERE)).fetch(f"http://site.example:{port}/")
    assert caught.value.failure == failure


async def test_a_long_page_is_cut_or_refused_as_asked() -> None:
    async def long(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * 100_000)

    async with serving(long) as port:
        url = f"http://site.example:{port}/"
        fetched = await agent(Names(site_example=HERE)).fetch(url, limits=FetchLimits(response_bytes=1000, cuts=True))
        assert (len(fetched.body), fetched.truncated) == (1000, True)
        with pytest.raises(EgressFailed) as caught:
            await agent(Names(site_example=HERE)).fetch(url, limits=FetchLimits(response_bytes=1000))
    assert caught.value.failure == "too_large"


async def test_a_server_that_drips_or_is_silent_is_left() -> None:
    done = anyio.Event()

    async def silent(request: web.Request) -> web.Response:
        await done.wait()
        return web.Response()

    async with serving(silent) as port:
        for limits in (FetchLimits(total_seconds=0.1), FetchLimits(idle_seconds=0.1)):
            with pytest.raises(EgressFailed) as caught:
                await agent(Names(site_example=HERE)).fetch(f"http://site.example:{port}/", limits=limits)
            assert caught.value.failure == "timeout"
        done.set()


async def test_a_server_with_endless_headers_is_left() -> None:
    async def chatty(request: web.Request) -> web.Response:
        return web.Response(headers={f"X-{number}": "x" for number in range(500)})

    async with serving(chatty) as port:
        with pytest.raises(EgressFailed) as caught:
            await agent(Names(site_example=HERE)).fetch(f"http://site.example:{port}/")
    assert caught.value.failure == "protocol"


async def test_a_header_cannot_end_its_line_and_a_method_is_one_of_three() -> None:
    site = agent(Names(site_example=HERE))
    with pytest.raises(EgressRefused):
        await site.fetch("http://site.example/", headers={"X": "a\r\nHost: evil"})
    with pytest.raises(EgressRefused):
        await site.fetch("http://site.example/", method="CONNECT")


async def test_the_last_door_judges_what_is_about_to_be_connected_to() -> None:
    from ostiary.adapters.egress.hop import hop
    from ostiary.adapters.egress.judge import Judge
    from ostiary.adapters.egress.url import parse_url

    async with serving(hello) as port:
        with pytest.raises(EgressRefused, match="loopback"):
            async with hop(
                "GET",
                parse_url(f"http://site.example:{port}/"),
                ("127.0.0.1",),
                b"",
                judge=Judge(EgressRules()),
                headers={},
                secret_headers={},
                limits=FetchLimits(),
                tls=None,
            ):
                pass
