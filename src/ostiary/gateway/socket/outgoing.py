"""What waits to be sent to one client. Its size is bounded in bytes: deltas give way first, then the client does."""

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import anyio

from ostiary.contracts.records import dataclass
from ostiary.gateway.protocol.frames import event_frame
from ostiary.gateway.socket.line import Line, LineGone

Start = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """`head` is an event's bytes up to its number, shared by all sockets, or a whole frame."""

    head: bytes
    is_event: bool
    is_delta: bool


class Outgoing:
    """Putting never waits. `start` begins the writer when the line does not take a frame at once; `overflow` is told once.

    An event gets its number when it is sent, so a skipped delta leaves no gap.
    """

    def __init__(self, line: Line, *, limit: int, start: Start, overflow: Callable[[], None]) -> None:
        self._line = line
        self._limit = limit
        self._start = start
        self._overflow = overflow
        self._queue: deque[_Waiting] = deque()
        self._writing = False
        self._ended = False
        self._quiet: anyio.Event | None = None
        self.seq = 0
        self.size = 0
        self.skipped = 0

    def frame(self, frame: bytes) -> None:
        """A response."""
        self._put(_Waiting(frame, False, False))

    def event(self, head: bytes, *, is_delta: bool = False) -> None:
        self._put(_Waiting(head, True, is_delta))

    def skip_number(self) -> None:
        """Something was lost that this client should have seen: the gap tells it so."""
        self.seq += 1

    async def flushed(self) -> None:
        """Until nothing waits. The caller sets the time limit."""
        while self._writing and not self._ended:
            self._quiet = anyio.Event()
            await self._quiet.wait()

    def end(self) -> None:
        """Nothing more is sent or kept."""
        self._ended = True
        self._queue.clear()
        self.size = 0

    def _put(self, waiting: _Waiting) -> None:
        if self._ended:
            return
        if not self._queue and not self._writing and self._line.try_write(self._numbered(waiting)):
            self._sent(waiting)
            return
        if self.size > self._limit:
            if waiting.is_delta:
                self.skipped += 1
                return
            self._drop_deltas()
            if self.size > self._limit:
                self.end()
                self._overflow()
                return
        self._queue.append(waiting)
        self.size += len(waiting.head)
        if not self._writing:
            self._writing = True
            self._start(self._write)

    def _drop_deltas(self) -> None:
        kept = deque(each for each in self._queue if not each.is_delta)
        self.skipped += len(self._queue) - len(kept)
        self.size -= sum(len(each.head) for each in self._queue if each.is_delta)
        self._queue = kept

    async def _write(self) -> None:
        try:
            while self._queue:
                waiting = self._queue[0]
                await self._line.write(self._numbered(waiting))
                self._sent(waiting)
                # Deltas may have been dropped meanwhile, or everything.
                if self._queue and self._queue[0] is waiting:
                    self._queue.popleft()
                    self.size -= len(waiting.head)
        except LineGone:
            self.end()
        finally:
            self._writing = False
            if self._quiet is not None:
                self._quiet.set()

    def _numbered(self, waiting: _Waiting) -> bytes:
        return event_frame(waiting.head, self.seq + 1) if waiting.is_event else waiting.head

    def _sent(self, waiting: _Waiting) -> None:
        if waiting.is_event:
            self.seq += 1
