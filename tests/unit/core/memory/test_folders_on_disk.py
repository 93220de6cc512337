"""Folders on disk kept in memory, with a real store and a real disk."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.assembly import memory_folders
from ostiary.assembly.config.load import understand
from ostiary.assembly.config.memory import Memory
from ostiary.assembly.memory_folders import FolderSync, Watched, read_file, scan, watch_folders, watched_folders
from ostiary.contracts.errors import BadInput, ConfigInvalid
from ostiary.core.memory.folders import Folder
from ostiary.kit.clock import ManualClock


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with open_store(tmp_path / "store.db", bytes(range(32)), clock=ManualClock()) as opened:
        yield opened


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("Ana is my sister.\n")
    (folder / "deep" / "b.txt").write_text("Ben is my brother.\n")
    return folder


def syncing(store: SqliteStore, notes: Path) -> FolderSync:
    watched = Watched(directory=notes, folder=Folder(prefix="mine"))
    return FolderSync(watched, store=store, documents=store.documents, clock=ManualClock())


async def paths(store: SqliteStore) -> list[str]:
    return [version.path for version in await store.documents.list("_memory")]


async def test_a_folder_is_taken_in_and_kept_up_to_date(store: SqliteStore, notes: Path) -> None:
    sync = syncing(store, notes)
    first = await sync.look()
    assert (first.put, await paths(store)) == (2, ["mine/a.md", "mine/deep/b.txt"])
    (notes / "a.md").write_text("Ana is my younger sister.\n")
    (notes / "deep" / "b.txt").unlink()
    second = await sync.look()
    assert (second.put, second.deleted, await paths(store)) == (1, 1, ["mine/a.md"])
    assert (await sync.look()).put == 0


async def test_another_process_does_not_put_the_same_again(store: SqliteStore, notes: Path) -> None:
    await syncing(store, notes).look()
    again = await syncing(store, notes).look()
    assert again.put == 0
    assert len(await store.documents.history("_memory", "mine/a.md")) == 1


async def test_links_hidden_files_and_other_kinds_are_left_out(store: SqliteStore, notes: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("not yours")
    (notes / "link.md").symlink_to(secret)
    (notes / "folder").symlink_to(tmp_path)
    (notes / ".hidden.md").write_text("x")
    (notes / "program.exe").write_bytes(b"MZ")
    os.mkfifo(notes / "pipe.md")
    await syncing(store, notes).look()
    assert await paths(store) == ["mine/a.md", "mine/deep/b.txt"]
    assert read_file(notes, "link.md") is None
    assert read_file(notes, "pipe.md") is None


async def test_files_too_big_and_names_that_cannot_be_are_told(
    store: SqliteStore, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_folders, "TEXT_BYTES", 100)
    (notes / "big.md").write_text("x" * 101)
    (notes / "bad\u202ename.md").write_text("x")
    (notes / "A.md").write_text("differs from a.md by case alone")
    looked = await syncing(store, notes).look()
    told = "\n".join(looked.skipped)
    assert "big.md: larger than" in told
    assert "characters nobody sees" in told
    assert "mine/a.md" in "\n".join(await paths(store)).lower()


async def test_many_files_come_in_several_units_and_tell_how_far_it_is(store: SqliteStore, notes: Path) -> None:
    for number in range(450):
        (notes / f"n{number}.md").write_text(f"note {number}")
    told: list[tuple[int, int]] = []
    looked = await syncing(store, notes).look(lambda done, of: told.append((done, of)))
    assert looked.put == 452
    assert told[-1] == (452, 452)
    assert len(told) == 3


async def test_a_folder_that_is_not_there_is_said_and_deletes_nothing(store: SqliteStore, notes: Path, tmp_path: Path) -> None:
    sync = syncing(store, notes)
    await sync.look()
    os.rename(notes, tmp_path / "elsewhere")
    with pytest.raises(BadInput, match="cannot be read"):
        await sync.look()
    assert len(await paths(store)) == 2
    with pytest.raises(BadInput, match="not a folder"):
        scan(tmp_path / "store.db")


async def test_the_watch_goes_on_after_a_fault(store: SqliteStore, notes: Path, tmp_path: Path) -> None:
    clock = ManualClock()
    folders = [
        Watched(directory=tmp_path / "missing", folder=Folder(prefix="missing")),
        Watched(directory=notes, folder=Folder(prefix="mine")),
    ]
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: watch_folders(folders, store=store, documents=store.documents, clock=clock))
        with anyio.fail_after(5):
            while len(await paths(store)) < 2:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()


def configured(*folders: dict[str, str]) -> Memory:
    text = json.dumps({"memory": {"extraFolders": folders}})
    return understand(text, {}, source=Path("ostiary.json5")).config.memory


def test_the_configuration_names_the_folders() -> None:
    memory = configured({"path": "/srv/notes", "as": "work"}, {"path": "/srv/x", "as": "got/it", "trust": "untrusted"})
    assert [(each.directory, each.folder.prefix, each.folder.is_trusted) for each in watched_folders(memory)] == [
        (Path("/srv/notes"), "work", True),
        (Path("/srv/x"), "got/it", False),
    ]


@pytest.mark.parametrize("prefix", ["", "/abs", "memory", "memory/shared", "agents/x", "a/../b", "a//b", "MEMORY.md", "*"])
def test_a_folder_cannot_take_the_place_of_memory_itself(prefix: str) -> None:
    with pytest.raises(ConfigInvalid):
        configured({"path": "/srv/notes", "as": prefix})
