"""A gateway for the time of one command, in this process: the same door, so nothing behaves differently without `up`."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from ostiary.cli.client import Gateway, find_gateway
from ostiary.contracts.errors import OstiaryError, StoreUnavailable

_START_SECONDS = 60.0


@contextmanager
def own_gateway(home: Path) -> Iterator[Gateway]:
    """Ready when entered; stopped, with its turns journaled, when left. Raises OstiaryError if it cannot start."""
    with start_blocking_portal("asyncio") as portal:
        stop = portal.call(anyio.Event)
        ready = threading.Event()
        future = portal.start_task_soon(_run, home, stop, ready)
        future.add_done_callback(lambda _: ready.set())
        try:
            if not ready.wait(_START_SECONDS):
                raise StoreUnavailable("the gateway did not start in time", hint="See `ostiary logs`.")
            gateway = find_gateway(home)
            if future.done() or gateway is None:
                future.result()
                raise StoreUnavailable("the gateway ended at once", hint="See `ostiary logs`.")
            yield gateway
        finally:
            _end(portal, stop)
            future.exception()


def _end(portal: BlockingPortal, stop: anyio.Event) -> None:
    portal.call(stop.set)


async def _run(home: Path, stop: anyio.Event, ready: threading.Event) -> None:
    from ostiary.assembly.gateway import run_gateway

    failure: OstiaryError | None = None
    async with anyio.create_task_group() as group:

        async def serve() -> None:
            nonlocal failure
            try:
                await run_gateway(home, 0, lambda url: ready.set())
            except OstiaryError as error:
                failure = error
            group.cancel_scope.cancel()

        group.start_soon(serve)
        await stop.wait()
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
