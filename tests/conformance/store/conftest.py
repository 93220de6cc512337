"""Every store is put under the same suite: `make_store` opens the same durable state again and again within one test."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from ostiary.adapters.store.remote import RemoteStore
from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.kit.clock import ManualClock
from tests.unit.adapters.store.remote.serving import open_served

AnyStore = SqliteStore | RemoteStore
MakeStore = Callable[[], AbstractAsyncContextManager[AnyStore]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def _sqlite(folder: Path, clock: ManualClock) -> MakeStore:
    return lambda: open_store(folder / "store.db", bytes(range(32)), clock=clock)


def _remote(folder: Path, clock: ManualClock) -> MakeStore:
    """Through a real socket, to a store of its own."""

    @asynccontextmanager
    async def make() -> AsyncIterator[RemoteStore]:
        async with open_served(folder, clock) as vault:
            yield vault.store

    return make


_IMPLEMENTATIONS: dict[str, Callable[[Path, ManualClock], MakeStore]] = {"sqlite": _sqlite, "remote": _remote}


@pytest.fixture(params=sorted(_IMPLEMENTATIONS))
def make_store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> MakeStore:
    return _IMPLEMENTATIONS[request.param](tmp_path, clock)


@pytest.fixture
async def store(make_store: MakeStore) -> AsyncIterator[AnyStore]:
    async with make_store() as opened:
        yield opened
