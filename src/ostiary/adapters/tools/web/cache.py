"""Answers of the last minutes, bounded in number and size."""

from typing import Generic, TypeVar

from ostiary.contracts.clock import Clock

T = TypeVar("T")


class Recent(Generic[T]):
    """When it is full, the oldest go first; what is larger than a quarter of it is not kept."""

    def __init__(self, clock: Clock, *, seconds: float, entries: int = 64, size: int = 16 * 1024 * 1024) -> None:
        self._clock = clock
        self._seconds = seconds
        self._entries = entries
        self._size = size
        self._held = 0
        self._kept: dict[tuple[str, ...], tuple[float, int, T]] = {}

    def get(self, key: tuple[str, ...]) -> T | None:
        found = self._kept.get(key)
        if found is None or found[0] <= self._clock.monotonic():
            self._drop(key)
            return None
        return found[2]

    def keep(self, key: tuple[str, ...], value: T, size: int) -> None:
        self._drop(key)
        if self._seconds <= 0 or size > self._size // 4:
            return
        self._kept[key] = (self._clock.monotonic() + self._seconds, size, value)
        self._held += size
        while len(self._kept) > self._entries or self._held > self._size:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: tuple[str, ...]) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._held -= found[1]
