from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.adapters.tools.diffs import unified
from ostiary.adapters.workspace import DocumentWorkspace
from ostiary.assembly.machine import SortableIds, SystemClock
from ostiary.assembly.vault_exec import WorkspaceExec
from ostiary.contracts.errors import BadInput, Busy, NotAllowed, SandboxUnavailable
from ostiary.contracts.identity import EXTERNAL, OWNER, Principal
from ostiary.contracts.messages import UserId
from ostiary.contracts.sandbox import Command, Exit, SandboxProfile
from ostiary.contracts.store import Put
from ostiary.kit.clock import ManualClock
from ostiary.kit.sandbox import RecordingSandbox

ANNA = Principal(user=UserId(channel="api", stable_id="token"), role=OWNER)


def edit(command: Command, profile: SandboxProfile) -> Exit:
    """As if the command had written a file."""
    Path(profile.mounts[0].source, "out.txt").write_text("made\n")
    return Exit(code=0, output=b"done\n")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    clock = ManualClock()
    async with open_store(tmp_path / "store.db", bytes(range(32)), clock=clock) as opened:
        await opened.commit([Put(collection="_workspace", path="a.txt", content=b"one\n", at=clock.now(), author="anna")])
        yield opened


def make(store: SqliteStore, folder: Path, sandbox: RecordingSandbox) -> WorkspaceExec:
    workspace = DocumentWorkspace(
        store.documents,
        folder / "workspaces",
        folder_of=lambda agent: "",
        diff=lambda before, after, path, limit: unified(before, after, path, limit=limit),
        commit=store.commit,
    )
    return WorkspaceExec(
        workspace=workspace,
        sandbox=lambda session: sandbox,
        proxy_socket=lambda: "/run/out.sock",
        store=store,
        clock=ManualClock(),
        ids=SortableIds(),
    )


async def test_what_a_command_changed_is_kept_and_told(store: SqliteStore, tmp_path: Path) -> None:
    sandbox = RecordingSandbox(edit)
    ran = await make(store, tmp_path, sandbox).run("_workspace", "make", seconds=5, network=False, by=ANNA)
    assert (ran.code, ran.output, [change.path for change in ran.changes]) == (0, "done\n", ["out.txt"])
    found = await store.documents.get("_workspace", "out.txt")
    assert found is not None
    assert (found[1], found[0].author) == (b"made\n", "api:token")
    command, profile = sandbox.runs[0]
    assert (command.argv[-1], profile.network, profile.proxy_socket, profile.limits.seconds) == ("make", "none", "", 5)


async def test_each_command_stands_in_the_audit_log(store: SqliteStore, tmp_path: Path) -> None:
    await make(store, tmp_path, RecordingSandbox()).run("_workspace", "ls", seconds=5, network=True, by=ANNA)
    entries = await store.audit().entries()
    assert [(entry.kind, entry.actor, entry.outcome) for entry in entries] == [
        ("vault.exec", "api:token", "begun"),
        ("vault.exec", "api:token", "ended"),
    ]


async def test_without_a_fence_nothing_runs(store: SqliteStore, tmp_path: Path) -> None:
    sandbox = RecordingSandbox(edit, unavailable="no bubblewrap")
    with pytest.raises(SandboxUnavailable):
        await make(store, tmp_path, sandbox).run("_workspace", "ls", seconds=5, network=False, by=ANNA)
    assert sandbox.runs == []


async def test_others_and_other_collections_are_refused(store: SqliteStore, tmp_path: Path) -> None:
    sandbox = RecordingSandbox(edit)
    runs = make(store, tmp_path, sandbox)
    stranger = Principal(user=UserId(channel="device", stable_id="d"), role=EXTERNAL)
    with pytest.raises(NotAllowed):
        await runs.run("_workspace", "ls", seconds=5, network=False, by=stranger)
    with pytest.raises(BadInput):
        await runs.run("_memory", "ls", seconds=5, network=False, by=ANNA)
    assert sandbox.runs == []


async def test_a_stopped_house_runs_no_command_and_stops_the_one_that_runs(store: SqliteStore, tmp_path: Path) -> None:
    may_run = True

    class Endless:
        async def run(self, command: Command, profile: SandboxProfile) -> Exit:
            nonlocal may_run
            may_run = False
            await anyio.sleep_forever()
            raise AssertionError

    made = replace(make(store, tmp_path, RecordingSandbox()), may_run=lambda: may_run, clock=SystemClock())
    with pytest.raises(Busy, match="was stopped"):
        await replace(made, sandbox=lambda session: Endless()).run("_workspace", "x", seconds=5, network=False, by=ANNA)  # type: ignore[arg-type, return-value]
    with pytest.raises(Busy, match="is stopped"):
        await made.run("_workspace", "x", seconds=5, network=False, by=ANNA)
