"""The one live directory of a session: shared by its commands, followed, kept, and looked through after an interruption."""

# ruff: noqa: ASYNC240 - the tests stand in for the command that changes the files

from collections.abc import Sequence
from pathlib import Path

import pytest

from ostiary.adapters.workspace import DocumentWorkspace
from ostiary.adapters.workspace.mirror import Mirror
from ostiary.adapters.workspace.writes import conflict_name
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import Conflict, ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import DocumentVersion, Write
from ostiary.contracts.workspace import Use
from tests.conformance.tools.documents import MemoryDocuments
from tests.unit.adapters.workspace.support import MAIN, OTHER, OWN, WEB, taken, workspace

USE = Use(author="api:me", turn="turn_0", at=100.0, label=OWN)
LATER = Use(author="api:me", turn="turn_2", at=200.0, label=OWN)
ASIDE = "a.conflict-19700101T000320Z.md"


def house() -> MemoryDocuments:
    return MemoryDocuments().put("_workspace", "a.md", "one\n", label=OWN).put("_workspace", "b.md", "b\n", label=OWN)


class Counting(MemoryDocuments):
    """Counts how often everything is listed."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = 0

    async def list(self, collection: str, *, pattern: str = "**") -> tuple[DocumentVersion, ...]:
        self.listed += 1
        return await super().list(collection, pattern=pattern)


async def test_documents_are_followed_and_not_listed_again(tmp_path: Path) -> None:
    documents = Counting()
    documents.put("_workspace", "a.md", "one", label=OWN)
    held = workspace(documents, tmp_path)
    for number in range(4):
        async with held.lease(MAIN, access="rw") as lease:
            Path(lease.directory, "a.md").write_text(str(number))
            documents.commit((await taken(held, lease)).writes)
    assert (documents.text("a.md"), documents.listed) == ("3", 2)


@pytest.mark.parametrize("before", [0, 1, 1023, 1024, 1025, 5000])
async def test_a_mirror_begins_behind_everything_that_was_there(before: int) -> None:
    documents = MemoryDocuments()
    for number in range(before):
        documents.put("_other" if number % 3 else "_workspace", f"f{number % 50}", str(number))
    mirror = Mirror(documents, ("_workspace",))  # type: ignore[arg-type]
    await mirror.refresh()
    documents.put("_workspace", "new", "x").put("_workspace", "gone", "x").delete("_workspace", "gone")
    await mirror.refresh()
    living = {path for path, version in mirror.of("_workspace").items() if version.digest}
    assert living == {version.path for version in await documents.list("_workspace")}


async def test_commands_of_one_session_share_the_directory_and_what_the_first_did_is_kept_first(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path)
    async with held.lease(MAIN, access="rw", use=USE) as first:
        Path(first.directory, "made.md").write_text("by the first")
        async with held.lease(MAIN, access="rw", use=LATER) as second:
            assert (second.directory, documents.text("made.md")) == (first.directory, "by the first")
            Path(second.directory, "b.md").write_text("by the second")
            documents.commit((await taken(held, second)).writes)
    versions = await documents.list("_workspace", pattern="made.md")
    assert [(version.author, version.turn) for version in versions] == [("api:me", "turn_0")]
    assert documents.text("b.md") == "by the second"


async def test_what_is_kept_is_committed_with_the_labels_of_everybody_in_the_directory(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path)
    web = Use(author="api:me", turn="turn_9", at=100.0, label=WEB)
    async with held.lease(MAIN, access="rw", use=USE) as first, held.lease(MAIN, access="rw", use=web):
        Path(first.directory, "a.md").write_text("two\n")
        capture = await held.keep(first, at=150.0)
    (version,) = await documents.list("_workspace", pattern="a.md")
    assert (version.turn, version.label) == (
        "turn_0",
        Label(trust=Trust.UNTRUSTED, sources=("me", "web"), private=True),
    )
    assert [change.path for change in capture.changes] == ["a.md"]


async def test_a_running_command_gets_what_others_write_and_loses_nothing(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path)
    async with held.lease(MAIN, access="rw", use=USE) as lease:
        Path(lease.directory, "a.md").write_text("mine\n")
        documents.put("_workspace", "a.md", "theirs\n", label=WEB)
        await held.follow(lease, at=200.0)
        assert Path(lease.directory, "a.md").read_text() == "theirs\n"
        assert held.label_of(lease).trust is Trust.UNTRUSTED
    assert (documents.text("a.md"), documents.text(ASIDE)) == ("theirs\n", "mine\n")


async def test_following_keeps_nothing_as_long_as_nobody_else_writes(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path)
    async with held.lease(MAIN, access="rw", use=USE) as lease:
        Path(lease.directory, "a.md").write_text("half done")
        await held.follow(lease, at=200.0)
        assert documents.text("a.md") == "one\n"


async def test_keeping_goes_on_when_somebody_writes_in_between(tmp_path: Path) -> None:
    documents = house()
    rival = iter([True, False])

    async def commit(writes: Sequence[Write]) -> None:
        if next(rival, False):
            documents.put("_workspace", "a.md", "theirs\n", label=OWN)
        documents.commit(writes)

    held = workspace(documents, tmp_path, commit=commit)
    async with held.lease(MAIN, access="rw", use=USE) as lease:
        Path(lease.directory, "a.md").write_text("mine\n")
        Path(lease.directory, "b.md").write_text("mine too\n")
        capture = await held.keep(lease, at=200.0)
    assert (documents.text("a.md"), documents.text(ASIDE), documents.text("b.md")) == ("theirs\n", "mine\n", "mine too\n")
    assert len(capture.kept_aside) == 1


async def test_without_a_way_to_commit_nothing_is_kept(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path, commit=None)
    async with held.lease(MAIN, access="rw", use=USE) as lease:
        with pytest.raises(ToolError, match="cannot be kept"):
            await held.keep(lease, at=1.0)


async def interrupted(held: DocumentWorkspace) -> None:
    """A command that is cut off after it changed, made and deleted something."""
    async with held.lease(MAIN, access="rw", use=USE) as lease:
        Path(lease.directory, "a.md").write_text("half done\n")
        Path(lease.directory, "new.md").write_text("new\n")
        Path(lease.directory, "b.md").unlink()
        Path(lease.directory, "node_modules").mkdir()
        Path(lease.directory, "node_modules", "x.js").write_text("x")


@pytest.mark.parametrize("lives", [1, 2])
async def test_documents_win_over_an_interrupted_command_whose_files_are_kept_beside(tmp_path: Path, lives: int) -> None:
    documents = house()
    first = workspace(documents, tmp_path)
    await interrupted(first)
    held = (first, workspace(documents, tmp_path))[lives - 1]
    async with held.lease(MAIN, access="rw", use=LATER) as lease:
        found = sorted(path.name for path in Path(lease.directory).iterdir())
        assert found == [ASIDE, "a.md", "b.md", "new.conflict-19700101T000320Z.md", "node_modules"]
        assert Path(lease.directory, "a.md").read_text() == "one\n"
        assert lease.told == (
            f"a.md as {ASIDE} (its command was interrupted)",
            "new.md as new.conflict-19700101T000320Z.md (its command was interrupted)",
        )
        assert await taken(held, lease) == await taken(held, lease)
    versions = await documents.list("_workspace", pattern="*.conflict-*")
    assert {(version.author, version.turn, version.label) for version in versions} == {
        ("api:me", "turn_0", Label(trust=Trust.OWNER, sources=("me",), private=True))
    }
    assert documents.text(ASIDE) == "half done\n"


async def test_what_an_earlier_life_left_is_kept_beside_at_the_start(tmp_path: Path) -> None:
    documents = house()
    await interrupted(workspace(documents, tmp_path))
    held = workspace(documents, tmp_path)
    assert len(await held.recover(at=200.0)) == 2
    assert await held.recover(at=300.0) == ()
    assert documents.text(ASIDE) == "half done\n"
    async with held.lease(MAIN, access="rw", use=LATER) as lease:
        assert (lease.told, Path(lease.directory, "b.md").read_text()) == ((), "b\n")
        # It was there when the command was cut off, and its label stays with it.
        assert lease.label == Label(trust=Trust.OWNER, sources=("me",), private=True)


async def test_too_many_files_of_an_interrupted_command_are_counted(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path)
    async with held.lease(MAIN, access="rw", use=USE) as lease:
        for number in range(60):
            Path(lease.directory, f"f{number:02}.md").write_text(str(number))
    async with held.lease(MAIN, access="rw", use=LATER) as lease:
        assert lease.told[-1] == "10 more files of an interrupted command: too many, not kept"
    assert len(await documents.list("_workspace", pattern="*.conflict-*")) == 50


@pytest.mark.parametrize("lives", [1, 2])
async def test_what_was_captured_and_not_committed_is_kept_beside(tmp_path: Path, lives: int) -> None:
    documents = house()
    first = workspace(documents, tmp_path)
    async with first.lease(MAIN, access="rw", use=USE) as lease:
        Path(lease.directory, "a.md").write_text("mine\n")
        Path(lease.directory, "b.md").unlink()
        capture = await taken(first, lease)
    documents.put("_workspace", "a.md", "theirs\n", label=OWN)
    with pytest.raises(Conflict):
        documents.commit(capture.writes)
    held = (first, workspace(documents, tmp_path))[lives - 1]
    async with held.lease(MAIN, access="rw", use=LATER) as lease:
        assert lease.told == (f"a.md as {ASIDE} (its command's result was not recorded)",)
        assert (Path(lease.directory, "a.md").read_text(), Path(lease.directory, "b.md").read_text()) == ("theirs\n", "b\n")
    assert documents.text(ASIDE) == "mine\n"


async def test_what_was_committed_and_changed_again_is_not_kept_twice(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path)
    async with held.lease(MAIN, access="rw", use=USE) as lease:
        Path(lease.directory, "a.md").write_text("mine\n")
        documents.commit((await taken(held, lease)).writes)
    documents.put("_workspace", "a.md", "theirs\n", label=OWN)
    async with held.lease(MAIN, access="rw", use=LATER) as lease:
        assert (lease.told, Path(lease.directory, "a.md").read_text()) == ((), "theirs\n")


async def test_a_document_made_again_after_its_deletion_is_not_taken_for_lost(tmp_path: Path) -> None:
    documents = house().delete("_workspace", "a.md")
    held = workspace(documents, tmp_path)
    async with held.lease(MAIN, access="rw", use=USE) as lease:
        Path(lease.directory, "a.md").write_text("again\n")
        documents.commit((await taken(held, lease)).writes)
    async with held.lease(MAIN, access="rw", use=LATER) as lease:
        assert (lease.told, documents.text("a.md")) == ((), "again\n")


async def test_another_session_does_not_join(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw", use=USE) as first, held.lease(OTHER, access="rw", use=USE) as second:
        assert first.directory != second.directory


async def test_a_lease_that_is_over_keeps_nothing(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    async with held.lease(MAIN, access="rw", use=USE) as lease:
        pass
    with pytest.raises(ToolError, match="over"):
        await held.keep(lease, at=1.0)


async def test_more_directories_than_are_remembered_are_still_right(tmp_path: Path) -> None:
    documents = house()
    held = workspace(documents, tmp_path, scope=lambda session: "session")
    for number in (*range(12), *range(12)):
        async with held.lease(SessionKey("main", f"s{number}"), access="rw", use=USE) as lease:
            Path(lease.directory, f"{number}.md").write_text("x")
            documents.commit((await taken(held, lease)).writes)
    assert len(await documents.list("_workspace")) == 14


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("plan.md", "plan.conflict-19700101T000001Z.md"),
        ("x/.profile", "x/.profile.conflict-19700101T000001Z"),
        ("a.tar.gz", "a.tar.conflict-19700101T000001Z.gz"),
        ("taken.md", "taken.conflict-19700101T000001Z-2.md"),
    ],
)
def test_the_name_of_a_copy_says_what_and_when(path: str, name: str) -> None:
    assert conflict_name(path, 1.5, {"taken.conflict-19700101T000001Z.md"}) == name


def test_the_name_of_a_copy_is_never_too_long() -> None:
    name = conflict_name("é" * 120 + ".md", 1.0, ())
    assert (len(name.encode()) <= 255, name.endswith(".conflict-19700101T000001Z.md")) == (True, True)
