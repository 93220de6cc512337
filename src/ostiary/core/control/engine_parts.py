"""The engine's own work as a kill sees it: turns with what waits behind them, and replies that wait to be sent."""

from collections.abc import Mapping
from typing import Protocol

import anyio

from ostiary.contracts.engine import Stopped
from ostiary.contracts.errors import Busy, StaleLease, StoreError
from ostiary.contracts.identity import SessionKey
from ostiary.core.routing.lanes import Lanes


class EngineTurns:
    """Running, suspended and resumed turns, and the messages queued behind them; all sessions side by side."""

    name = "turns"

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes

    async def stop_all(self, reason: str) -> Mapping[str, int]:
        """Durable when it returns. Raises StoreError or Busy if the end of one could not be written; the others ended."""
        stopped: list[Stopped] = []
        refused: list[Exception] = []

        async def stop(key: SessionKey) -> None:
            try:
                stopped.append(await self._lanes.stop(key, reason))
            except StaleLease:
                raise
            except (StoreError, Busy) as error:
                refused.append(error)

        async with anyio.create_task_group() as group:
            for seat in self._lanes.seats():
                group.start_soon(stop, seat.key)
        if refused:
            raise refused[0]
        return {"turns": sum(each.turns for each in stopped), "queued": sum(each.queued for each in stopped)}


class Outbox(Protocol):
    async def cancel_all(self, reason: str) -> int:
        """Nothing that waits in the outbox leaves any more, durably; gives how many messages that were."""
        ...


class Given(Protocol):
    async def revoke_all(self, by: str) -> int:
        """Nothing that people allowed beforehand holds any more, durably; gives how many that were."""
        ...


class Grants:
    name = "grants"

    def __init__(self, given: Given) -> None:
        self._given = given

    async def stop_all(self, reason: str) -> int:
        return await self._given.revoke_all(reason)


class QueuedSends:
    name = "sends"

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def stop_all(self, reason: str) -> int:
        return await self._outbox.cancel_all(reason)
