"""Folders of notes: what is taken, what is left, what is never deleted."""

from dataclasses import replace

from ostiary.contracts.content import Trust
from ostiary.contracts.store import DocumentVersion
from ostiary.core.memory.folders import Folder, Known, SeenFile, delete_file, plan_folder, put_file

NOTES = Folder(prefix="notes")


def seen(*paths: str) -> list[SeenFile]:
    return [SeenFile(path=path, size=1, modified=1) for path in paths]


def stored(*paths: str, digest: str = "d") -> dict[str, DocumentVersion]:
    return {
        f"notes/{path}": DocumentVersion(
            collection="_memory",
            path=f"notes/{path}",
            version=2,
            digest=digest,
            size=1,
            at=1.0,
            author="folder",
            label=NOTES.label,
        )
        for path in paths
    }


def test_only_what_changed_is_read() -> None:
    known = Known(files={"a.md": (1, 1), "b.md": (1, 0), "gone-from-store.md": (1, 1)})
    plan = plan_folder(NOTES, seen("a.md", "b.md", "new.md", "gone-from-store.md"), known, stored("a.md", "b.md"), deletes=True)
    assert plan.read == ("b.md", "new.md", "gone-from-store.md")
    assert plan.unchanged == 1


def test_what_left_the_folder_is_deleted_with_the_version_it_had() -> None:
    plan = plan_folder(NOTES, seen("a.md"), Known(), stored("a.md", "b.md"), deletes=True)
    assert [version.path for version in plan.gone] == ["notes/b.md"]
    assert delete_file(NOTES, plan.gone[0], at=5.0).expect_version == 2
    assert plan_folder(NOTES, seen("a.md"), Known(), stored("a.md", "b.md"), deletes=False).gone == ()


def test_a_folder_that_seems_empty_deletes_nothing() -> None:
    plan = plan_folder(NOTES, [], Known(), stored(*(f"{number}.md" for number in range(20))), deletes=True)
    assert plan.gone == ()
    assert "20 of 20" in plan.problem


def test_two_spellings_of_one_name_are_one_document() -> None:
    plan = plan_folder(NOTES, seen("Cafe\u0301.md"), Known(files={"Cafe\u0301.md": (1, 1)}), stored("Café.md"), deletes=True)
    assert (plan.read, plan.gone) == ((), ())


def test_the_same_content_is_not_put_again() -> None:
    there = stored("a.md", digest="same")["notes/a.md"]
    assert put_file(NOTES, "a.md", b"x", "same", there, at=1.0) is None
    assert put_file(NOTES, "a.md", b"y", "other", there, at=1.0) is not None
    assert put_file(Folder(prefix="notes", is_trusted=False), "a.md", b"x", "same", there, at=1.0) is not None


def test_a_folder_of_others_is_untrusted() -> None:
    assert NOTES.label.trust is Trust.OWNER
    assert Folder(prefix="downloads", is_trusted=False).label.trust is Trust.UNTRUSTED


def test_what_somebody_else_put_beside_them_is_left_alone() -> None:
    beside = {path: replace(version, author="telegram:1") for path, version in stored("mine.md").items()}
    plan = plan_folder(NOTES, seen("a.md"), Known(), stored("a.md", "b.md") | beside, deletes=True)
    assert [version.path for version in plan.gone] == ["notes/b.md"]
