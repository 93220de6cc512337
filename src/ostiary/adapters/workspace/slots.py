"""Which directories there are and who has one: each lease gets one of its own, the first that is free."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio

from ostiary.contracts.errors import Busy, ToolError
from ostiary.contracts.identity import SessionKey, is_id

Scope = Literal["session", "agent", "shared"]


def place_of(session: SessionKey, scope: Scope) -> str:
    """The name of the folder that sessions of one scope share. Raises ToolError for an agent that cannot have one."""
    if scope == "shared":
        return "shared"
    if not is_id(session.agent):
        raise ToolError("The agent's name is no id.")
    if scope == "agent":
        return f"agent-{session.agent}"
    return f"session-{session.agent}-{hashlib.sha256(str(session).encode()).hexdigest()[:24]}"


class Slots:
    """At most `most` directories per place. Who finds all taken waits up to `seconds`, then gets Busy."""

    def __init__(self, root: Path, *, most: int, seconds: float) -> None:
        self._root = root
        self._most = most
        self._seconds = seconds
        self._taken: dict[str, set[int]] = {}
        self._freed = anyio.Condition()

    @asynccontextmanager
    async def take(self, place: str) -> AsyncIterator[Path]:
        number = await self._number(place)
        try:
            yield self._root / place / str(number)
        finally:
            with anyio.CancelScope(shield=True):
                async with self._freed:
                    self._taken[place].discard(number)
                    if not self._taken[place]:
                        del self._taken[place]
                    self._freed.notify_all()

    async def _number(self, place: str) -> int:
        with anyio.move_on_after(self._seconds):
            async with self._freed:
                while True:
                    taken = self._taken.setdefault(place, set())
                    free = next((number for number in range(1, self._most + 1) if number not in taken), None)
                    if free is not None:
                        taken.add(free)
                        return free
                    await self._freed.wait()
        raise Busy(
            "Every copy of the workspace is in use by a running command",
            hint="Wait for a background process to end, or end one with the process tool.",
        )

    def is_taken(self, place: str) -> bool:
        return bool(self._taken.get(place))
