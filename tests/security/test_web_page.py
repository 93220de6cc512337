"""Shape A: a page in the owner's browser tries to use the gateway."""

import pytest

from tests.journeys.gateway.house import TOKEN, Gateway, said
from tests.journeys.gateway.model import Model
from tests.security.raw import exchange, request, status_of

BEARER = f"Authorization: Bearer {TOKEN}"


@pytest.mark.proves("A1")
@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1:1", "https://127.0.0.1", "file://", "*"],
)
def test_another_origin_is_refused_even_with_the_token(gateway: Gateway, origin: str) -> None:
    for path in ("/v1/models", "/healthz"):
        answer = gateway.call("GET", path, headers={"Origin": origin})
        assert answer.status == 403
        assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.proves("A1")
def test_a_preflight_is_refused(gateway: Gateway) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST", "Authorization": ""}
    answer = gateway.call("OPTIONS", "/v1/chat/completions", headers=headers)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.proves("A1")
def test_a_form_that_needs_no_preflight_gets_nothing(gateway: Gateway, model: Model) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = gateway.call("POST", "/v1/chat/completions", said("hi"), {"Content-Type": kind, "Authorization": ""})
        assert answer.status == 401
    assert not model.requests


@pytest.mark.proves("A2")
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example:18789",
        "0.0.0.0",
        "127.0.0.1@evil.example",
        "127.0.0.1:80:80",
        "127.1",
        "2130706433",
        "localhost.",
        "",
        "127.0.0.1/evil.example",
        "127.0.0.1 evil.example",
    ],
)
def test_a_name_that_is_not_this_machine_is_refused(gateway: Gateway, host: str) -> None:
    for path in ("/healthz", "/v1/models"):
        assert status_of(exchange(gateway, request(path, BEARER, host=host))) in (400, 403)


@pytest.mark.proves("A2")
def test_two_hosts_or_none_are_refused(gateway: Gateway) -> None:
    assert status_of(exchange(gateway, request("/healthz", "Host: evil.example"))) == 400
    assert status_of(exchange(gateway, b"GET /healthz HTTP/1.0\r\n\r\n")) == 403


@pytest.mark.proves("A3")
@pytest.mark.parametrize(
    ("target", "header"),
    [
        (f"/v1/models?token={TOKEN}", "X-A: b"),
        (f"/v1/models?access_token={TOKEN}&api_key={TOKEN}&key={TOKEN}", "X-A: b"),
        ("/v1/models", f"Cookie: token={TOKEN}; Authorization=Bearer {TOKEN}"),
        ("/v1/models", f"X-Api-Key: {TOKEN}"),
        ("/v1/models", f"Proxy-Authorization: Bearer {TOKEN}"),
        ("/v1/models", f"Authorization: Basic {TOKEN}"),
        ("/v1/models", f"Authorization: {TOKEN}"),
    ],
)
def test_a_token_elsewhere_does_not_count(gateway: Gateway, target: str, header: str) -> None:
    assert status_of(exchange(gateway, request(target, header))) in (401, 429)


@pytest.mark.proves("A4")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_there_is_no_way_to_the_configuration(gateway: Gateway, method: str) -> None:
    before = gateway.home.file.read_bytes()
    for path in ("/v1/ostiary/config", "/config", "/v1/config", "/v1/ostiary/status", "/ostiary.json5"):
        assert gateway.call(method, path, {"gateway": {"port": 1}}).status in (404, 405)
    assert gateway.home.file.read_bytes() == before


@pytest.mark.proves("A5")
def test_a_transcript_is_never_a_page(gateway: Gateway, model: Model) -> None:
    script = "</script><script>alert(1)</script>"
    model.begin(script)
    gateway.say(script, "page")
    for path in ("/v1/ostiary/session?key=agent:main:api:page", "/v1/ostiary/sessions", f"/{script}"):
        answer = gateway.call("GET", path.replace("<", "%3C").replace(">", "%3E"))
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
