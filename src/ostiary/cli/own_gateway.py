"""A gateway for the time of one command, in this process: the same door, so nothing behaves differently without `up`."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import anyio
from anyio.from_thread import start_blocking_portal

from ostiary.cli.client import Gateway, find_gateway
from ostiary.cli.waiting import POLL_SECONDS, Patience
from ostiary.contracts.errors import OstiaryError, StoreHeld, StoreUnavailable

_START_SECONDS = 60.0
_LEAVE_SECONDS = 0.7
_INTERRUPTED = 130


@contextmanager
def own_gateway(home: Path, *, is_private: bool = False, leaves_at_once: bool = False) -> Iterator[Gateway]:
    """Ready when entered; stopped, with its turns journaled, when left. Raises OstiaryError if it cannot start.

    `is_private`: other commands do not go through it, for it ends with this one's answer. Whoever presses Ctrl-C, or leaves
    and `leaves_at_once`, is not kept waiting for a model: turns under way go on after the next start.
    """
    with start_blocking_portal("asyncio") as portal:
        stop = portal.call(anyio.Event)
        ready = threading.Event()
        future = portal.start_task_soon(_run, home, stop, ready, is_private)
        future.add_done_callback(lambda _: ready.set())
        hurry = leaves_at_once
        code = 0
        try:
            if not ready.wait(_START_SECONDS):
                raise StoreUnavailable("the gateway did not start in time", hint="See `ostiary logs`.")
            gateway = find_gateway(home)
            if future.done() or gateway is None:
                future.result()
                raise StoreUnavailable("the gateway ended at once", hint="See `ostiary logs`.")
            yield gateway
        except KeyboardInterrupt:
            hurry, code = True, _INTERRUPTED
            raise
        finally:
            portal.call(stop.set)
            if hurry:
                _leave(future, code)
            future.exception()


@contextmanager
def own_gateway_in_turn(home: Path) -> Iterator[Gateway]:
    """As `own_gateway`, private; while another command holds the state directory it is waited for, up to a minute.

    Gives that one's gateway if it turns out to be one for everybody. Raises OstiaryError."""
    patience = Patience()
    while True:
        begun = False
        try:
            with own_gateway(home, is_private=True) as gateway:
                begun = True
                yield gateway
                return
        except StoreHeld as error:
            if begun:
                raise
            patience.use(error)
        time.sleep(POLL_SECONDS)
        everybodys = find_gateway(home)
        if everybodys is not None:
            yield everybodys
            return


def _leave(future: "Future[None]", code: int) -> None:
    """End in order if that takes no time, else as a crash does, which costs nothing that was recorded."""
    try:
        future.exception(_LEAVE_SECONDS)
    except TimeoutError:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


async def _run(home: Path, stop: anyio.Event, ready: threading.Event, is_private: bool) -> None:
    from ostiary.assembly.gateway import run_gateway
    from ostiary.gateway.run_file import keep_private

    failure: OstiaryError | None = None

    def listening(url: str) -> None:
        if is_private:
            keep_private(home)
        ready.set()

    async with anyio.create_task_group() as group:

        async def serve() -> None:
            nonlocal failure
            try:
                await run_gateway(home, 0, listening)
            except OstiaryError as error:
                failure = error
            group.cancel_scope.cancel()

        group.start_soon(serve)
        await stop.wait()
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
