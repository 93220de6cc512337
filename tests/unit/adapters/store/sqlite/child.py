"""A process of its own that writes to a store: to be killed, or to meet a full disk. It speaks one JSON value per line."""

import asyncio
import json
import os
import resource
import sys
from pathlib import Path

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.contracts.errors import StoreError
from ostiary.contracts.store import SetValue
from ostiary.kit.clock import ManualClock
from tests.conformance.store.words import setting

KEY = bytes(range(32))


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


async def write_on_request(store: SqliteStore, path: Path) -> None:
    """Each line in is one unit; the answer tells its number and where the log ends."""
    count = 0
    while await asyncio.to_thread(sys.stdin.readline):
        count += 1
        await store.commit([setting(f"{count}"), SetValue(space="s", key=f"{count}", value=os.urandom(9000))])
        say([count, os.stat(f"{path}-wal").st_size])


async def commit(store: SqliteStore, key: str, size: int) -> str:
    try:
        await store.commit([setting(key), SetValue(space="s", key=key, value=os.urandom(size))])
    except StoreError as error:
        return type(error).__name__
    return "written"


async def fill_the_disk(store: SqliteStore, path: Path) -> None:
    """A file may not grow past a limit for a while: the kernel then refuses writes in the middle of a commit."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    said = [await commit(store, "before", 10)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat(f"{path}-wal").st_size + 5000, hard))
    said.append(await commit(store, "during", 500_000))
    said.append(await commit(store, "during too", 500_000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    said.append(await commit(store, "after", 500_000))
    say(said)


async def main(task: str, path: Path) -> None:
    async with open_store(path, KEY, clock=ManualClock()) as store:
        await {"write": write_on_request, "fill": fill_the_disk}[task](store, path)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
