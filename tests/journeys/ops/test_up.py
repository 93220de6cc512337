"""`up` on a terminal hands out a link that signs a browser in; a program that starts it gets the address alone."""

import os
import subprocess

from tests.journeys.gateway.house import OSTIARY, Gateway, Home


def read_until(terminal: int, words: bytes) -> str:
    said = b""
    while words not in said:
        said += os.read(terminal, 4096)
    return said.decode().replace("\r\n", "\n")


def test_a_terminal_is_shown_a_link_that_works_once(home: Home) -> None:
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "wb") as stdout:
        process = subprocess.Popen(
            [OSTIARY, "up", "--port", "0"], env=home.environ, stdout=stdout, stderr=subprocess.DEVNULL, start_new_session=True
        )
    try:
        said = read_until(ours, b"Ctrl-C stops it.")
        lines = said.splitlines()
        gateway = Gateway(home=home, process=process, url=lines[0].removeprefix("ready "))
        (link,) = [line.removeprefix("open ") for line in lines if line.startswith("open ")]
        assert link.startswith(f"{gateway.url}/#k=")
        body = {"code": link.partition("#k=")[2]}
        headers = {"Authorization": "", "Origin": gateway.url, "X-Ostiary": "1", "Content-Type": "application/json"}
        assert gateway.call("POST", "/auth/session", body, headers).status == 204
        assert gateway.call("POST", "/auth/session", body, headers).status in (401, 403)
    finally:
        process.terminate()
        process.wait(20)
        os.close(ours)
    assert body["code"] not in home.run("logs", "-n", "1000").stdout


def test_a_program_gets_one_line(home: Home) -> None:
    gateway = home.begin()
    gateway.wait_ready()
    gateway.terminate()
    out, _ = gateway.process.communicate(timeout=20)
    assert out == b""
    assert gateway.process.returncode == 0
