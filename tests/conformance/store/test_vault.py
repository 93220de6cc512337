"""Documents beyond put and delete: extend, move, restore, erase, moments, places, and names that disks cannot hold."""

from dataclasses import replace

import anyio
import pytest

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.store import (
    CollectionUse,
    DocumentVersion,
    EraseVersions,
    Extend,
    Move,
    PutBlob,
    Restore,
    Tombstone,
    Write,
)
from tests.conformance.store.conftest import AnyStore, MakeStore
from tests.conformance.store.words import LABEL, NOW, put, sha256, tombstone

OWN = Label(trust=Trust.OWNER, sources=("owner",))
LARGE = bytes(range(256)) * 6000


def extend(path: str, content: bytes, *, label: Label | None = LABEL) -> Extend:
    return Extend(collection="notes", path=path, content=content, at=NOW, author="ann", turn="t2", label=label)


def move(path: str, to: str, *, expect: int | None = None) -> Move:
    return Move(collection="notes", path=path, to=to, at=NOW, author="ann", turn="t2", expect_version=expect)


def restore(path: str, version: int, *, expect: int | None = None) -> Restore:
    return Restore(collection="notes", path=path, version=version, at=NOW, author="ann", turn="t2", expect_version=expect)


def erase(path: str, *versions: int) -> EraseVersions:
    return EraseVersions(collection="notes", path=path, versions=versions)


async def content_of(store: AnyStore, path: str, version: int | None = None) -> bytes | None:
    found = await store.documents.get("notes", path, version=version)
    return None if found is None else found[1]


async def paths_of(store: AnyStore) -> list[str]:
    return [each.path for each in await store.documents.list("notes")]


async def stored(store: AnyStore) -> int:
    """The bytes of all versions, each content once."""
    return sum(use.stored_bytes for use in await store.documents.collections())


async def newest_of(store: AnyStore, path: str) -> DocumentVersion:
    return (await store.documents.history("notes", path))[-1]


async def test_extending_makes_a_version_with_the_new_text_behind_the_old(store: AnyStore) -> None:
    assert await store.commit([extend("log.md", b"one\n"), extend("log.md", b"two\n")]) == (1, 2)
    assert await content_of(store, "log.md") == b"one\ntwo\n"
    assert await content_of(store, "log.md", 1) == b"one\n"
    newest = await newest_of(store, "log.md")
    assert (newest.size, newest.digest, newest.author, newest.turn) == (8, sha256(b"one\ntwo\n"), "ann", "t2")


async def test_extending_what_was_deleted_begins_anew(store: AnyStore) -> None:
    await store.commit([put("log.md", b"old\n"), tombstone("log.md")])
    assert await store.commit([extend("log.md", b"new\n", label=OWN)]) == (3,)
    assert await content_of(store, "log.md") == b"new\n"
    assert (await newest_of(store, "log.md")).label == OWN


async def test_who_extends_a_text_does_not_vouch_for_what_was_there(store: AnyStore) -> None:
    await store.commit([put("log.md", b"from the web\n"), extend("log.md", b"mine\n", label=OWN)])
    assert (await newest_of(store, "log.md")).label == LABEL.join(OWN)


@pytest.mark.parametrize(("before", "added"), [(LABEL, None), (None, LABEL)])
async def test_extending_never_loses_a_label(store: AnyStore, before: Label | None, added: Label | None) -> None:
    await store.commit([replace(put("log.md"), label=before), extend("log.md", b"x", label=added)])
    assert (await newest_of(store, "log.md")).label == LABEL


async def test_nobodys_line_is_lost_when_many_extend_at_once(store: AnyStore) -> None:
    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(store.commit, [extend("log.md", f"{number}\n".encode())])
    content = await content_of(store, "log.md")
    assert content is not None
    assert sorted(content.split()) == sorted(str(number).encode() for number in range(40))


async def test_a_large_document_is_kept_extended_and_erased_like_a_small_one(store: AnyStore) -> None:
    await store.commit([put("big.bin", LARGE), put("copy.bin", LARGE)])
    await store.commit([extend("big.bin", b"tail")])
    assert await content_of(store, "big.bin") == LARGE + b"tail"
    assert await content_of(store, "big.bin", 1) == LARGE
    assert await stored(store) == len(LARGE) + len(LARGE + b"tail")
    await store.commit([erase("big.bin")])
    assert await content_of(store, "copy.bin") == LARGE
    assert await stored(store) == len(LARGE)
    await store.commit([erase("copy.bin")])
    assert await stored(store) == 0


async def test_a_moved_document_lives_on_under_its_new_name_with_label_and_mode(store: AnyStore) -> None:
    await store.commit([replace(put("a.sh", b"one"), executable=True)])
    assert await store.commit([move("a.sh", "bin/b.sh")]) == (1,)
    assert await paths_of(store) == ["bin/b.sh"]
    assert await content_of(store, "bin/b.sh") == b"one"
    moved, left = await newest_of(store, "bin/b.sh"), await newest_of(store, "a.sh")
    assert (moved.executable, moved.label, moved.author, moved.turn) == (True, LABEL, "ann", "t2")
    assert (left.version, left.digest, left.turn) == (2, "", "t2")


async def test_a_document_moves_behind_what_was_deleted_at_its_new_place(store: AnyStore) -> None:
    await store.commit([put("a.md", b"one"), put("b.md", b"old"), tombstone("b.md")])
    assert await store.commit([move("a.md", "b.md", expect=1)]) == (3,)
    assert await content_of(store, "b.md") == b"one"


async def test_a_move_overwrites_nothing_and_needs_something_to_move(store: AnyStore) -> None:
    await store.commit([put("a.md"), put("b.md")])
    with pytest.raises(Conflict, match=r"b\.md"):
        await store.commit([move("a.md", "b.md")])
    with pytest.raises(Conflict):
        await store.commit([move("a.md", "a.md")])
    with pytest.raises(Conflict):
        await store.commit([move("a.md", "c.md", expect=9)])
    with pytest.raises(BadInput):
        await store.commit([move("nothing.md", "c.md")])
    with pytest.raises(BadInput):
        await store.commit([move("a.md", "../c.md")])
    assert await paths_of(store) == ["a.md", "b.md"]


async def test_a_restored_version_brings_its_content_label_and_mode_back(store: AnyStore) -> None:
    await store.commit([replace(put("a.sh", b"one"), executable=True), replace(put("a.sh", b"two"), executable=False, label=OWN)])
    assert await store.commit([restore("a.sh", 1, expect=2)]) == (3,)
    newest = await newest_of(store, "a.sh")
    assert (newest.executable, newest.label, newest.digest, newest.turn) == (True, LABEL, sha256(b"one"), "t2")


async def test_only_a_version_that_has_content_can_be_restored(store: AnyStore) -> None:
    await store.commit([put("a.md", b"one"), tombstone("a.md")])
    await store.commit([put("b.md", b"two"), erase("b.md")])
    for write, words in ((restore("a.md", 2), "deleted"), (restore("a.md", 9), "no version 9"), (restore("b.md", 1), "erased")):
        with pytest.raises(BadInput, match=words):
            await store.commit([write])
    with pytest.raises(Conflict):
        await store.commit([restore("a.md", 1, expect=1)])


async def test_a_document_stays_executable_until_somebody_says_otherwise(store: AnyStore) -> None:
    await store.commit([replace(put("a.sh", b"one"), executable=True), put("a.sh", b"two")])
    await store.commit([extend("a.sh", b"three"), replace(put("a.sh", b"four"), executable=False)])
    assert [each.executable for each in await store.documents.history("notes", "a.sh")] == [True, True, True, False]


async def test_erased_versions_are_known_by_their_digest_alone(store: AnyStore) -> None:
    await store.commit([put("a.md", b"secret"), put("a.md", b"kept")])
    assert await store.commit([erase("a.md", 1)]) == (1,)
    assert await content_of(store, "a.md", 1) is None
    assert await stored(store) == len(b"kept")
    assert await content_of(store, "a.md") == b"kept"
    first = (await store.documents.history("notes", "a.md"))[0]
    assert (first.erased, first.digest, first.size) == (True, sha256(b"secret"), 6)


async def test_a_document_erased_whole_reads_as_absent_and_can_be_written_anew(store: AnyStore) -> None:
    await store.commit([put("a.md", b"one"), put("a.md", b"two"), put("b.md", b"other")])
    assert await store.commit([erase("a.md")]) == (2,)
    assert await content_of(store, "a.md") is None
    assert await paths_of(store) == ["b.md"]
    assert await store.commit([erase("a.md")]) == (0,)
    assert await store.commit([put("a.md", b"new", expect=0)]) == (3,)
    assert await content_of(store, "a.md") == b"new"


async def test_content_that_somebody_else_needs_outlives_an_erasure(store: AnyStore) -> None:
    await store.commit([put("a.md", b"shared"), put("b.md", b"shared"), put("c.md", b"seen")])
    await store.commit([PutBlob(digest=sha256(b"seen"), content=b"seen")])
    await store.commit([erase("a.md"), erase("c.md")])
    assert await content_of(store, "a.md") is None
    assert await content_of(store, "b.md") == b"shared"
    assert await store.blob(sha256(b"seen")) == b"seen"


async def test_content_goes_with_its_last_version_however_it_was_used(store: AnyStore) -> None:
    await store.commit([put("a.md", b"x"), put("a.md", b"x"), put("a.md", b"y"), restore("a.md", 1), move("a.md", "b.md")])
    await store.commit([erase("a.md")])
    assert await stored(store) == 1
    await store.commit([erase("b.md")])
    assert await stored(store) == 0


async def test_only_what_is_there_can_be_erased(store: AnyStore) -> None:
    await store.commit([put("a.md")])
    with pytest.raises(BadInput, match="version 7"):
        await store.commit([erase("a.md", 1, 7)])
    with pytest.raises(BadInput, match=r"nothing\.md"):
        await store.commit([erase("nothing.md")])
    assert await content_of(store, "a.md") == b"one"


async def test_documents_are_listed_as_they_were_at_a_moment(store: AnyStore) -> None:
    await store.commit([replace(put("a.md", b"one"), at=10.0), replace(put("b.md", b"one"), at=20.0)])
    await store.commit([replace(put("a.md", b"two"), at=30.0), replace(tombstone("b.md"), at=40.0)])
    listed = {
        at: [(each.path, each.version) for each in await store.documents.list("notes", at=at)] for at in (5, 10, 25, 35, 45)
    }
    assert listed == {
        5: [],
        10: [("a.md", 1)],
        25: [("a.md", 1), ("b.md", 1)],
        35: [("a.md", 2), ("b.md", 1)],
        45: [("a.md", 2)],
    }


async def test_a_long_list_comes_in_pages(store: AnyStore) -> None:
    await store.commit([put(f"{name}.md") for name in "abcde"] + [put("f.txt"), put("g.md")])
    first = await store.documents.list("notes", pattern="*.md", limit=3)
    rest = await store.documents.list("notes", pattern="*.md", limit=5, after=first[-1].path)
    assert [each.path for each in (*first, *rest)] == ["a.md", "b.md", "c.md", "d.md", "e.md", "g.md"]
    assert await store.documents.list("notes", after="g.md") == ()
    assert [each.path for each in await store.documents.list("notes", at=NOW, limit=1, after="a.md")] == ["b.md"]


async def test_each_collection_tells_what_it_holds(store: AnyStore) -> None:
    await store.commit([put("a.md", b"12345"), put("a.md", b"123"), put("b.md", b"123"), put("c.md", b"1"), tombstone("c.md")])
    await store.commit([put("x.md", b"12", collection="other"), put("gone.md", b"1234567"), erase("gone.md")])
    assert await store.documents.collections() == (
        CollectionUse(collection="notes", documents=2, bytes=6, stored_bytes=9),
        CollectionUse(collection="other", documents=1, bytes=2, stored_bytes=2),
    )


async def test_changes_come_in_the_order_they_were_committed_and_can_be_followed(make_store: MakeStore) -> None:
    async with make_store() as store:
        await store.commit([put("b.md"), put("a.md")])
        seen = await store.documents.changes(0, limit=1)
        await store.commit([put("x.md", collection="other"), tombstone("b.md")])
    async with make_store() as store:
        seen += await store.documents.changes(seen[-1][0])
        assert [(each.collection, each.path, each.version) for _, each in seen] == [
            ("notes", "b.md", 1),
            ("notes", "a.md", 1),
            ("other", "x.md", 1),
            ("notes", "b.md", 2),
        ]
        await store.commit([put("c.md")])
        assert [each.path for _, each in await store.documents.changes(seen[-1][0])] == ["c.md"]
        assert await store.documents.changes(seen[-1][0] + 1) == ()


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ("README.md", "Readme.md"),
        ("notes/a.md", "Notes/A.md"),
        ("straße.md", "STRASSE.md"),
        ("caf\u00e9.md", "CAF\u00c9.md"),
        ("file 1.md", "file\u00a01.md"),
        ("2.md", "\u00b2.md"),
        ("notes", "notes/a.md"),
        ("Notes", "notes/deep/a.md"),
        ("notes/a.md", "notes"),
        ("Notes/a.md", "notes"),
    ],
)
async def test_a_name_that_a_disk_could_not_hold_beside_another_is_refused(store: AnyStore, there: str, wanted: str) -> None:
    await store.commit([put(there), put("other.md"), put(wanted, collection="elsewhere")])
    writes: tuple[Write, ...] = (put(wanted), extend(wanted, b"x"), move("other.md", wanted))
    for write in writes:
        with pytest.raises(BadInput) as refused:
            await store.commit([write])
        assert repr(there) in str(refused.value)
        assert repr(wanted) in str(refused.value)
    assert await paths_of(store) == sorted([there, "other.md"])


async def test_a_name_is_free_again_when_its_twin_is_gone(store: AnyStore) -> None:
    await store.commit([put("README.md"), tombstone("README.md")])
    await store.commit([put("readme.md")])
    with pytest.raises(BadInput, match=r"readme\.md"):
        await store.commit([restore("README.md", 1)])
    await store.commit([put("Readme.md"), tombstone("readme.md")])
    await store.commit([move("Readme.md", "README.md")])
    assert await paths_of(store) == ["README.md"]


async def test_a_unit_may_put_a_folder_where_a_document_was(store: AnyStore) -> None:
    await store.commit([put("notes")])
    await store.commit([put("notes/a.md"), tombstone("notes")])
    assert await paths_of(store) == ["notes/a.md"]


async def test_neighbours_of_a_name_are_not_its_twins(store: AnyStore) -> None:
    names = ["a", "a.md", "a-b/c", "a b/c", "ab/c", "Notes/x.md", "notes/y.md", "a0"]
    await store.commit([put(name) for name in names])
    assert await paths_of(store) == sorted(names)


async def test_a_unit_with_one_bad_write_leaves_no_trace_of_the_others(store: AnyStore) -> None:
    await store.commit([put("a.md", b"one"), put("b.md", b"two")])
    good: list[Write] = [extend("a.md", b"x"), move("b.md", "c.md"), put("d.md"), erase("a.md", 1), put("big.bin", LARGE)]
    with pytest.raises(BadInput):
        await store.commit([*good, Tombstone(collection="notes", path="nothing.md", at=NOW, author="ann")])
    assert await paths_of(store) == ["a.md", "b.md"]
    assert await content_of(store, "a.md", 1) == b"one"
    assert await stored(store) == 6
    assert await store.commit(good) == (2, 1, 1, 1, 1)
