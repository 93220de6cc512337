from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.core.memory.house import Home, home


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Home]:
    async with home(tmp_path) as made:
        yield made
