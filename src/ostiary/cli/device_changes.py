"""A change of the devices from the command line, with its entry in the audit log."""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio

from ostiary.assembly.access import open_desk, own_tls
from ostiary.assembly.machine import SystemClock
from ostiary.cli import background
from ostiary.cli.own_store import own_store
from ostiary.client import Unreachable, connect
from ostiary.contracts.errors import StoreError
from ostiary.contracts.store import Audit
from ostiary.gateway.auth import Caller, owner
from ostiary.gateway.auth.desk import DeviceDesk

Act = Callable[[DeviceDesk, Caller], Awaitable[Any]]

_SECONDS = 15.0
_PATIENCE = 10.0
_PAUSE = 0.25


async def change(home: Path, method: str, params: Mapping[str, Any], act: Act) -> Any:
    """What `method` of the running gateway gives, else what `act` does in the books. Raises OstiaryError.

    Neither a gateway that hangs nor a store that cannot be opened keeps anybody from being sent away: it is then done
    without an entry in the audit log, and said so."""
    end, once = anyio.current_time() + _PATIENCE, {**params, "idempotencyKey": uuid4().hex}
    while anyio.current_time() < end:
        run = background.running(home)
        try:
            return await (_by_gateway(home, run, method, once) if run is not None else _noted(home, act))
        except* (Unreachable, StoreError):
            # Somebody else holds the store for a moment, or a gateway comes or goes.
            await anyio.sleep(_PAUSE)
    _warn()
    async with open_desk(home, os.environ) as desk:
        return await act(desk, owner("local"))


async def _by_gateway(home: Path, run: background.Run, method: str, params: Mapping[str, Any]) -> Any:
    async with connect(run.url, token=run.token, tls=own_tls(home, os.environ, run.url)) as gateway:
        return await gateway.call(method, params, seconds=_SECONDS)


async def _noted(home: Path, act: Act) -> Any:
    """The store is held first: what cannot be written down is not begun."""
    clock, rows = SystemClock(), list[Audit]()

    def noted(kind: str, actor: str, subject: str, outcome: str, detail: Mapping[str, object] | None = None, /) -> None:
        rows.append(Audit(at=clock.now(), kind=kind, actor=actor, subject=subject, outcome=outcome, detail=detail or {}))

    async with own_store(home) as store, open_desk(home, os.environ, noted) as desk:
        done = await act(desk, owner("local"))
        try:
            await store.commit(rows)
        except StoreError:
            # It is done; doing it again would fail.
            _warn()
        return done


def _warn() -> None:
    print("warning: this change is not in the audit log: the store is in use or cannot be written", file=sys.stderr)
