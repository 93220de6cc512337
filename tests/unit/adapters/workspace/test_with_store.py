"""A command's changes, committed to the real store and taken back."""
# ruff: noqa: ASYNC240 - the test stands in for the command that changes the files

from pathlib import Path

from ostiary.adapters.store.sqlite import open_store
from ostiary.adapters.workspace import DocumentWorkspace
from ostiary.contracts.store import Put
from ostiary.core.sessions.undo import plan_undo
from ostiary.kit.clock import ManualClock
from tests.conformance.tools.tools import folder_of
from tests.unit.adapters.workspace.support import MAIN, OWN, diff, taken


async def test_what_a_turn_changed_by_commands_is_undone(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", bytes(range(32)), clock=ManualClock()) as store:
        documents = store.documents
        first = Put(collection="_workspace", path="a/b.md", content=b"one\n", at=1.0, author="me", turn="turn_0", label=OWN)
        await store.commit([first])
        held = DocumentWorkspace(documents, tmp_path / "workspaces", folder_of=folder_of, diff=diff)
        for content in ("two\n", "three\n"):
            async with held.lease(MAIN, access="rw") as lease:
                Path(lease.directory, "a/b.md").write_text(content)
                Path(lease.directory, "new.md").write_text(content)
                await store.commit((await taken(held, lease)).writes)
        undo = await plan_undo(documents, "turn_1", at=9.0, author="me", turn="turn_2")
        await store.commit(undo.writes)
        assert (undo.restored, undo.deleted, undo.conflicts) == (("a/b.md",), ("new.md",), ())
        async with held.lease(MAIN, access="rw") as lease:
            root = Path(lease.directory)
            assert [str(path.relative_to(root)) for path in sorted(root.rglob("*.md"))] == ["a/b.md"]
            assert (root / "a/b.md").read_text() == "one\n"
