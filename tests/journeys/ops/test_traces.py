"""Traces of a real process: sent to a collector when they are switched on, and never in a turn's way."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.journeys.gateway.house import Home, config, until
from tests.journeys.gateway.model import Model


@contextmanager
def collector(status: int = 200) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector that answers with `status`; gives its address and what it was sent, with the credential."""
    received: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.headers.get("Authorization", ""), body))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/traces", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_turn_is_sent_when_the_house_stops_and_holds_no_words(home: Home, model: Model) -> None:
    model.begin("A secret answer.")
    with collector() as (url, received):
        settings = {"enabled": True, "endpoint": url, "headers": {"Authorization": "${COLLECTOR_KEY}"}}
        home.configure(config(model.url, telemetry=settings))
        home.environ["COLLECTOR_KEY"] = "Basic collector-key-0123456789"
        with home.up() as gateway:
            until(lambda: "traces go to" in home.run("logs").stdout)
            assert gateway.say("A secret question?", "ada").text == "A secret answer."
    (credential,) = {credential for credential, _ in received}
    told = b"".join(body for _, body in received)
    assert credential == "Basic collector-key-0123456789"
    assert b"chat kit/kit-1" in told
    assert b"ostiary.status" in told
    assert b"secret" not in told
    assert b"ada" not in told


def test_a_collector_that_refuses_costs_no_turn(home: Home, model: Model) -> None:
    model.begin("Yes.")
    with collector(status=400) as (url, _):
        home.configure(config(model.url, telemetry={"enabled": True, "endpoint": url}))
        with home.up() as gateway:
            assert gateway.say("hi", "ada").text == "Yes."
            assert gateway.end() == 0


def test_traces_that_cannot_be_made_are_said_in_the_log_and_the_house_runs(home: Home, model: Model) -> None:
    model.begin("Yes.")
    home.configure(config(model.url, telemetry={"enabled": True, "headers": {"Authorization": "${NOBODY_SET_THIS}"}}))
    with home.up() as gateway:
        assert gateway.say("hi", "ada").text == "Yes."
    assert "no traces are sent" in home.run("logs", "-n", "100").stdout
