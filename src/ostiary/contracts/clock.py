"""Time and chance are ports: core never asks the machine."""

from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """UTC seconds: for what is stored."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump: for waits."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def new(self, kind: str) -> str:
        """A fresh id such as `turn_…`, sortable by time of making."""
        ...
