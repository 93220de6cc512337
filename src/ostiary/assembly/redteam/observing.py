"""The house's side of the witness: starting it, giving it orders, asking what it saw."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from ostiary.assembly.redteam import witness as program
from ostiary.contracts.errors import Busy

_SECONDS = 10.0
_LONGEST = 4 << 20


class Witness:
    """`outside`, `inside` and `datagrams` are ports of this machine; `folder` lies beside the gateway's state."""

    def __init__(self, process: Process, replies: BufferedByteReceiveStream, folder: Path) -> None:
        self._process = process
        self._replies = replies
        self._lock = anyio.Lock()
        self.folder = folder
        self.outside = 0
        self.inside = 0
        self.datagrams = 0
        self.stranger_pid = 0

    @property
    def page_url(self) -> str:
        return f"http://127.0.0.1:{self.outside}/page"

    def taking(self, what: str = "") -> str:
        """An address of the attacker's: whatever is asked for there is counted."""
        return f"http://127.0.0.1:{self.outside}/take{'?' + what if what else ''}"

    async def reset(self) -> None:
        self.stranger_pid = int(await self._order(do="reset"))

    async def page(self, name: str, text: str, *, status: int = 200, kind: str = "text/html") -> str:
        """Serve it at the attacker's server; gives its address. With a status of 3xx the text is where it leads."""
        await self._order(do="page", path=f"/page/{name}", text=text, status=status, kind=kind)
        return f"{self.page_url}/{name}"

    async def tell(self, what: str) -> None:
        """Something arrived that has no wire of its own: a message at a recipient, a secret at the model's provider."""
        await self._order(do="tell", what=what)

    async def look(self) -> tuple[str, ...]:
        return tuple(str(each) for each in await self._order(do="look"))

    async def hello(self) -> None:
        with anyio.fail_after(_SECONDS):
            self.outside, self.inside, self.datagrams = json.loads(await self._replies.receive_until(b"\n", _LONGEST))

    async def _order(self, **order: object) -> Any:
        assert self._process.stdin is not None
        async with self._lock:
            with anyio.fail_after(_SECONDS):
                await self._process.stdin.send(json.dumps(order).encode() + b"\n")
                return json.loads(await self._replies.receive_until(b"\n", _LONGEST))


@asynccontextmanager
async def witnessing(folder: Path) -> AsyncIterator[Witness]:
    """`folder` is there already. Raises Busy if it cannot be started."""
    command = [sys.executable, "-I", str(Path(str(program.__file__))), str(folder)]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        made = Witness(process, BufferedByteReceiveStream(process.stdout), folder)
        try:
            await made.hello()
        except (TimeoutError, anyio.EndOfStream, ValueError):
            raise Busy("the witness of the red team could not be started", hint="Try again.") from None
        await made.reset()
        try:
            yield made
        finally:
            with anyio.CancelScope(shield=True):
                if process.stdin is not None:
                    await process.stdin.aclose()
                with anyio.move_on_after(2):
                    await process.wait()
                if process.returncode is None:
                    process.kill()
