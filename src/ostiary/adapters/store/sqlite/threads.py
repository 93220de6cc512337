"""Threads that own a connection each. They start when there is work and end when there has been none for a while."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

import anyio

from ostiary.contracts.errors import Busy, OstiaryError, StoreUnavailable

T = TypeVar("T")

_LONGEST_JOIN = 30.0
_GATHERING = 0.001


class Job:
    """One piece of work, its outcome, and the future that tells when it is there."""

    __slots__ = ("call", "error", "future", "is_settled", "result", "weight")

    def __init__(self, call: Callable[[Any], Any], future: "asyncio.Future[Any]", weight: int) -> None:
        self.call = call
        self.future = future
        self.weight = weight
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_settled = False


class Hand(Protocol):
    """What runs inside a thread. `work` gives every job its result or its error and does not raise."""

    def work(self, jobs: Sequence[Job]) -> None: ...

    def close(self) -> None: ...


class Threads:
    """At most `size` threads share one queue; a thread takes up to `batch` waiting jobs at once.

    The queue holds `room` jobs and `room_bytes` of payload, counting those being worked on. When it is full a caller waits up
    to `patience` seconds and is then told Busy: this is what slows intake down. Futures are settled on the event loop.
    """

    def __init__(
        self,
        hire: Callable[[], Hand],
        *,
        name: str,
        size: int,
        batch: int,
        idle: float,
        room: int = 1024,
        room_bytes: int = 64 * 1024 * 1024,
        patience: float = 5.0,
        gathering: float = _GATHERING,
    ) -> None:
        self._hire = hire
        self._name = name
        self._size = size
        self._batch = batch
        self._idle = idle
        self._room = room
        self._room_bytes = room_bytes
        self._patience = patience
        self._gathering = gathering
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._alive: set[threading.Thread] = set()
        self._jobs = 0
        self._bytes = 0
        self._last = 1
        self._freed: anyio.Event | None = None
        self._closed = False

    @property
    def alive(self) -> int:
        """How many threads, and so connections, exist right now."""
        return len(self._alive)

    async def run(self, call: Callable[[Any], T], weight: int = 0, *, certain: bool = False) -> T:
        """The outcome of `call`. If `certain`, cancellation waits for it: the caller always learns whether it was done.

        Raises Busy if there was no room in time, StoreUnavailable after `close`."""
        if self._jobs >= self._room or (self._jobs and self._bytes + weight > self._room_bytes):
            await self._wait_for_room(weight)
        if self._closed:
            raise StoreUnavailable("The store is closed")
        job = Job(call, self._loop.create_future(), weight)
        with self._guard:
            if len(self._alive) < min(self._jobs + 1, self._size):
                self._start()
            self._queue.put(job)
        self._jobs += 1
        self._bytes += weight
        try:
            await job.future
        except asyncio.CancelledError as cancelled:
            if not certain:
                raise
            await self._finish(job, cancelled)
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    async def _finish(self, job: Job, cancelled: asyncio.CancelledError) -> None:
        """Wait for the outcome in spite of a cancellation, which strikes again at the caller's next wait.

        A scope's cancellation returns by itself until the scope is left; a bare `task.cancel()` must be asked for again.
        Only this rare path pays for a shield: entering one costs more than handing over the job."""
        if not job.is_settled:
            job.future = self._loop.create_future()
            with anyio.CancelScope(shield=True):
                await job.future
        task = asyncio.current_task()
        if task is not None and "cancel scope" not in str(cancelled):
            task.cancel()

    async def close(self) -> None:
        """What was given before is still done; threads and connections are gone when this returns."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            with self._guard:
                alive = tuple(self._alive)
                for _ in alive:
                    self._queue.put(None)
            for thread in alive:
                await anyio.to_thread.run_sync(thread.join, _LONGEST_JOIN)

    async def _wait_for_room(self, weight: int) -> None:
        with anyio.move_on_after(self._patience):
            while self._jobs >= self._room or (self._jobs and self._bytes + weight > self._room_bytes):
                if self._freed is None:
                    self._freed = anyio.Event()
                await self._freed.wait()
            return
        raise Busy("The store has more work than it can take", hint="Try again in a moment.")

    def _start(self) -> None:
        thread = threading.Thread(target=self._live, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise StoreUnavailable(
                "The system gives no more threads", hint="Close other programs, or raise the limit."
            ) from error
        self._alive.add(thread)

    def _live(self) -> None:
        hand: Hand | None = None
        while jobs := self._next():
            try:
                if hand is None:
                    hand = self._hire()
                hand.work(jobs)
            except Exception as error:  # noqa: BLE001 - what breaks here fails those who wait, not the thread
                for job in jobs:
                    job.error = error if isinstance(error, OstiaryError) else StoreUnavailable(f"The store failed: {error}")
                # Its connection is in an unknown state: the next job gets a new one.
                _dismiss(hand)
                hand = None
            self._deliver(jobs)
        _dismiss(hand)

    def _next(self) -> list[Job]:
        """Wait for work; an empty list means this thread is to end."""
        try:
            first = self._queue.get(timeout=self._idle)
        except Empty:
            first = None
        if first is None:
            with self._guard:
                # Between the wait's end and the lock a job may have come in.
                first = self._take()
                if first is None:
                    self._alive.discard(threading.current_thread())
                    return []
        jobs = [first]
        while len(jobs) < self._batch and (job := self._take() or self._awaited(len(jobs))) is not None:
            jobs.append(job)
        self._last = len(jobs)
        return jobs

    def _awaited(self, gathered: int) -> Job | None:
        """Those who were answered together come back together, but the first of them wakes this thread: without a moment's
        patience for the others, every second batch, and its wait for the disk, would be for one job alone."""
        if gathered >= self._last:
            return None
        try:
            job = self._queue.get(timeout=self._gathering)
        except Empty:
            # They are not coming: nobody waits for them again in this batch.
            self._last = gathered
            return None
        if job is None:
            self._queue.put(None)
        return job

    def _take(self) -> Job | None:
        try:
            job = self._queue.get_nowait()
        except Empty:
            return None
        if job is None:
            # The notice of closing is for after the work that came before it.
            self._queue.put(None)
        return job

    def _deliver(self, jobs: list[Job]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._settle, jobs)
        except RuntimeError:
            # The loop is gone, and with it everyone who waited.
            return

    def _settle(self, jobs: list[Job]) -> None:
        for job in jobs:
            self._jobs -= 1
            self._bytes -= job.weight
            job.is_settled = True
            if not job.future.done():
                job.future.set_result(None)
        if self._freed is not None:
            self._freed.set()
            self._freed = None


def _dismiss(hand: Hand | None) -> None:
    # A connection that does not close cleanly is gone all the same, and nobody waits for it.
    with suppress(Exception):
        if hand is not None:
            hand.close()
