"""The house dies between a command and the commit of its files: the documents are whole, nothing is lost silently."""

# ruff: noqa: ASYNC240 - the test looks at the directory a command would see

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.assembly.machine import SystemClock
from ostiary.contracts.workspace import Use
from tests.crash.capturing import AFTER, BEFORE, OWN, POINTS, SESSION, workspace
from tests.crash.child import KEY

LATER = Use(author="api:me", turn="turn_2", at=200.0, label=OWN)
STAMP = "conflict-19700101T000320Z"
# By the point of death: whose documents there are afterwards, and what was kept beside them.
FATES = {
    "laid out": (BEFORE, {}),
    "ran": (BEFORE, {f"a.{STAMP}.md": AFTER["a.md"], f"new.{STAMP}.md": AFTER["new.md"]}),
    "captured": (BEFORE, {f"a.{STAMP}.md": AFTER["a.md"], f"new.{STAMP}.md": AFTER["new.md"]}),
    "committed": (AFTER, {}),
    "over": (AFTER, {}),
    "keeping": (BEFORE, {f"a.{STAMP}.md": AFTER["a.md"], f"new.{STAMP}.md": AFTER["new.md"]}),
    "kept": (AFTER, {}),
    "followed": (AFTER, {f"later.{STAMP}.md": b"later\n"}),
}


async def contents(store: SqliteStore) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for version in await store.documents.list("_workspace"):
        got = await store.documents.get("_workspace", version.path)
        found[version.path] = b"" if got is None else got[1]
    return found


def die(home: Path, point: str) -> None:
    command = [sys.executable, "-m", "tests.crash.capturing", str(home), point]
    done = subprocess.run(command, timeout=60, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("point", POINTS)
async def test_documents_are_whole_and_nothing_is_lost_silently(tmp_path: Path, point: str) -> None:
    die(tmp_path, point)
    documents, aside = FATES[point]
    async with open_store(tmp_path / "store.db", KEY, clock=SystemClock()) as store:
        assert await contents(store) == documents
        held = workspace(store, tmp_path)
        told = await held.recover(at=200.0)
        assert await contents(store) == {**documents, **aside}
        assert len(told) == len(aside)
        assert {version.turn for name in aside for version in await store.documents.history("_workspace", name)} <= {"turn_1"}
        async with held.lease(SESSION, access="rw", use=LATER) as lease:
            root = Path(lease.directory)
            laid = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
            capture = await held.capture(lease, author="me", turn="turn_2", at=200.0, label=OWN)
        assert (laid, capture.writes) == ({**documents, **aside}, ())
