"""The gateway's side of the reader: one process for one document, killed when it is late."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import anyio
import anyio.abc

from ostiary.contracts.errors import ToolError
from ostiary.contracts.records import dataclass

_PROGRAM = str(Path(__file__).with_name("reader.py"))
# -I: neither the environment nor the working directory chooses what is imported.
_COMMAND = (sys.executable, "-I", "-X", "utf8", _PROGRAM)
_SECONDS = 20.0
_OUTPUT = 8 * 1024 * 1024
_AT_ONCE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    title: str
    text: str


def missing_libraries() -> tuple[str, ...]:
    """What reading well needs and this installation lacks; `ostiary[web]` brings it."""
    wanted = ("trafilatura", "lxml_html_clean", "pypdf", "brotli")
    return tuple(name for name in wanted if find_spec(name) is None)


class Reader:
    """At most two at once, however many are asked for: the others wait for their turn within their own limit."""

    def __init__(self, *, seconds: float = _SECONDS, command: tuple[str, ...] = _COMMAND) -> None:
        self._places = anyio.CapacityLimiter(_AT_ONCE)
        self._seconds = seconds
        self._command = command

    async def page(self, source: str, url: str) -> Document:
        """An HTML page as readable text. Raises ToolError."""
        return await self._read("html", url, source.encode("utf-8", "replace"))

    async def pdf(self, content: bytes, url: str) -> Document:
        """Raises ToolError."""
        return await self._read("pdf", url, content)

    async def _read(self, kind: str, url: str, content: bytes) -> Document:
        async with self._places:
            with anyio.move_on_after(self._seconds):
                return _document(await self._run(f"{kind} {url}\n".encode() + content))
        raise ToolError(f"{url[:200]} took longer than {self._seconds:g} s to read.")

    async def _run(self, given: bytes) -> bytes:
        try:
            process = await anyio.open_process(self._command, env={}, cwd="/", stderr=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            raise ToolError(f"Pages cannot be read now: {error.strerror}.") from None
        # Leaving kills it if it still runs, also when the wait is cancelled.
        async with process:
            output = bytearray()
            async with anyio.create_task_group() as group:
                group.start_soon(_give, process, given)
                assert process.stdout is not None
                async for chunk in process.stdout:
                    output += chunk
                    if len(output) > _OUTPUT:
                        process.kill()
                        group.cancel_scope.cancel()
            if len(output) > _OUTPUT:
                raise ToolError("The document is too long to read.")
            return bytes(output)


async def _give(process: anyio.abc.Process, given: bytes) -> None:
    assert process.stdin is not None
    try:
        await process.stdin.send(given)
        await process.stdin.aclose()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        # It ended before it had read everything; what it said, if anything, is judged by the reader of its output.
        return


def _document(output: bytes) -> Document:
    try:
        found = json.loads(output)
    except ValueError:
        raise ToolError("The document could not be read: it needs too much time or memory.") from None
    if not isinstance(found, dict) or found.get("error"):
        raise ToolError(f"The document could not be read. {found.get('error', '') if isinstance(found, dict) else ''}".strip())
    return Document(title=str(found.get("title", "")), text=str(found.get("text", "")))
