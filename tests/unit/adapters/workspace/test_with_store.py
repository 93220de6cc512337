"""A command's changes, committed to the real store and taken back."""
# ruff: noqa: ASYNC240 - the test stands in for the command that changes the files

from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import SqliteStore, StoreLimits, open_store
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


async def _living(store: SqliteStore) -> list[str]:
    return [version.path for version in await store.documents.list("_workspace")]


async def test_a_file_renamed_in_case_alone_is_renamed(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", bytes(range(32)), clock=ManualClock()) as store:
        await store.commit([Put(collection="_workspace", path="readme.md", content=b"one\n", at=1.0, author="me", label=OWN)])
        held = DocumentWorkspace(store.documents, tmp_path / "workspaces", folder_of=folder_of, diff=diff)
        async with held.lease(MAIN, access="rw") as lease:
            Path(lease.directory, "readme.md").rename(Path(lease.directory, "README.md"))
            await store.commit((await taken(held, lease)).writes)
        assert await _living(store) == ["README.md"]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("Data/x.md",), "data is a file, not a folder"),
        (("FOLDER",), "it is the folder of folder/in.md"),
        (("\ufb01le.md", "file.md"), "differs only in Unicode form from file.md"),
        (("new.md", "NEW.md"), "differs only in case from NEW.md"),
    ],
)
async def test_a_name_that_no_document_can_have_stays_in_the_directory_and_holds_up_nothing_else(
    tmp_path: Path, names: tuple[str, ...], reason: str
) -> None:
    async with open_store(tmp_path / "store.db", bytes(range(32)), clock=ManualClock()) as store:
        for path in ("data", "folder/in.md"):
            await store.commit([Put(collection="_workspace", path=path, content=b"one\n", at=1.0, author="me", label=OWN)])
        held = DocumentWorkspace(store.documents, tmp_path / "workspaces", folder_of=folder_of, diff=diff)
        async with held.lease(MAIN, access="rw") as lease:
            for name in (*names, "other.md"):
                place = Path(lease.directory, name)
                place.parent.mkdir(exist_ok=True)
                place.write_text(name)
            capture = await taken(held, lease)
            await store.commit(capture.writes)
        assert reason in " ".join(capture.refused)
        assert "other.md" in await _living(store)
        async with held.lease(MAIN, access="rw") as lease:
            assert all(Path(lease.directory, name).read_text() == name for name in names)
            assert (await taken(held, lease)).writes == ()


async def test_a_name_that_somebody_took_meanwhile_stays_in_the_directory(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", bytes(range(32)), clock=ManualClock()) as store:
        held = DocumentWorkspace(store.documents, tmp_path / "workspaces", folder_of=folder_of, diff=diff)
        async with held.lease(MAIN, access="rw") as lease:
            Path(lease.directory, "plan.md").write_text("mine")
            Path(lease.directory, "other.md").write_text("other")
            theirs = Put(collection="_workspace", path="PLAN.md", content=b"theirs", at=1.0, author="me", label=OWN)
            await store.commit([theirs])
            capture = await taken(held, lease)
            await store.commit(capture.writes)
        assert capture.refused == ("plan.md: its name differs only in case from PLAN.md",)
        assert await _living(store) == ["PLAN.md", "other.md"]
        async with held.lease(MAIN, access="rw") as lease:
            assert Path(lease.directory, "plan.md").read_text() == "mine"
            assert Path(lease.directory, "PLAN.md").read_text() == "theirs"


async def test_an_interrupted_command_that_left_impossible_names_does_not_stop_the_next(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", bytes(range(32)), clock=ManualClock()) as store:
        await store.commit([Put(collection="_workspace", path="data", content=b"one\n", at=1.0, author="me", label=OWN)])
        held = DocumentWorkspace(store.documents, tmp_path / "workspaces", folder_of=folder_of, diff=diff, commit=store.commit)
        async with held.lease(MAIN, access="rw") as lease:
            Path(lease.directory, "Data").mkdir()
            Path(lease.directory, "Data", "x.md").write_text("an hour of work")
        async with held.lease(MAIN, access="rw") as lease:
            assert "Data/x.md as conflict-" in lease.told[0]
        kept = next(path for path in await _living(store) if path.startswith("conflict-"))
        found = await store.documents.get("_workspace", kept)
        assert found is not None
        assert found[1] == b"an hour of work"


async def test_what_the_store_refuses_of_an_interrupted_command_is_told_and_the_rest_kept(tmp_path: Path) -> None:
    limits = StoreLimits(document_bytes=1000)
    async with open_store(tmp_path / "store.db", bytes(range(32)), clock=ManualClock(), limits=limits) as store:
        held = DocumentWorkspace(store.documents, tmp_path / "workspaces", folder_of=folder_of, diff=diff, commit=store.commit)
        async with held.lease(MAIN, access="rw") as lease:
            Path(lease.directory, "large.md").write_text("x" * 2000)
            Path(lease.directory, "small.md").write_text("small")
        async with held.lease(MAIN, access="rw") as lease:
            assert [told.startswith("not kept: ") for told in lease.told] == [True, False]
        (kept,) = await _living(store)
        assert kept.startswith("small.conflict-")
