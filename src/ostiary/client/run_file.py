"""Finding the gateway of the same user on the same machine."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ostiary.client.errors import Unreachable
from ostiary.client.gateway import Gateway, connect


@asynccontextmanager
async def connect_home(home: Path, **more: Any) -> AsyncIterator[Gateway]:
    """`connect` to the gateway that runs on this state directory. Raises Unreachable if none does."""
    try:
        found = json.loads((home / "run" / "gateway.json").read_text())
        url, token = str(found["url"]), str(found["token"])
    except (OSError, ValueError, KeyError, TypeError):
        raise Unreachable(f"no gateway runs on {home}", hint="Start it: ostiary up") from None
    async with connect(url, token=token, **more) as gateway:
        yield gateway
