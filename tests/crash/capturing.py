"""A life that works on files and dies at a given point between a command and the commit of what it changed."""

# ruff: noqa: ASYNC240 - it stands in for the command that changes the files

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.adapters.tools.diffs import unified
from ostiary.adapters.workspace import DocumentWorkspace
from ostiary.assembly.machine import SystemClock
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Put, Write
from ostiary.contracts.workspace import Use
from tests.crash.child import KEY

SESSION = SessionKey("main", "main")
OWN = Label(trust=Trust.OWNER, sources=("me",))
USE = Use(author="api:me", turn="turn_1", at=100.0, label=OWN)
BEFORE = {"a.md": b"one\n", "b.md": b"b\n", "sub/c.sh": b"#!/bin/sh\n"}
AFTER = {"a.md": b"two\n", "new.md": b"new\n", "sub/c.sh": b"#!/bin/sh\n"}
POINTS = ("laid out", "ran", "captured", "committed", "over", "keeping", "kept", "followed")


def workspace(store: SqliteStore, home: Path, reach: "Reach | None" = None) -> DocumentWorkspace:
    async def commit(writes: Sequence[Write]) -> object:
        if reach is not None:
            reach("keeping")
        return await store.commit(writes)

    return DocumentWorkspace(
        store.documents,
        home / "workspaces",
        folder_of=lambda agent: "",
        diff=lambda before, after, path, limit: unified(before, after, path, limit=limit),
        commit=commit,
    )


class Reach:
    """Dies at one point."""

    def __init__(self, point: str) -> None:
        self._point = point

    def __call__(self, name: str) -> None:
        if name == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


def change(directory: Path) -> None:
    """What the command does."""
    (directory / "a.md").write_bytes(AFTER["a.md"])
    (directory / "new.md").write_bytes(AFTER["new.md"])
    (directory / "b.md").unlink()


async def live(home: Path, point: str) -> None:
    reach = Reach(point)
    async with open_store(home / "store.db", KEY, clock=SystemClock()) as store:
        label = {"author": "me", "at": 1.0, "label": OWN}
        await store.commit(
            [Put(collection="_workspace", path=path, content=content, **label) for path, content in BEFORE.items()]  # type: ignore[arg-type]
        )
        held = workspace(store, home, reach)
        async with held.lease(SESSION, access="rw", use=USE) as lease:
            reach("laid out")
            change(Path(lease.directory))
            reach("ran")
            if point in ("keeping", "kept", "followed"):
                await held.keep(lease, at=150.0)
                reach("kept")
                Path(lease.directory, "later.md").write_text("later\n")
                reach("followed")
            capture = await held.capture(lease, author=USE.author, turn=USE.turn, at=150.0, label=OWN)
            reach("captured")
            await store.commit(capture.writes)
            reach("committed")
        reach("over")


if __name__ == "__main__":
    anyio.run(live, Path(sys.argv[1]), sys.argv[2])
