"""Documents laid out for a command, and what comes back of it."""

# ruff: noqa: ASYNC240 - the tests stand in for the command that changes the files

import os
import shutil
import socket
import stat
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.workspace import DocumentWorkspace, WorkspaceLimits
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import Busy, Conflict, ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Put, Tombstone
from ostiary.contracts.workspace import Capture
from tests.conformance.tools.documents import MemoryDocuments
from tests.unit.adapters.workspace.support import MAIN, OTHER, OWN, WEB, taken, workspace


def house() -> MemoryDocuments:
    documents = MemoryDocuments().put("_workspace", "a.md", "one\n", label=OWN)
    documents.put("_workspace", "src/run.sh", "#!/bin/sh\n", label=OWN, executable=True).put(
        "_workspace", ".env", "KEY=1", label=OWN
    )
    documents.put("_workspace", "memory.md", "secret", label=OWN)
    return documents.put("_bootstrap", "AGENTS.md", "be good", label=OWN).put("_workspace", "agents/helper/h.md", "h", label=OWN)


def many(count: int = 12) -> MemoryDocuments:
    documents = MemoryDocuments()
    for number in range(count):
        documents.put("_workspace", f"f{number}.md", str(number), label=OWN)
    return documents


def found(directory: str) -> list[str]:
    root = Path(directory)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


async def ran(held: DocumentWorkspace, *deeds: tuple[str, str | None], label: Label = OWN) -> Capture:
    """A command that writes these files (None: deletes)."""
    async with held.lease(MAIN, access="rw") as lease:
        for path, content in deeds:
            place = Path(lease.directory, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            place.write_text(content) if content is not None else None
        return await taken(held, lease, label)


async def test_documents_lie_in_a_private_directory_without_what_is_not_for_commands(tmp_path: Path) -> None:
    async with workspace(house(), tmp_path).lease(MAIN, access="rw") as lease:
        assert found(lease.directory) == ["a.md", "agents/helper/h.md", "src/run.sh"]
        assert set(lease.base) == {"a.md", "agents/helper/h.md", "src/run.sh"}
        assert stat.S_IMODE(Path(lease.directory).stat().st_mode) == 0o700
        assert stat.S_IMODE(Path(lease.directory, "a.md").stat().st_mode) == 0o600
        assert (lease.label.trust, lease.label.private) == (Trust.OWNER, True)


async def test_memory_is_laid_out_only_in_private_sessions(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path, is_private=lambda session: session == MAIN)
    async with held.lease(MAIN, access="rw") as lease:
        assert "memory.md" in lease.base
        await taken(held, lease)
    async with held.lease(SessionKey("main", "group"), access="rw") as lease:
        assert "memory.md" not in found(lease.directory)


async def test_an_agent_sees_its_own_documents_only(tmp_path: Path) -> None:
    async with workspace(house(), tmp_path).lease(SessionKey("helper", "main"), access="rw") as lease:
        assert found(lease.directory) == ["h.md"]


async def test_with_no_access_nothing_is_laid_out_and_nothing_taken(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="none") as lease:
        assert (found(lease.directory), lease.base, lease.agent_directory) == ([], {}, "")
        Path(lease.directory, "x").write_text("x")
        assert await taken(held, lease) == Capture(writes=(), changes=())


async def test_with_read_access_the_documents_lie_beside_the_scratch_directory(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="ro") as lease:
        assert (found(lease.directory), "a.md" in found(lease.agent_directory)) == ([], True)
        Path(lease.directory, "x").write_text("x")
        assert (await taken(held, lease)).writes == ()


async def test_scratch_keeps_the_label_of_who_left_something_there(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="none") as lease:
        Path(lease.directory, "x").write_text("from the web")
        await taken(held, lease, WEB)
    async with held.lease(MAIN, access="none") as lease:
        assert (lease.label.trust, lease.label.sources) == (Trust.UNTRUSTED, ("web",))


async def test_changes_come_back_as_versions_with_the_label_of_both(tmp_path: Path) -> None:
    documents = house()
    capture = await ran(workspace(documents, tmp_path), ("a.md", "two\n"), ("new/b.md", "b\n"), ("src/run.sh", None), label=WEB)
    label = Label(trust=Trust.UNTRUSTED, sources=("me", "web"), private=True)
    common = {"collection": "_workspace", "at": 5.0, "author": "api:me", "turn": "turn_1"}
    assert capture.writes == (
        Put(path="a.md", content=b"two\n", label=label, expect_version=1, executable=False, **common),  # type: ignore[arg-type]
        Put(path="new/b.md", content=b"b\n", label=label, expect_version=0, executable=False, **common),  # type: ignore[arg-type]
        Tombstone(path="src/run.sh", expect_version=1, **common),  # type: ignore[arg-type]
    )
    assert [(change.path, change.change, change.size) for change in capture.changes] == [
        ("a.md", "changed", 4),
        ("new/b.md", "added", 2),
        ("src/run.sh", "deleted", 0),
    ]
    assert capture.changes[0].diff == "--- a.md\n+++ a.md\n@@ -1,1 +1,1 @@\n-one\n+two\n"


async def test_nothing_changed_gives_nothing(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    assert await ran(held) == await ran(held) == Capture(writes=(), changes=())


async def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        place = Path(lease.directory, "a.md")
        before = place.stat()
        place.write_text("eno\n")
        os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert [change.path for change in (await taken(held, lease)).changes] == ["a.md"]


async def test_the_directory_is_kept_and_follows_the_documents(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path)
    documents.commit((await ran(held, ("b.md", "b"))).writes)
    documents.put("_workspace", "a.md", "three\n", label=OWN).put("_workspace", "c/d.md", "d", label=OWN)
    documents.delete("_workspace", "b.md")
    async with held.lease(MAIN, access="rw") as lease:
        assert found(lease.directory) == ["a.md", "agents/helper/h.md", "c/d.md", "src/run.sh"]
        assert Path(lease.directory, "a.md").read_text() == "three\n"
        assert await taken(held, lease) == Capture(writes=(), changes=())


async def test_the_executable_bit_is_part_of_a_version(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        assert os.access(Path(lease.directory, "src/run.sh"), os.X_OK)
        Path(lease.directory, "a.md").chmod(0o700)
        Path(lease.directory, "src/run.sh").chmod(0o600)
        capture = await taken(held, lease)
    documents.commit(capture.writes)
    assert [change.diff for change in capture.changes] == [
        "old mode 100644\nnew mode 100755\n",
        "old mode 100755\nnew mode 100644\n",
    ]
    assert [version.executable for version in await documents.list("_workspace", pattern="*.md")] == [True, False]
    documents.put("_workspace", "a.md", "other", label=OWN)
    async with held.lease(MAIN, access="rw") as lease:
        assert stat.S_IMODE(Path(lease.directory, "a.md").stat().st_mode) == 0o700
        assert stat.S_IMODE(Path(lease.directory, "src/run.sh").stat().st_mode) == 0o600
        assert (await taken(held, lease)).writes == ()


async def test_what_loses_against_somebody_else_is_kept_beside(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        Path(lease.directory, "a.md").write_text("mine")
        Path(lease.directory, "src/run.sh").unlink()
        documents.put("_workspace", "a.md", "theirs", label=OWN).put("_workspace", "src/run.sh", "#!/bin/true", label=OWN)
        capture = await taken(held, lease)
    documents.commit(capture.writes)
    assert (documents.text("a.md"), documents.text("a.conflict-19700101T000005Z.md")) == ("theirs", "mine")
    assert documents.text("src/run.sh") == "#!/bin/true"
    assert capture.kept_aside == ("a.md as a.conflict-19700101T000005Z.md (somebody else changed it meanwhile)",)
    assert capture.refused == ("src/run.sh: somebody else changed it meanwhile, so it was not deleted",)
    async with held.lease(MAIN, access="rw") as lease:
        assert Path(lease.directory, "a.md").read_text() == "theirs"
        assert await taken(held, lease) == Capture(writes=(), changes=())


async def test_a_change_of_what_somebody_else_deleted_is_kept_beside(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        Path(lease.directory, "a.md").write_text("mine")
        documents.delete("_workspace", "a.md")
        documents.commit((await taken(held, lease)).writes)
    assert (documents.text("a.md"), documents.text("a.conflict-19700101T000005Z.md")) == (None, "mine")


async def test_what_somebody_else_writes_in_the_last_moment_is_a_conflict(tmp_path: Path) -> None:
    documents = house()
    capture = await ran(workspace(documents, tmp_path), ("a.md", "mine"))
    documents.put("_workspace", "a.md", "theirs", label=OWN)
    with pytest.raises(Conflict):
        documents.commit(capture.writes)


async def test_links_devices_and_second_names_are_not_taken(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("outside")
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        root = Path(lease.directory)
        (root / "link").symlink_to(secret)
        (root / "folder").symlink_to(tmp_path)
        os.link(secret, root / "hard")
        os.mkfifo(root / "pipe")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(root / "sock"))
        capture = await taken(held, lease)
    assert capture.writes == ()
    assert set(capture.refused) == {
        "link: it is a link",
        "folder: it is a link",
        "hard: it has several names (hard links)",
        "pipe: it is a pipe",
        "sock: it is a socket",
    }


async def test_what_stays_behind_is_told_once(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        Path(lease.directory, "link").symlink_to("/etc/passwd")
        assert (await taken(held, lease)).refused == ("link: it is a link",)
    async with held.lease(MAIN, access="rw") as lease:
        Path(lease.directory, "other").symlink_to("/etc/passwd")
        assert (await taken(held, lease)).refused == ("other: it is a link",)


async def test_a_document_replaced_by_a_link_is_neither_followed_nor_deleted(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("outside")
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        root = Path(lease.directory)
        (root / "a.md").unlink()
        (root / "a.md").symlink_to(secret)
        (root / "src" / "run.sh").unlink()
        (root / "src").rmdir()
        (root / "src").symlink_to(tmp_path)
        assert (await taken(held, lease)).writes == ()
    async with held.lease(MAIN, access="rw") as lease:
        assert Path(lease.directory, "src/run.sh").read_text() == "#!/bin/sh\n"
        assert not Path(lease.directory, "src").is_symlink()
        assert not Path(lease.directory, "a.md").is_symlink()
    assert (secret.read_text(), (tmp_path / "run.sh").exists()) == ("outside", False)


async def test_a_folder_where_a_document_should_be_gives_way(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        Path(lease.directory, "a.md").unlink()
        Path(lease.directory, "a.md").mkdir()
        capture = await taken(held, lease)
    assert [type(write) for write in capture.writes] == [Tombstone]
    async with held.lease(MAIN, access="rw") as lease:
        assert Path(lease.directory, "a.md").read_text() == "one\n"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"line\nbreak", "control or invisible"),
        (b"\xff\xfe", "not UTF-8"),
        (b"cafe\xcc\x81", "NFC"),
        (b"bi\xe2\x80\xaedi", "control or invisible"),
        (b"back\\slash", "control or invisible"),
        (b"A.md", "differs only in case from a.md"),
        (b"AGENTS.md", "owner's own"),
        (b"agents.md", "owner's own"),
        (b"MEMORY.md", "private conversations"),
        (b"new.env", "protected: it may hold secrets"),
    ],
)
async def test_names_that_cannot_or_may_not_be_documents_are_not_taken(tmp_path: Path, name: bytes, reason: str) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        Path(os.fsdecode(os.path.join(os.fsencode(lease.directory), name))).write_text("x")
        capture = await taken(held, lease)
    assert (capture.writes, len(capture.refused)) == ((), 1)
    assert reason in capture.refused[0]


async def test_a_file_that_is_too_big_is_not_taken(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path, limits=WorkspaceLimits(file_bytes=100))
    capture = await ran(held, ("big", "x" * 101), ("small", "x"))
    assert [write.path for write in capture.writes if isinstance(write, Put)] == ["small"]
    assert capture.refused == ("big: it is too big (101 bytes, at most 100)",)


async def test_more_than_can_be_taken_at_once_is_not_taken(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path, limits=WorkspaceLimits(taken_bytes=10))
    capture = await ran(held, ("x", "x" * 8), ("y", "y" * 8))
    assert capture.refused == ("y: too much was changed at once",)


@pytest.mark.parametrize("limits", [WorkspaceLimits(files=10), WorkspaceLimits(bytes=40_000)])
async def test_a_directory_beyond_its_limits_gives_nothing(tmp_path: Path, limits: WorkspaceLimits) -> None:
    held = workspace(house(), tmp_path, limits=limits)
    with pytest.raises(ToolError, match="beyond its limits"):
        await ran(held, *((f"x{number}", "x" * 10_000) for number in range(10)))
    async with held.lease(MAIN, access="rw") as lease:
        assert "x0" not in found(lease.directory)


async def test_documents_beyond_the_limits_are_not_laid_out(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="too big"):
        async with workspace(many(), tmp_path, limits=WorkspaceLimits(files=5)).lease(MAIN, access="rw"):
            pass


async def test_a_folder_too_deep_is_left_alone(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path, limits=WorkspaceLimits(depth=3))
    capture = await ran(held, ("1/2/3/4/5.md", "x"))
    assert (capture.writes, capture.refused) == ((), ("1/2/3/4: its path is too long",))


async def test_an_empty_directory_deletes_nothing(tmp_path: Path) -> None:
    documents = many()
    held = workspace(documents, tmp_path)
    capture = await ran(held, *((f"f{number}.md", None) for number in range(12)))
    assert capture.writes == ()
    assert capture.refused == ("12 files: the directory is empty; delete them by name if that is meant",)
    async with held.lease(MAIN, access="rw") as lease:
        assert len(found(lease.directory)) == 12


async def test_a_directory_that_vanished_deletes_nothing(tmp_path: Path) -> None:
    held = workspace(MemoryDocuments().put("_workspace", "only.md", "x", label=OWN), tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        shutil.rmtree(lease.directory)
        capture = await taken(held, lease)
    assert (capture.writes, capture.refused[0][:8]) == ((), "1 files:")


async def test_a_document_that_grew_beyond_the_limits_is_as_before_at_the_next_use(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path, limits=WorkspaceLimits(file_bytes=100))
    assert (await ran(held, ("a.md", "x" * 101))).refused == ("a.md: it is too big (101 bytes, at most 100)",)
    async with held.lease(MAIN, access="rw") as lease:
        assert Path(lease.directory, "a.md").read_text() == "one\n"


async def test_deleting_some_of_many_is_taken(tmp_path: Path) -> None:
    capture = await ran(workspace(many(), tmp_path), *((f"f{number}.md", None) for number in range(11)))
    assert len(capture.writes) == 11


async def test_a_folder_that_cannot_be_read_deletes_nothing(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        Path(lease.directory, "src").chmod(0)
        Path(lease.directory, "a.md").chmod(0)
        assert (await taken(held, lease)).writes == ()


async def test_folders_of_tools_stay_but_are_not_taken(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    assert (await ran(held, ("node_modules/x/index.js", "x"), ("sub/__pycache__/y.pyc", "y"), label=WEB)).writes == ()
    async with held.lease(MAIN, access="rw") as lease:
        assert "node_modules/x/index.js" in found(lease.directory)
        assert lease.label.sources == ("me", "web")


async def test_documents_inside_of_documents_are_left_out_and_kept(tmp_path: Path) -> None:
    documents = house().put("_workspace", "a.md/inside", "x", label=OWN)
    held = workspace(documents, tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        assert "a.md/inside" not in lease.base
        assert (await taken(held, lease)).writes == ()


async def test_two_commands_at_once_have_a_directory_each(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw") as first, held.lease(OTHER, access="rw") as second:
        assert first.directory != second.directory
        assert found(first.directory) == found(second.directory)


async def test_who_finds_every_copy_in_use_is_told_to_wait(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path, limits=WorkspaceLimits(copies=1, wait_seconds=0.01))
    async with held.lease(MAIN, access="rw"):
        with pytest.raises(Busy, match="in use"):
            async with held.lease(OTHER, access="rw"):
                pass


async def test_who_waits_gets_the_directory_when_it_is_free(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path, limits=WorkspaceLimits(copies=1))
    order: list[str] = []

    async def second() -> None:
        async with held.lease(OTHER, access="rw"):
            order.append("second")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group, held.lease(MAIN, access="rw"):
            group.start_soon(second)
            await anyio.wait_all_tasks_blocked()
            order.append("first")
    assert order == ["first", "second"]


@pytest.mark.parametrize(
    ("scope", "same"),
    [("session", [False, False]), ("agent", [True, False]), ("shared", [True, True])],
)
async def test_the_scope_says_who_shares_a_directory(tmp_path: Path, scope: str, same: list[bool]) -> None:
    held = workspace(house(), tmp_path, scope=lambda session: scope)
    places = []
    for session in (MAIN, SessionKey("main", "other/../x"), SessionKey("helper", "main")):
        async with held.lease(session, access="none") as lease:
            places.append(lease.directory)
            assert Path(lease.directory).resolve().is_relative_to(tmp_path / "workspaces")
    assert [place == places[0] for place in places[1:]] == same


async def test_an_agent_whose_name_is_a_path_gets_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no id"):
        async with workspace(house(), tmp_path).lease(SessionKey("../../x", "main"), access="none"):
            pass


async def test_a_directory_can_be_removed_unless_it_is_in_use(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        with pytest.raises(ToolError, match="in use"):
            await held.remove(MAIN)
        Path(lease.directory, "src").chmod(0)
    await held.remove(MAIN)
    assert list((tmp_path / "workspaces").iterdir()) == []


async def test_directories_that_nobody_uses_are_tidied_away(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    await ran(held)
    used = max(path.stat().st_mtime for path in (tmp_path / "workspaces").rglob("*.json"))
    assert await held.tidy(unused_seconds=100, now=used + 50) == 0
    assert await held.tidy(unused_seconds=100, now=used + 150) == 1
    assert list((tmp_path / "workspaces").iterdir()) == []


async def test_a_directory_that_is_in_use_or_holds_what_nobody_has_kept_is_not_tidied_away(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw") as lease:
        later = Path(lease.directory).stat().st_mtime + 1000
        assert await held.tidy(unused_seconds=100, now=later) == 0
        # As a later life finds it after a crash in the middle of a command.
        assert await workspace(house(), tmp_path).tidy(unused_seconds=100, now=later) == 0
        assert Path(lease.directory, "a.md").exists()


@pytest.mark.parametrize("broken", ["", "{}", '{"schema": 1, "files": {"a": 3}}', "[]"])
async def test_a_broken_index_is_not_believed(tmp_path: Path, broken: str) -> None:
    held = workspace(house(), tmp_path)
    await ran(held)
    index = next((tmp_path / "workspaces").rglob("rw.json"))
    Path(index.parent, "files", "a.md").write_text("wrong")
    index.write_text(broken)
    async with workspace(house(), tmp_path).lease(MAIN, access="rw") as lease:
        assert Path(lease.directory, "a.md").read_text() == "one\n"
