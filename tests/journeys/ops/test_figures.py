"""Readiness and figures of a real process."""

import pytest

from tests.journeys.gateway.house import Home, until
from tests.journeys.gateway.model import Model


def test_ready_is_told_to_everybody_and_figures_to_who_may_read(home: Home, model: Model) -> None:
    model.begin("Yes.", "No.")
    with home.up() as gateway:
        until(lambda: gateway.call("GET", "/readyz", None, {"Authorization": ""}).status == 200)
        assert gateway.call("GET", "/metrics", None, {"Authorization": "Bearer wrong-0123456789"}).status == 401
        assert gateway.say("hi", "one").text == "Yes."
        assert gateway.say("hi", "two").text == "No."

        def figures() -> list[str]:
            return gateway.call("GET", "/metrics").body.decode().splitlines()

        until(lambda: 'ostiary_turns_total{status="completed"} 2' in figures())
        lines = figures()
        assert "ostiary_turn_seconds_count 2" in lines
        assert 'ostiary_model_seconds_count{model="kit/kit-1"} 2' in lines
        assert "ostiary_turns_running 0" in lines
        assert not [line for line in lines if "Yes." in line or ":one" in line]


def test_the_gateway_can_be_run_asked_and_stopped_in_the_background(home: Home, model: Model) -> None:
    assert home.run("gateway", "status").returncode == 3
    started = home.run_json("gateway", "start", "--port", "0")
    try:
        assert home.run("gateway", "start").returncode == 1
        until(lambda: home.run("gateway", "status").returncode == 0)
        assert '"ok": true' in home.run("gateway", "call", "health").stdout
        model.begin("Yes.")
        assert home.run("agent", "-m", "hi").stdout == "Yes.\n"
        refused = home.run("gateway", "call", "fly")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.startswith("error: ")
        again = home.run_json("gateway", "restart", "--port", "0")
        assert again["pid"] != started["pid"]
    finally:
        stopped = home.run("gateway", "stop", "--force")
    assert stopped.returncode == 0
    assert home.run("gateway", "stop").returncode == 3


def test_a_call_with_an_effect_gets_its_key_by_itself(home: Home, model: Model) -> None:
    model.begin("Yes.")
    with home.up() as gateway:
        gateway.say("hi", "noted")
        params = '{"key": "agent:main:api:noted", "text": "A note."}'
        assert '"seq"' in home.run("gateway", "call", "chat.inject", "--params", params).stdout


def test_a_start_that_fails_says_why_in_a_sentence(home: Home) -> None:
    home.configure("{ gateway: { port: 'many' } }")
    done = home.run("gateway", "start")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "gateway.port" in done.stderr


def test_a_link_signs_one_browser_in_once_and_the_browser_can_be_sent_away(home: Home) -> None:
    with home.up() as gateway:
        link = home.run("gateway", "link").stdout.strip()
        assert link.startswith(f"{gateway.url}/#k=")
        code = link.partition("#k=")[2]
        headers = {"Authorization": "", "Origin": gateway.url, "X-Ostiary": "1", "Content-Type": "application/json"}
        signed_in = gateway.call("POST", "/auth/session", {"code": code}, headers)
        assert signed_in.status == 204
        assert gateway.call("POST", "/auth/session", {"code": code}, headers).status in (401, 403)
        cookie = {"Authorization": "", "Cookie": signed_in.headers["set-cookie"].partition(";")[0]}
        assert gateway.call("GET", "/metrics", None, cookie).status == 200
        (browser,) = home.run_json("devices", "list")["devices"]
        assert browser["kind"] == "browser"
        assert home.run("devices", "revoke", browser["id"][:12]).returncode == 0
        until(lambda: gateway.call("GET", "/metrics", None, cookie).status == 401)


@pytest.mark.parametrize("command", [("devices", "list"), ("gateway", "call", "health"), ("gateway", "link")])
def test_without_a_gateway_the_next_step_is_said(tmp_path_factory: pytest.TempPathFactory, command: tuple[str, ...]) -> None:
    done = Home(tmp_path_factory.mktemp("empty") / "home").run(*command)
    assert (done.returncode, done.stdout) == (1, "")
    assert "ostiary gateway start" in done.stderr
