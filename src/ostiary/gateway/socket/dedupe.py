"""Acts that are done once: the same key with the same params gets the first one's result, for a day."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from ostiary.contracts.records import dataclass
from ostiary.gateway.protocol.errors import MethodError

KEPT_SECONDS = 24 * 3600.0
_LARGEST = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    digest: str
    result: bytes


class Memory(Protocol):
    """Durable, by caller and key; what has expired is not found. Raises StoreError."""

    async def find(self, caller: str, key: str) -> Remembered | None: ...

    async def keep(self, caller: str, key: str, remembered: Remembered, *, expires_at: float) -> None: ...


class Once:
    """A second request with a key that is still at work waits for the first and gets its result."""

    def __init__(self, memory: Memory, now: Callable[[], float]) -> None:
        self._memory = memory
        self._now = now
        self._at_work: dict[tuple[str, str], anyio.Event] = {}

    async def do(self, caller: str, key: str, params: bytes, act: Callable[[], Awaitable[bytes]]) -> bytes:
        """Raises MethodError CONFLICT for a key used with other params, and whatever `act` raises: then nothing is kept.

        What a crash cut off before it was kept is done again: acts are such that doing one again changes nothing more."""
        digest = hashlib.sha256(params).hexdigest()
        place = (caller, key)
        while (working := self._at_work.get(place)) is not None:
            await working.wait()
        done = self._at_work[place] = anyio.Event()
        try:
            known = await self._memory.find(caller, key)
            if known is not None:
                if known.digest != digest:
                    raise MethodError("CONFLICT", "This idempotency key was used for something else.", hint="Make a new key.")
                return known.result
            result = await act()
            if len(result) <= _LARGEST:
                expires_at = self._now() + KEPT_SECONDS
                await self._memory.keep(caller, key, Remembered(digest=digest, result=result), expires_at=expires_at)
            return result
        finally:
            del self._at_work[place]
            done.set()
