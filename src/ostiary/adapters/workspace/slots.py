"""Which directories there are and who has one: a session keeps to one, and nobody else is in it meanwhile."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
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


@dataclass(slots=True)
class _Holder:
    session: SessionKey
    leases: int


class Slots:
    """At most `most` directories per place. A session that has one gets it again; one that finds all taken by others waits
    up to `seconds`, then gets Busy."""

    def __init__(self, root: Path, *, most: int, seconds: float) -> None:
        self._root = root
        self._most = most
        self._seconds = seconds
        self._taken: dict[str, dict[int, _Holder]] = {}
        self._freed = anyio.Condition()

    @asynccontextmanager
    async def take(self, place: str, session: SessionKey) -> AsyncIterator[Path]:
        number = await self._number(place, session)
        try:
            yield self._root / place / str(number)
        finally:
            with anyio.CancelScope(shield=True):
                async with self._freed:
                    self._give_back(place, number)
                    self._freed.notify_all()

    def _give_back(self, place: str, number: int) -> None:
        taken = self._taken[place]
        taken[number].leases -= 1
        if not taken[number].leases:
            del taken[number]
        if not taken:
            del self._taken[place]

    async def _number(self, place: str, session: SessionKey) -> int:
        with anyio.move_on_after(self._seconds):
            async with self._freed:
                while True:
                    number = self._find(place, session)
                    if number:
                        return number
                    await self._freed.wait()
        raise Busy(
            "Every copy of the workspace is in use by a running command",
            hint="Wait for a background process to end, or end one with the process tool.",
        )

    def _find(self, place: str, session: SessionKey) -> int:
        taken = self._taken.setdefault(place, {})
        for number, holder in taken.items():
            if holder.session == session:
                holder.leases += 1
                return number
        free = next((number for number in range(1, self._most + 1) if number not in taken), 0)
        if free:
            taken[free] = _Holder(session, 1)
        return free

    def is_taken(self, place: str) -> bool:
        return bool(self._taken.get(place))
