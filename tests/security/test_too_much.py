"""Shape J: more than anybody needs, slower than anybody waits, or not quite HTTP."""

import gzip
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from ostiary.kit.model_servers import Reply, Words
from tests.journeys.gateway.house import TOKEN, Gateway, Home, said
from tests.journeys.gateway.model import Model
from tests.security.raw import connect, exchange, request, status_of

BEARER = f"Authorization: Bearer {TOKEN}"
POST = "/v1/chat/completions"
MEGABYTE = 1_000_000


def resident_kib(gateway: Gateway) -> int:
    with open(f"/proc/{gateway.process.pid}/status") as status:
        return int(status.read().partition("VmRSS:")[2].split()[0])


def pour(connection: socket.socket, piece: bytes, times: int) -> int:
    """How many pieces were taken before the other side had enough."""
    for count in range(times):
        try:
            connection.sendall(piece)
        except OSError:
            return count
    return times


def drip(connection: socket.socket, most: int) -> bytes:
    """A byte whenever nothing has come for a moment, until the other side has answered and closed; gives what it said."""
    connection.settimeout(0.05)
    answer = b""
    for _ in range(most):
        try:
            piece = connection.recv(65_536)
        except TimeoutError:
            connection.sendall(b" ")
            continue
        if not piece:
            return answer
        answer += piece
    raise AssertionError("it was never cut off")


@pytest.mark.proves("J1")
def test_a_declared_length_beyond_the_limit_is_refused_at_once(gateway: Gateway) -> None:
    with connect(gateway) as connection:
        connection.sendall(request(POST, BEARER, "Content-Length: 99999999999", method="POST"))
        assert status_of(connection.recv(65_536)) == 413


@pytest.mark.proves("J1")
def test_a_body_without_a_length_is_cut_off(gateway: Gateway) -> None:
    before = resident_kib(gateway)
    chunk = b"%x\r\n" % MEGABYTE + b"x" * MEGABYTE + b"\r\n"
    with connect(gateway) as connection:
        connection.sendall(request(POST, BEARER, "Transfer-Encoding: chunked", method="POST"))
        pour(connection, chunk, 40)
        assert status_of(connection.recv(65_536)) == 413
    assert resident_kib(gateway) - before < 40_000


@pytest.mark.proves("J1")
def test_a_compressed_body_is_not_unpacked(gateway: Gateway, model: Model) -> None:
    bomb = gzip.compress(json.dumps(said("x" * 50 * MEGABYTE)).encode())
    answer = gateway.call("POST", POST, bomb, {"Content-Encoding": "gzip"})
    assert answer.status in (400, 415)
    assert not model.requests


@pytest.mark.proves("J2")
def test_a_head_with_endless_headers_is_cut_off(gateway: Gateway) -> None:
    before = resident_kib(gateway)
    with connect(gateway) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        taken = pour(connection, b"X-Flood: %s\r\n" % (b"y" * 1000) * 1000, 50)
    assert taken < 50
    assert resident_kib(gateway) - before < 20_000


@pytest.mark.proves("J2")
@pytest.mark.parametrize("beginning", [b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Flood: ", b"GET /", b"GET /healthz?"])
def test_an_endless_line_is_cut_off(gateway: Gateway, beginning: bytes) -> None:
    with connect(gateway) as connection:
        connection.sendall(beginning)
        assert pour(connection, b"y" * MEGABYTE, 50) < 50
    assert gateway.call("GET", "/healthz").status == 200


@pytest.mark.proves("J2")
def test_a_second_request_of_a_connection_has_the_same_limit(gateway: Gateway) -> None:
    with connect(gateway) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert status_of(connection.recv(65_536)) == 200
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Flood: ")
        assert pour(connection, b"y" * MEGABYTE, 50) < 50


@pytest.mark.proves("J3")
def test_silent_connections_do_not_stop_others(gateway: Gateway, model: Model) -> None:
    model.begin("ok")
    silent = [connect(gateway) for _ in range(300)]
    for connection in silent[::2]:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0")
    try:
        assert gateway.say("hi", "among-silent").text == "ok"
    finally:
        for connection in silent:
            connection.close()


@pytest.mark.proves("J3")
def test_a_body_that_drips_is_cut_off_at_the_limit(home: Home, model: Model) -> None:
    home.configure(home.file.read_text().replace('"drainSeconds": 1', '"drainSeconds": 1, "bodyTimeoutMs": 300'))
    with home.up() as gateway, connect(gateway) as connection:
        connection.sendall(request(POST, BEARER, "Content-Length: 1000", method="POST"))
        answer = drip(connection, 999)
        assert status_of(answer) == 408
        assert b"request_timeout" in answer
        assert gateway.call("GET", "/healthz").status == 200
    assert not model.requests


@pytest.mark.proves("J4")
def test_a_flood_of_requests_is_answered(gateway: Gateway, model: Model) -> None:
    model.begin(*["ok"] * 200)
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda number: gateway.say("hi", f"flood-{number}").status, range(200)))
    assert set(answers) <= {200, 429, 503}
    assert answers.count(200) >= 100
    assert gateway.call("GET", "/healthz").status == 200


@pytest.mark.proves("J4")
def test_a_flood_into_one_session_is_bounded_and_the_session_goes_on(home: Home, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("first", "!")),), holds={1: gate}), *["ok"] * 80)
    with home.up() as gateway, ThreadPoolExecutor(60) as pool:
        first = pool.submit(gateway.say, "first", "one")
        model.wait_asked()
        others = [pool.submit(gateway.say, f"number {number}", "one") for number in range(50)]
        model.release(gate)
        assert first.result().status == 200
        assert {each.result().status for each in others} <= {200, 429}
        model.begin("fine")
        assert gateway.say("and now?", "one").text.endswith("fine")


MALFORMED = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET\r\n\r\n",
    b"GET /healthz HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET /healthz HTTP/1.1\nHost 127.0.0.1\n\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x00" * 1000,
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\r\n b\x00c\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nBad Name : x\r\n\r\n",
]


@pytest.mark.proves("J5")
@pytest.mark.parametrize("content", MALFORMED)
def test_malformed_http_is_refused_and_the_house_goes_on(gateway: Gateway, model: Model, content: bytes) -> None:
    answer = exchange(gateway, content)
    assert status_of(answer) in (0, 400, 401, 429)
    assert not model.requests
    assert gateway.call("GET", "/healthz").status == 200


@pytest.mark.proves("J5")
def test_a_request_hidden_in_a_body_is_not_a_request(gateway: Gateway, model: Model) -> None:
    hidden = request("/v1/ostiary/sessions", BEARER)
    head = request(POST, f"Content-Length: {len(hidden)}", method="POST").replace(b"Connection: close\r\n", b"")
    answer = exchange(gateway, head + hidden)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"sessions" not in answer
