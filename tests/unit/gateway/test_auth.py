import pytest

from ostiary.gateway.auth import is_loopback_host
from ostiary.gateway.limits import Limits
from tests.unit.gateway.fakes import TOKEN, Client, FakeEngine, build_app


async def test_health_is_open_and_says_little() -> None:
    reply = await Client().call("GET", "/healthz", headers={"authorization": "(none)"})
    assert (reply.status, reply.json) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "authorization",
    [
        "(none)",
        "",
        "Bearer",
        "Bearer ",
        "Bearer undefined",
        "Bearer null",
        "Bearer wrong",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN}x",
    ],
)
@pytest.mark.parametrize(
    "path", ["/v1/models", "/v1/chat/completions", "/nowhere", "/healthz/", "//healthz", "/HEALTHZ", "/v1/%2e%2e/healthz"]
)
async def test_every_other_path_needs_the_token(authorization: str, path: str) -> None:
    reply = await Client().call("GET", path, headers={"authorization": authorization})
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("token", ["", "undefined", "null", " ", "Undefined", "NULL"])
async def test_a_gateway_without_a_real_token_lets_nobody_in(token: str) -> None:
    client = Client()
    client.app = build_app(FakeEngine(), token=lambda: token)
    reply = await client.call("GET", "/v1/models", headers={"authorization": f"Bearer {token}"})
    assert reply.status == 401


async def test_a_token_in_the_url_is_not_looked_at() -> None:
    reply = await Client().call("GET", f"/v1/models?token={TOKEN}&access_token={TOKEN}", headers={"authorization": "(none)"})
    assert reply.status == 401


async def test_a_new_token_counts_at_once() -> None:
    tokens = ["first"]
    client = Client()
    client.app = build_app(FakeEngine(), token=lambda: tokens[0])
    before = await client.call("GET", "/v1/models", headers={"authorization": "Bearer first"})
    tokens[0] = "second"
    after = await client.call("GET", "/v1/models", headers={"authorization": "Bearer first"})
    assert (before.status, after.status) == (200, 401)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:18789", "localhost:1", "LOCALHOST", "[::1]", "[::1]:80"])
def test_loopback_hosts_are_known(host: str) -> None:
    assert is_loopback_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.",
        "127.1",
        "127.0.0.1:x",
        "0.0.0.0",
        "::1",
        "a@127.0.0.1",
        "localhost:80:80",
    ],
)
@pytest.mark.parametrize("path", ["/healthz", "/v1/models"])
async def test_a_name_that_is_not_loopback_is_refused(host: str, path: str) -> None:
    reply = await Client().call("GET", path, headers={"host": host})
    assert (reply.status, reply.error["code"]) == (403, "bad_host")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9", "https://127.0.0.1:18789", "file://"])
async def test_a_page_of_another_origin_is_refused_even_with_the_token(origin: str) -> None:
    reply = await Client().call("GET", "/v1/models", headers={"origin": origin})
    assert (reply.status, reply.error["code"]) == (403, "bad_origin")


async def test_a_page_of_our_own_origin_may_call() -> None:
    reply = await Client().call("GET", "/v1/models", headers={"origin": "http://127.0.0.1:18789"})
    assert reply.status == 200


async def test_wrong_tokens_shut_out_who_tries_them_for_a_while() -> None:
    now = [0.0]
    client = Client(limits=Limits(failed_logins=3, failed_login_window=60.0), monotonic=lambda: now[0])
    wrong = {"authorization": "Bearer wrong"}
    tries = [(await client.call("GET", "/v1/models", headers=wrong)).status for _ in range(5)]
    now[0] = 61.0
    later = await client.call("GET", "/v1/models", headers=wrong)
    assert tries == [401, 401, 401, 429, 429]
    assert later.status == 401


async def test_a_body_declared_too_long_is_refused_before_it_is_read() -> None:
    client = Client(limits=Limits(body_bytes=1000))
    reply = await client.call("POST", "/v1/chat/completions", b"", headers={"content-length": "1001"})
    assert (reply.status, reply.headers["connection"]) == (413, "close")


async def test_a_body_without_a_length_is_cut_at_the_limit() -> None:
    client = Client(limits=Limits(body_bytes=1000))
    reply = await client.call("POST", "/v1/chat/completions", b"x" * 1001)
    assert reply.status == 413


async def test_a_wrong_method_is_told_the_right_one() -> None:
    reply = await Client().call("GET", "/v1/chat/completions")
    assert (reply.status, "POST" in reply.error["message"]) == (405, True)


async def test_models_lists_agents_and_models() -> None:
    reply = await Client().call("GET", "/v1/models")
    assert [row["id"] for row in reply.json["data"]] == ["ostiary", "ostiary/main", "ostiary/home", "fake/echo"]
