"""A gateway that answers as the test tells it to, on a real socket, with the real door."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from anyio.from_thread import start_blocking_portal

from ostiary.gateway.run_file import run_file
from ostiary.gateway.server import serve
from tests.unit.gateway.fakes import FakeEngine, build_app


@contextmanager
def running_gateway(home: Path, engine: FakeEngine | None = None) -> Iterator[FakeEngine]:
    """Announced in `home` as `ostiary up` does it."""
    engine = engine or FakeEngine()
    ready = threading.Event()
    with run_file(home) as run, start_blocking_portal("asyncio") as portal:

        def announce(url: str) -> None:
            run.announce(url)
            ready.set()

        async def serving(stop: anyio.Event) -> None:
            facts = {"version": "1", "commands": ["status", "stop"]}
            app = build_app(engine, token=lambda: "lasting", run_token=run.token, facts=facts)
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: serve(app, on_ready=announce, drain_seconds=1))
                await stop.wait()
                group.cancel_scope.cancel()

        stop = portal.call(anyio.Event)
        done = portal.start_task_soon(serving, stop)
        assert ready.wait(5)
        yield engine
        portal.call(stop.set)
        done.result(5)
