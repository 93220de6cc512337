from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.kit.clock import ManualClock

KEY = bytes(range(32))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    async with open_store(path, KEY, clock=ManualClock()) as opened:
        yield opened
