"""Acts that are done once: the same key with the same params gets the first one's result, for a day."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, TypeVar

import anyio

from ostiary.gateway.protocol.errors import MethodError

T = TypeVar("T")

_LARGEST = 256 * 1024


class Remembered(Protocol):
    """`lost`: a process that ended was at it, and the key is yours now; it may have happened."""

    @property
    def state(self) -> Literal["new", "done", "running", "lost", "conflict"]: ...

    @property
    def result(self) -> bytes: ...


class Answers(Protocol):
    """What is kept of calls, by caller and key."""

    def begin(self, caller: str, key: str, digest: bytes, now: float) -> Remembered: ...

    def finish(self, caller: str, key: str, result: bytes) -> None: ...

    def drop(self, caller: str, key: str) -> None: ...


class Ledger(Protocol):
    @property
    def answers(self) -> Answers: ...


class Books(Protocol):
    """Jobs are durable when `write` returns. Raises StoreError."""

    def write(self, job: Callable[[Ledger], T]) -> Awaitable[T]: ...


class Once:
    """A second request with a key that is still at work waits for the first and gets its result."""

    def __init__(self, books: Books, now: Callable[[], float]) -> None:
        self._books = books
        self._now = now
        self._at_work: dict[tuple[str, str], anyio.Event] = {}

    async def do(self, caller: str, key: str, params: bytes, act: Callable[[], Awaitable[bytes]]) -> bytes:
        """Raises MethodError CONFLICT for a key used with other params, and whatever `act` raises: then the key is free.

        What a crash left unfinished is done again: acts are such that doing one again changes nothing more."""
        digest = hashlib.sha256(params).digest()
        place = (caller, key)
        while (working := self._at_work.get(place)) is not None:
            await working.wait()
        done = self._at_work[place] = anyio.Event()
        try:
            known = await self._books.write(lambda ledger: ledger.answers.begin(caller, key, digest, self._now()))
            match known.state:
                case "done":
                    return known.result
                case "conflict":
                    raise MethodError("CONFLICT", "This idempotency key was used for something else.", hint="Make a new key.")
                case "running":
                    raise MethodError("BUSY", "This is being done already.", retry_after_ms=1000)
                case _:
                    return await self._do(caller, key, act)
        finally:
            del self._at_work[place]
            done.set()

    async def _do(self, caller: str, key: str, act: Callable[[], Awaitable[bytes]]) -> bytes:
        try:
            result = await act()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._books.write(lambda ledger: ledger.answers.drop(caller, key))
            raise
        if len(result) > _LARGEST:
            raise ValueError(f"a result of {len(result)} bytes cannot be kept")
        await self._books.write(lambda ledger: ledger.answers.finish(caller, key, result))
        return result
