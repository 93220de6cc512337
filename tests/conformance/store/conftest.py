"""Every store is put under the same suite: `make_store` opens the same durable state again and again within one test."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.kit.clock import ManualClock

AnyStore = SqliteStore
MakeStore = Callable[[], AbstractAsyncContextManager[AnyStore]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def _sqlite(folder: Path, clock: ManualClock) -> MakeStore:
    return lambda: open_store(folder / "store.db", bytes(range(32)), clock=clock)


_IMPLEMENTATIONS: dict[str, Callable[[Path, ManualClock], MakeStore]] = {"sqlite": _sqlite}


@pytest.fixture(params=sorted(_IMPLEMENTATIONS))
def make_store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> MakeStore:
    return _IMPLEMENTATIONS[request.param](tmp_path, clock)


@pytest.fixture
async def store(make_store: MakeStore) -> AsyncIterator[AnyStore]:
    async with make_store() as opened:
        yield opened
