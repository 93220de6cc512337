"""Watching the house at work: figures and readiness at the door, traces for who asks for them."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ostiary import __version__
from ostiary.assembly.config.secret import resolve
from ostiary.assembly.house import House
from ostiary.contracts.errors import OstiaryError
from ostiary.gateway.asgi import Receive, Scope, Send
from ostiary.gateway.ops.readiness import Readiness

if TYPE_CHECKING:
    from ostiary.assembly.config.telemetry import Telemetry
    from ostiary.core.routing.feed import Watcher
    from ostiary.gateway.ops.metrics import Metrics
    from ostiary.gateway.ops.observer import Observer

log = logging.getLogger("ostiary.operations")

_LAST_TRACES_SECONDS = 6.0


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
                group.start_soon(metrics.lag.measure)
                group.start_soon(observe, self._watch, [metrics.tally], clock.sleep)
                async with _tracing(self._house) as traces:
                    if traces is not None:
                        await observe(self._watch, [traces], clock.sleep)
        finally:
            self.readiness.stopping()

    def _watch(self) -> "AbstractAsyncContextManager[Watcher]":
        return self._house.engine.watcher("", deltas=False)

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


@asynccontextmanager
async def _tracing(house: House) -> "AsyncIterator[Observer | None]":
    """None unless they are switched on. Traces that cannot be made are said in the log: the house works without."""
    opened = None
    settings = house.newest.live.current.config.telemetry
    if settings.enabled:
        try:
            # OpenTelemetry takes a good part of a second to load.
            opened = await anyio.to_thread.run_sync(_opened, house, settings)
        except ImportError:
            log.warning("telemetry is on, but OpenTelemetry is not installed: pip install 'ostiary[telemetry]'")
        except OstiaryError as error:
            log.warning("no traces are sent: %s %s", error, error.hint)
    if opened is None:
        yield None
        return
    traces = await anyio.to_thread.run_sync(opened.__enter__)
    log.info("traces go to %s", settings.endpoint)
    try:
        yield traces
    finally:
        with anyio.move_on_after(_LAST_TRACES_SECONDS, shield=True):
            await anyio.to_thread.run_sync(opened.__exit__, None, None, None, abandon_on_cancel=True)


def _opened(house: House, settings: "Telemetry") -> "AbstractContextManager[Observer]":
    from ostiary.adapters.telemetry import open_tracing

    headers = {name: resolve(source, house.environ, house.credentials).reveal() for name, source in settings.headers.items()}
    return open_tracing(endpoint=settings.endpoint, headers=headers, service=settings.service_name, version=__version__)
