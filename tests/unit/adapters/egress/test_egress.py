"""The way out: only where the owner pointed, never further, and within limits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from aiohttp import web

from ostiary.adapters.egress import Egress, EgressFailed, Limits
from ostiary.contracts.errors import EgressRefused

SECRET = "sk-very-secret-0123456789"


class Site:
    """A small web site that remembers what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[web.Request] = []
        self.hold = anyio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        match request.path:
            case "/v1/redirect":
                return web.Response(status=302, headers={"Location": f"{self.url}/v1/ok?key={SECRET}"})
            case "/v1/echo":
                return web.Response(status=400, text=f"bad key {request.headers.get('Authorization')}")
            case "/v1/large":
                return web.Response(body=b"x" * 100_000)
            case "/v1/gzip":
                return web.Response(body=b"x", headers={"Content-Encoding": "gzip"})
            case "/v1/slow":
                await self.hold.wait()
        response = web.Response(text="ok")
        response.set_cookie("session", "remember-me")
        return response


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    made = Site()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield made
    finally:
        await runner.cleanup()


async def test_a_request_goes_to_the_configured_address_and_its_body_comes_in_chunks() -> None:
    async with site() as here, Egress() as egress:
        async with egress.configured(f"{here.url}/v1/").post("/ok", b"{}", {"Content-Type": "application/json"}) as response:
            assert [chunk async for chunk in response.chunks()] == [b"ok"]
        assert response.status == 200
    assert here.seen[0].path == "/v1/ok"


@pytest.mark.parametrize(
    "address",
    [
        "ftp://api.example.com",
        "api.example.com/v1",
        "https://user:pass@api.example.com",
        "https://api.example.com/v1?x=1",
        "https://api.example.com/v1#x",
        "https://",
        "https://api.example.com:port",
        "https://api.example.com/v1/../admin",
        "https://api.exa\nmple.com/",
        "",
    ],
)
def test_an_address_that_is_not_plain_is_refused(address: str) -> None:
    with pytest.raises(EgressRefused):
        Egress().configured(address)


@pytest.mark.parametrize(
    "path",
    ["ok", "/../admin", "/%2e%2e/admin", "/a//b", "//evil.example/x", "/a\\b", "/@evil.example", "/a#b", "/a b", "/a\r\nb", "/ä"],
)
async def test_a_path_that_could_lead_away_is_refused(path: str) -> None:
    async with site() as here, Egress() as egress:
        with pytest.raises(EgressRefused):
            async with egress.configured(f"{here.url}/v1").get(path):
                pass
    assert here.seen == []


async def test_a_redirect_is_refused_and_not_followed() -> None:
    async with site() as here, Egress() as egress:
        with pytest.raises(EgressRefused, match="redirect") as caught:
            async with egress.configured(f"{here.url}/v1").get("/redirect", secret_headers={"Authorization": f"Bearer {SECRET}"}):
                pass
    assert len(here.seen) == 1
    assert SECRET not in str(caught.value)


async def test_error_text_is_bounded_and_free_of_the_secret() -> None:
    async with site() as here, Egress() as egress:
        origin = egress.configured(f"{here.url}/v1")
        async with origin.get("/echo", secret_headers={"Authorization": f"Bearer {SECRET}"}) as response:
            assert await response.error_text() == "bad key Bearer [redacted]"
        async with origin.get("/large", limits=Limits(error_bytes=1000)) as response:
            assert len(await response.error_text()) == 1000


async def test_too_large_an_answer_is_cut() -> None:
    small = Limits(response_bytes=1000)
    async with site() as here, Egress() as egress, egress.configured(f"{here.url}/v1").get("/large", limits=small) as response:
        with pytest.raises(EgressFailed) as caught:
            await response.body()
    assert caught.value.failure == "too_large"


async def test_a_compressed_answer_nobody_asked_for_is_refused() -> None:
    async with site() as here, Egress() as egress:
        with pytest.raises(EgressFailed, match="compressed"):
            async with egress.configured(f"{here.url}/v1").get("/gzip"):
                pass
    assert here.seen[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("limits", "words"), [(Limits(idle_seconds=0.05), "silent"), (Limits(total_seconds=0.05, idle_seconds=5), "longer than")]
)
async def test_a_silent_server_is_not_waited_for_longer_than_allowed(limits: Limits, words: str) -> None:
    async with site() as here, Egress() as egress:
        with anyio.fail_after(5), pytest.raises(EgressFailed, match=words) as caught:
            async with egress.configured(f"{here.url}/v1").get("/slow", limits=limits):
                pass
    assert caught.value.failure == "timeout"


async def test_nobody_there_is_said_plainly() -> None:
    async with site() as here:
        gone = here.url
    async with Egress() as egress:
        with pytest.raises(EgressFailed, match="could not be reached") as caught:
            async with egress.configured(gone).get("/ok"):
                pass
    assert caught.value.failure == "connect"


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with site() as here, Egress() as egress, egress.configured(f"{here.url}/v1").get("/ok") as response:
        assert await response.body() == b"ok"


async def test_no_cookie_is_kept_and_no_credential_stays_behind() -> None:
    async with site() as here, Egress() as egress:
        origin = egress.configured(f"{here.url}/v1")
        async with origin.get("/ok", secret_headers={"Authorization": f"Bearer {SECRET}"}) as response:
            await response.body()
        async with origin.get("/ok") as response:
            await response.body()
    assert "Authorization" in here.seen[0].headers
    assert not {"Authorization", "Cookie"} & here.seen[1].headers.keys()


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "schlüssel", "a\x00"])
async def test_a_header_that_could_smuggle_is_refused_without_being_quoted(value: str) -> None:
    async with site() as here, Egress() as egress:
        with pytest.raises(EgressRefused) as caught:
            async with egress.configured(f"{here.url}/v1").get("/ok", secret_headers={"x-api-key": value}):
                pass
    assert here.seen == []
    assert value not in str(caught.value)


async def test_a_closed_egress_sends_nothing() -> None:
    async with site() as here:
        async with Egress() as egress:
            origin = egress.configured(here.url)
        with pytest.raises(EgressRefused, match="open"):
            async with origin.get("/v1/ok"):
                pass
    assert here.seen == []
