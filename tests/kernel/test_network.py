"""Network by proxy: one socket leads out, and nothing else does."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ostiary.contracts.errors import ToolError
from ostiary.contracts.sandbox import Command
from tests.kernel.fence import Fence

ASK = """
import socket, sys, os
assert os.environ['HTTPS_PROXY'] == os.environ['http_proxy'] == 'http://127.0.0.1:3128'
def ask(text):
    with socket.create_connection(('127.0.0.1', 3128)) as one:
        one.sendall(text); one.shutdown(socket.SHUT_WR)
        return b''.join(iter(lambda: one.recv(65536), b''))
"""


@contextmanager
def toy_proxy() -> Iterator[str]:
    """Answers each connection with what it said, turned round. A directory of its own that only we may enter."""
    with TemporaryDirectory(prefix="px") as folder, socket.socket(socket.AF_UNIX) as server:
        path = str(Path(folder, "s"))
        server.bind(path)
        server.listen()
        threading.Thread(target=_serve, args=(server,), daemon=True).start()
        yield path
        server.shutdown(socket.SHUT_RDWR)


def _serve(server: socket.socket) -> None:
    while True:
        try:
            one, _ = server.accept()
        except OSError:
            return
        with one:
            heard = b"".join(iter(lambda one=one: one.recv(65536), b""))  # type: ignore[misc]
            one.sendall(heard[::-1])


@pytest.fixture
def proxied(fence: Fence) -> Iterator[Fence]:
    with toy_proxy() as path:
        fence.profile = replace(fence.profile, network="proxy", proxy_socket=path)
        yield fence


async def test_the_proxy_is_reached_by_its_port(proxied: Fence) -> None:
    assert await proxied.python(ASK + "print(ask(b'hello').decode())") == "olleh"


async def test_much_passes_both_ways_and_many_at_once(proxied: Fence) -> None:
    assert await proxied.python(ASK + """
from concurrent.futures import ThreadPoolExecutor
piece = bytes(range(256)) * 2000
with ThreadPoolExecutor(8) as pool:
    print(sum(answer == piece[::-1] for answer in pool.map(lambda _: ask(piece), range(16))))
""") == "16"  # fmt: skip


async def test_a_second_run_reaches_it_too(proxied: Fence) -> None:
    said = [await proxied.python(ASK + "print(ask(b'ab').decode())") for _ in range(2)]
    assert said == ["ba", "ba"]


async def test_there_is_no_other_way_out(proxied: Fence) -> None:
    with socket.create_server(("127.0.0.1", 0)) as host:
        said = await proxied.python(f"""
for address in [('127.0.0.1', {host.getsockname()[1]}), ('192.0.2.1', 80), ('8.8.8.8', 53)]:
    try:
        socket.create_connection(address, 2); print('reached')
    except OSError:
        print('held')
print(sorted(name for _, name in socket.if_nameindex()))
""")
    assert said.split("\n") == ["held", "held", "held", "['lo']"]


async def test_without_the_proxy_its_socket_and_port_are_not_there(fence: Fence) -> None:
    assert await fence.shell("ls /run/ostiary/proxy.sock 2>/dev/null; env | grep -ci proxy") == "0"
    assert "ConnectionRefusedError" in await fence.python("socket.create_connection(('127.0.0.1', 3128), 2)")


@pytest.mark.parametrize("path", ["/nowhere/socket", "/etc/passwd", ""])
async def test_a_proxy_that_is_no_socket_is_refused(path: str, fence: Fence) -> None:
    with pytest.raises(ToolError, match="proxy is not there"):
        await fence.sandbox.run(Command(argv=("/bin/true",)), replace(fence.profile, network="proxy", proxy_socket=path))
