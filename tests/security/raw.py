"""HTTP written by hand: what no well-behaved client would send."""

import socket

from tests.journeys.gateway.house import Gateway

SECONDS = 20.0


def connect(gateway: Gateway) -> socket.socket:
    return socket.create_connection(("127.0.0.1", gateway.port), timeout=SECONDS)


def exchange(gateway: Gateway, content: bytes) -> bytes:
    """Everything the gateway answers until it closes; it is asked to."""
    with connect(gateway) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    return answer


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def request(target: str, *headers: str, method: str = "GET", host: str = "127.0.0.1", body: bytes = b"") -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
