import hashlib
from dataclasses import replace

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.store import DocumentVersion, Put, Tombstone
from ostiary.core.sessions.undo import Undo, plan_undo, undo_writes

OWN = Label(trust=Trust.OWNER, sources=("me",))


def version(number: int, content: str | None = "", *, path: str = "a.md", turn: str = "") -> DocumentVersion:
    raw = (content or "").encode()
    digest = "" if content is None else hashlib.sha256(raw).hexdigest()
    return DocumentVersion(
        collection="_workspace",
        path=path,
        version=number,
        digest=digest,
        size=len(raw),
        at=1.0,
        author="x",
        turn=turn,
        label=OWN,
    )


def undo(changed: list[DocumentVersion], current: DocumentVersion, old: DocumentVersion | None = None, content: str = "") -> Undo:
    place = ("_workspace", "a.md")
    before = {} if old is None else {place: (old, content.encode())}
    return undo_writes(changed, {place: current}, before, at=9.0, author="owner", turn="turn_u")


def test_a_changed_document_becomes_what_it_was_before_the_turn() -> None:
    done = undo([version(2, "b"), version(3, "c")], version(3, "c"), version(1, "a"), "a")
    assert done.restored == ("a.md",)
    assert done.writes == (
        Put(
            collection="_workspace",
            path="a.md",
            content=b"a",
            at=9.0,
            author="owner",
            turn="turn_u",
            label=OWN,
            expect_version=3,
            executable=False,
        ),
    )


def test_a_document_that_was_only_made_executable_is_plain_again() -> None:
    done = undo([replace(version(2, "a"), executable=True)], replace(version(2, "a"), executable=True), version(1, "a"), "a")
    assert [getattr(write, "executable", None) for write in done.writes] == [False]


def test_a_document_that_the_turn_made_is_deleted() -> None:
    done = undo([version(1, "a")], version(1, "a"))
    assert done.deleted == ("a.md",)
    assert done.writes == (
        Tombstone(collection="_workspace", path="a.md", at=9.0, author="owner", turn="turn_u", expect_version=1),
    )


def test_a_document_that_the_turn_deleted_comes_back() -> None:
    done = undo([version(2, None)], version(2, None), version(1, "a"), "a")
    assert (done.restored, [type(write) for write in done.writes]) == (("a.md",), [Put])


def test_a_document_made_again_over_a_tombstone_is_deleted_again() -> None:
    assert undo([version(3, "c")], version(3, "c"), version(2, None)).deleted == ("a.md",)


def test_a_document_made_and_deleted_by_the_turn_needs_nothing() -> None:
    assert undo([version(1, "a"), version(2, None)], version(2, None)) == Undo()


def test_a_document_that_is_as_before_needs_nothing() -> None:
    assert undo([version(2, "b"), version(3, "a")], version(3, "a"), version(1, "a"), "a") == Undo()


def test_what_was_changed_since_is_left_alone_and_named() -> None:
    done = undo([version(2, "b")], version(3, "c"), version(1, "a"), "a")
    assert (done.writes, done.conflicts) == ((), ("a.md was changed since",))


def test_what_somebody_else_changed_in_the_middle_is_left_alone() -> None:
    done = undo([version(2, "b"), version(4, "d")], version(4, "d"), version(1, "a"), "a")
    assert (done.writes, done.conflicts) == ((), ("a.md was changed by somebody else at the same time",))


def test_a_document_whose_past_was_erased_is_left_alone() -> None:
    assert undo([version(2, "b")], version(2, "b")).conflicts == ("a.md has no earlier version any more",)


class Past:
    """Documents with the history of two files; the turn changed one and made the other."""

    def __init__(self) -> None:
        self.kept = {
            "a.md": [(version(1, "a"), b"a"), (version(2, "b", turn="turn_1"), b"b")],
            "new.md": [(version(1, "n", path="new.md", turn="turn_1"), b"n")],
        }

    async def changed_by(self, turn: str) -> tuple[DocumentVersion, ...]:
        return tuple(held for versions in self.kept.values() for held, _ in versions if held.turn == turn)

    async def history(self, collection: str, path: str) -> tuple[DocumentVersion, ...]:
        return tuple(held for held, _ in self.kept[path])

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None:
        return next((kept for kept in self.kept[path] if kept[0].version == version), None)


async def test_a_turn_is_taken_back_as_the_documents_are_now() -> None:
    done = await plan_undo(Past(), "turn_1", at=9.0, author="owner")  # type: ignore[arg-type]
    assert (done.restored, done.deleted, done.conflicts) == (("a.md",), ("new.md",), ())


async def test_a_turn_that_wrote_nothing_leaves_nothing_to_do() -> None:
    assert await plan_undo(Past(), "turn_2", at=9.0, author="owner") == Undo()  # type: ignore[arg-type]
