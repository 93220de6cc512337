"""The gate behind a real server, attacked by hand-written requests (shapes A and B: pages that take over, scopes that leak)."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.adapters.gateway_db import connect_gateway_db, open_gateway_db
from ostiary.gateway.asgi import Receive, Scope, Send, refuse, respond
from ostiary.gateway.auth import FailureRules, Gate, owner
from ostiary.gateway.auth.pages import auth_pages
from ostiary.gateway.errors import ApiError
from ostiary.gateway.server import serve
from tests.unit.gateway.auth.support import call, http

TOKEN = "the-token-of-this-gateway"
KEY = bytes(range(32))
OWNER = owner("token")


def door(gate: Gate) -> Any:
    """As the gateway's own: place, open pages by their exact path, then who it is, before the path is looked at."""
    pages = auth_pages(gate)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            gate.check_place(scope)
            page = pages.get(scope["path"], {}).get(scope["method"])
            if page is not None:
                await page(scope, receive, send)
                return
            caller = gate.identify(scope)
            await respond(send, 200, {"id": caller.id, "scopes": sorted(caller.scopes), "role": caller.principal.role})
        except ApiError as error:
            await refuse(receive, send, error)

    return app


class House:
    """A listening gateway."""

    def __init__(self, gate: Gate, url: str) -> None:
        self.gate = gate
        self.host = url.removeprefix("http://")

    async def ask(
        self, line: str, *headers: str, body: bytes = b"", host: str | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Send exactly these bytes, as no browser or library would change them."""
        name, _, port = self.host.partition(":")
        lines = [line, f"Host: {self.host if host is None else host}", *headers]
        lines += [f"Content-Length: {len(body)}"] if body else []
        with anyio.fail_after(10):
            async with await anyio.connect_tcp(name, int(port)) as stream:
                await stream.send("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body)
                answer = b"".join([chunk async for chunk in stream])
        head, _, content = answer.partition(b"\r\n\r\n")
        status, *rest = head.decode("latin-1").split("\r\n")
        fields = dict(each.split(": ", 1) for each in rest)
        return int(status.split()[1]), {key.lower(): value for key, value in fields.items()}, content

    async def status(self, line: str, *headers: str, **more: Any) -> int:
        return (await self.ask(line, *headers, **more))[0]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    listening = anyio.Event()
    urls: list[str] = []

    def ready(url: str) -> None:
        urls.append(url)
        listening.set()

    async with open_gateway_db(tmp_path / "gateway.db", KEY) as db, anyio.create_task_group() as group:
        gate = Gate(lambda: TOKEN, books=db, failure_rules=lambda: FailureRules(attempts=50))

        async def run() -> None:
            await serve(door(gate), on_ready=ready, drain_seconds=1)

        group.start_soon(run)
        with anyio.fail_after(10):
            await listening.wait()
        yield House(gate, urls[0])
        group.cancel_scope.cancel()


BEARER = f"Authorization: Bearer {TOKEN}"

TRICKS = [
    "/", "//", "/auth", "/auth/", "//auth/session", "/auth//session", "/auth/session/", "/auth/session/..", "/AUTH/SESSION",
    "/Auth/Session", "/auth/%73ession%00", "/auth%2fsession/x", "/%2e%2e/auth/session", "/./auth/session", "/auth/../v1/models",
    "/v1/../auth/session/x", "/v1/models/..;/auth/session", "/auth/session;x=1", "/auth/session%20", "/auth/session%0a",
    "/v1/models%3ftoken", "/\\auth\\session", "/auth/session.json", "/auth/password/", "/healthz/../v1/models",
    "/v1/models?token=" + TOKEN, "/v1/models#" + TOKEN,
]  # fmt: skip
NO_CREDENTIALS = [
    ("Authorization: Bearer undefined",),
    ("Authorization: Bearer null",),
    ("Authorization: Bearer ",),
    ("Authorization:",),
    (f"authorization: basic {TOKEN}",),
    (f"X-Api-Key: {TOKEN}",),
    (f"Cookie: ostiary={TOKEN}",),
    (f"Proxy-Authorization: Bearer {TOKEN}",),
    ("X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1;host=localhost"),
    ("X-Forwarded-User: owner", "Remote-User: owner", "Tailscale-User-Login: owner@example.com"),
    ("X-Ostiary: 1",),
]
OTHER_NAMES = ["evil.example", "127.0.0.1.evil.example", "localhost.", "0.0.0.0", "127.1", "", "[::ffff:7f00:1"]
OTHER_ORIGINS = ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"]
LINES = ["GET /auth/session HTTP/1.1", "POST /auth/session HTTP/1.1", "POST /auth/logout HTTP/1.1", "GET /v1/models HTTP/1.1"]


async def test_no_spelling_of_a_path_lets_anybody_in(house: House) -> None:
    found = {path: await house.status(f"GET {path} HTTP/1.1") for path in TRICKS}
    assert {path: status for path, status in found.items() if status not in (400, 401)} == {}


async def test_the_owner_is_the_owner_however_the_path_is_spelled(house: House) -> None:
    found = {path: await house.status(f"GET {path} HTTP/1.1", BEARER) for path in TRICKS}
    assert {path: status for path, status in found.items() if status not in (200, 400)} == {}


async def test_no_header_but_the_right_token_lets_anybody_in(house: House) -> None:
    found = {headers: await house.status("GET /v1/models HTTP/1.1", *headers) for headers in NO_CREDENTIALS}
    assert {headers: status for headers, status in found.items() if status != 401} == {}


async def test_a_rebound_name_reaches_nothing_even_with_the_token(house: House) -> None:
    found = {name: await house.status("GET /v1/models HTTP/1.1", BEARER, host=name) for name in OTHER_NAMES}
    assert {name: status for name, status in found.items() if status != 403} == {}


async def test_two_hosts_reach_nothing(house: House) -> None:
    found = [await house.status("GET /v1/models HTTP/1.1", BEARER, f"Host: {name}") for name in ("127.0.0.1", "evil.example")]
    assert found == [400, 400]


async def test_a_foreign_page_reaches_nothing_even_with_the_token(house: House) -> None:
    tries = [(line, origin) for line in LINES for origin in OTHER_ORIGINS]
    found = {each: await house.status(each[0], BEARER, f"Origin: {each[1]}") for each in tries}
    assert {each: status for each, status in found.items() if status != 403} == {}


async def test_no_answer_invites_another_origin(house: House) -> None:
    status, headers, _ = await house.ask(
        "OPTIONS /v1/models HTTP/1.1", "Origin: http://evil.example", "Access-Control-Request-Method: POST"
    )
    assert status == 403
    assert not [name for name in headers if name.startswith("access-control")]


async def signed_in(house: House) -> str:
    code = (await house.gate.desk.make_link(OWNER, f"http://{house.host}")).partition("#k=")[2]
    body = json.dumps({"code": code}).encode()
    own = f"Origin: http://{house.host}"
    status, headers, _ = await house.ask("POST /auth/session HTTP/1.1", own, "Content-Type: application/json", body=body)
    assert status == 204
    return "Cookie: " + headers["set-cookie"].partition(";")[0]


async def test_a_browser_signs_in_uses_its_page_and_signs_out(house: House) -> None:
    cookie, own = await signed_in(house), f"Origin: http://{house.host}"
    assert await house.status("GET /v1/models HTTP/1.1", cookie) == 200
    assert await house.status("POST /v1/x HTTP/1.1", cookie, own, "X-Ostiary: 1") == 200
    assert await house.status("POST /auth/logout HTTP/1.1", cookie, own, "X-Ostiary: 1") == 204
    assert await house.status("GET /v1/models HTTP/1.1", cookie) == 401


async def test_a_form_or_a_script_of_another_page_changes_nothing_with_the_cookie(house: House) -> None:
    cookie, own = await signed_in(house), f"Origin: http://{house.host}"
    tries = [
        (),
        (own,),
        ("X-Ostiary: 1",),
        (own, "X-Ostiary: 1", "Sec-Fetch-Site: same-site"),
        ("Origin: null", "X-Ostiary: 1"),
        (own, "X-Ostiary: 1", "X-Ostiary: 1"),
    ]
    statuses = [await house.status("POST /v1/x HTTP/1.1", cookie, *headers) for headers in tries]
    assert statuses == [403, 403, 403, 403, 403, 400]


async def test_what_another_process_revokes_is_out_at_the_next_request(house: House, tmp_path: Path) -> None:
    cookie = await signed_in(house)
    (browser,) = house.gate.desk.list(OWNER).devices
    with connect_gateway_db(tmp_path / "gateway.db", KEY) as other:
        other.devices.revoke(browser.id, 1.0)
    assert await house.status("GET /v1/models HTTP/1.1", cookie) == 401


async def test_a_flood_of_guesses_shuts_out_the_guesser_behind_a_proxy_and_never_the_owner_here(house: House) -> None:
    proxied = "X-Forwarded-For: 203.0.113.9"
    statuses = [await house.status("GET / HTTP/1.1", f"Authorization: Bearer guess-{number}", proxied) for number in range(52)]
    assert statuses[-1] == 429
    assert await house.status("GET / HTTP/1.1", BEARER, proxied) == 429
    assert await house.status("GET / HTTP/1.1", BEARER) == 200


async def test_no_secret_is_written_to_the_log_or_back_to_the_caller(house: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    code = (await house.gate.desk.make_link(OWNER, "http://x")).partition("#k=")[2]
    guess = "a-guess-that-must-not-be-repeated"
    _, _, wrong = await house.ask("GET / HTTP/1.1", f"Authorization: Bearer {guess}")
    bad = json.dumps({"code": code, "more": guess}).encode()
    _, _, malformed = await house.ask("POST /auth/session HTTP/1.1", "Content-Type: application/json", body=bad)
    await house.ask("GET / HTTP/1.1", BEARER)
    said = caplog.text.encode() + wrong + malformed
    assert not [secret for secret in (TOKEN, code, guess) if secret.encode() in said]


OPEN = {"/auth/session", "/auth/password", "/auth/logout"}


@settings(max_examples=150, deadline=None)
@given(
    path=st.text(max_size=60).map(lambda text: "/" + text), method=st.sampled_from(["GET", "POST", "get", "HEAD", "DELETE", "x"])
)
def test_whatever_the_path_nobody_is_somebody(path: str, method: str) -> None:
    gate = Gate(lambda: TOKEN)

    async def ask() -> int:
        return (await call(door(gate), http(method, path))).status

    assert anyio.run(ask) == 401 or path in OPEN


@settings(max_examples=300, deadline=None)
@given(secret=st.text(max_size=80))
def test_whatever_is_sent_as_a_token_only_the_token_is_one(secret: str) -> None:
    gate = Gate(lambda: TOKEN, failure_rules=lambda: FailureRules(attempts=1_000_000, attempts_of_all=1_000_000))
    scope = http()
    scope["headers"].append((b"authorization", b"Bearer " + secret.encode("utf-8", "surrogatepass")))
    with pytest.raises(ApiError):
        gate.identify(scope)
