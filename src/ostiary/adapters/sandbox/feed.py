"""What goes into a command: in order, and as fast as it takes it."""

import asyncio
import os

from ostiary.adapters.sandbox.ends import Ends

_PIECE = 65536
_NOTHING = memoryview(b"")


class Feed:
    """`data` comes first. With `is_all` nothing follows, and the command is told so."""

    def __init__(self, ends: Ends, data: bytes, *, is_all: bool) -> None:
        self._ends = ends
        self._is_all = is_all
        self._rest = memoryview(data)
        self._is_waiting = self._is_broken = False
        self._taken = asyncio.Event()
        self._give()

    async def write(self, data: bytes) -> bool:
        """Until all of it is taken; False if no more is taken."""
        while self._rest:
            await self._taken.wait()
        if self._is_broken or self._ends.writer is None:
            return False
        self._rest = memoryview(data)
        self._taken.clear()
        self._give()
        await self._taken.wait()
        return not self._is_broken

    def close(self) -> None:
        self._is_broken = True
        self._rest = _NOTHING
        self._give()

    def _give(self) -> None:
        """As much as it takes now."""
        writer = self._ends.writer
        try:
            while self._rest and writer is not None:
                self._rest = self._rest[os.write(writer, self._rest[:_PIECE]) :]
        except BlockingIOError:
            assert writer is not None
            self._is_waiting = True
            asyncio.get_running_loop().add_writer(writer, self._give)
            return
        except OSError:
            # A command need not read what it is given.
            self._is_broken = True
        self._rest = _NOTHING
        if self._is_waiting and writer is not None:
            self._is_waiting = False
            asyncio.get_running_loop().remove_writer(writer)
        if self._is_all and not self._is_broken:
            self._ends.finish_input()
        self._taken.set()
