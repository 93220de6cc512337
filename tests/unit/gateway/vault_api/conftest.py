from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.gateway.vault_api.house import VaultClient, vault


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[VaultClient]:
    async with vault(tmp_path) as opened:
        yield opened
