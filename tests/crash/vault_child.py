"""Forks processes that commit one unit of documents and are struck dead in the middle of a chosen write to the disk.

Reads one order per line (`unit`, `home`, `strike`: which write, 0 none), answers with the wait status and how many writes a
process that was not struck made.
"""

import ctypes
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from ostiary.adapters.store.sqlite import open_store
from ostiary.contracts.store import EraseVersions, Extend, Move, Put, Restore, Tombstone, Write
from ostiary.kit.clock import ManualClock

KEY = bytes(range(32))
NOTES = "notes"
LARGE = random.Random(7).randbytes(1_300_000)
ACKNOWLEDGED = "acknowledged"


def _put(path: str, content: bytes, at: float = 1.0) -> Put:
    return Put(collection=NOTES, path=path, content=content, at=at, author="owner")


BEFORE: Sequence[Write] = (
    *(_put(f"many/{number}.md", random.Random(number).randbytes(3000)) for number in range(8)),
    _put("a.md", b"one" * 2000),
    _put("a.md", b"two" * 2000),
    _put("secret.md", b"secret" * 3000),
    _put("large.bin", LARGE),
)
UNITS: dict[str, Sequence[Write]] = {
    "put": [_put(f"new/{number}.md", random.Random(-number).randbytes(5000), 2.0) for number in range(1, 6)],
    "large put": [_put("big.bin", random.Random(9).randbytes(1_200_000), 2.0), _put("a.md", b"with it", 2.0)],
    "extend": [
        Extend(collection=NOTES, path=name, content=b"more", at=2.0, author="ann") for name in ("a.md", "large.bin", "n.md")
    ],
    "move": [Move(collection=NOTES, path=f"many/{n}.md", to=f"moved/{n}.md", at=2.0, author="ann") for n in range(8)],
    "restore": [
        Restore(collection=NOTES, path="a.md", version=1, at=2.0, author="ann"),
        Tombstone(collection=NOTES, path="secret.md", at=2.0, author="ann"),
    ],
    "erase": [EraseVersions(collection=NOTES, path=name) for name in ("secret.md", "a.md", "large.bin")],
}


async def commit(home: Path, unit: str, strike: int) -> int:
    """Die, or give how many writes to the disk it took until the commit was acknowledged."""
    library = ctypes.CDLL(None)
    async with open_store(home / "store.db", KEY, clock=ManualClock()) as store:
        await store.documents.list(NOTES)
        library.strike(strike)
        await store.commit(UNITS[unit])
        (home / ACKNOWLEDGED).touch()
        # The log is emptied after the acknowledgement, by the thread that writes: wait until it is done.
        await store.sweep(0.0)
        return int(library.writes_passed())


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            passed = anyio.run(commit, Path(order["home"]), order["unit"], order["strike"])
            os.write(writing, str(passed).encode())
            os._exit(0)
        os.close(writing)
        passed_said = os.read(reading, 20) or b"0"
        os.close(reading)
        _, status = os.waitpid(pid, 0)
        print(json.dumps([status, int(passed_said)]), flush=True)


if __name__ == "__main__":
    main()
