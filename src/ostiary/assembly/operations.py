"""Watching the house at work: figures and readiness at the door, traces for who asks for them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from ostiary import __version__
from ostiary.assembly.house import House
from ostiary.gateway.asgi import Receive, Scope, Send
from ostiary.gateway.ops.readiness import Readiness

if TYPE_CHECKING:
    from ostiary.gateway.ops.metrics import Metrics
    from ostiary.gateway.ops.observer import Observer


class Operations:
    """The pages answer from the first moment; figures are counted while `run` runs, which is begun once the house listens.

    `people` gives how many sockets are open and how many clients were seen lately."""

    def __init__(self, house: House, people: Callable[[], tuple[int, int]]) -> None:
        self._house = house
        self._people = people
        self._metrics: Metrics | None = None
        self._started_at = house.clock.now()
        self.readiness = Readiness(
            store=house.store, has_engine=lambda: house.lanes.broken is None, monotonic=house.clock.monotonic
        )

    async def metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._made().page(scope, receive, send)

    async def run(self) -> None:
        """Until cancelled, which is when the house begins to stop."""
        from ostiary.gateway.ops.observer import observe

        clock, metrics = self._house.clock, self._made()
        self.readiness.started()
        try:
            async with anyio.create_task_group() as group:
                observers: list[Observer] = [metrics.tally]
                group.start_soon(metrics.lag.measure)
                group.start_soon(observe, lambda: self._house.engine.watcher(""), observers, clock.sleep)
        finally:
            self.readiness.stopping()

    def _made(self) -> "Metrics":
        if self._metrics is None:
            from ostiary.gateway.ops.metrics import Metrics
            from ostiary.gateway.ops.process import LoopLag
            from ostiary.gateway.ops.tally import Tally

            house = self._house
            self._metrics = Metrics(
                tally=Tally(),
                lag=LoopLag(monotonic=house.clock.monotonic, sleep=house.clock.sleep),
                status=house.engine.status,
                people=self._people,
                connections=lambda: house.store.connections,
                version=__version__,
                started_at=self._started_at,
            )
        return self._metrics
