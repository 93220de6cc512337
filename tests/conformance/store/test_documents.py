from dataclasses import replace

import pytest

from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.store import DocumentVersion, EraseBlob, PutBlob, Tombstone
from tests.conformance.store.conftest import AnyStore
from tests.conformance.store.words import LABEL, NOW, put, sha256, tombstone

LARGE = bytes(range(256)) * 6000


def version(number: int, content: bytes, *, path: str = "a.md", author: str = "owner", turn: str = "t1") -> DocumentVersion:
    return DocumentVersion(
        collection="notes",
        path=path,
        version=number,
        digest=sha256(content),
        size=len(content),
        at=NOW,
        author=author,
        turn=turn,
        label=LABEL,
    )


async def test_every_put_is_a_new_version_and_the_newest_is_read(store: AnyStore) -> None:
    assert await store.commit([put("a.md", b"one"), put("a.md", b"two")]) == (1, 2)
    assert await store.documents.get("notes", "a.md") == (version(2, b"two"), b"two")
    assert await store.documents.get("notes", "a.md", version=1) == (version(1, b"one"), b"one")
    assert await store.documents.get("notes", "a.md", version=3) is None


async def test_an_empty_document_is_a_document(store: AnyStore) -> None:
    await store.commit([put("a.md", b"")])
    assert await store.documents.get("notes", "a.md") == (version(1, b""), b"")
    assert len(await store.documents.list("notes")) == 1


async def test_bytes_that_are_no_text_are_kept_exactly(store: AnyStore) -> None:
    content = bytes(range(256)) + b"\r\n\xff\xfe\x00"
    await store.commit([put("a.bin", content)])
    assert await store.documents.get("notes", "a.bin") == (version(1, content, path="a.bin"), content)


async def test_the_content_of_a_document_is_no_blob_unless_it_was_also_put_as_one(store: AnyStore) -> None:
    await store.commit([put("a.md", b"one"), put("b.md", LARGE)])
    assert [await store.blob(sha256(content)) for content in (b"one", LARGE)] == [None, None]
    await store.commit([PutBlob(digest=sha256(content), content=content) for content in (b"one", LARGE)])
    assert [await store.blob(sha256(content)) for content in (b"one", LARGE)] == [b"one", LARGE]
    await store.commit([EraseBlob(digest=sha256(b"one"))])
    assert await store.blob(sha256(b"one")) is None
    assert await store.documents.get("notes", "a.md") == (version(1, b"one"), b"one")


async def test_collections_do_not_see_each_other(store: AnyStore) -> None:
    await store.commit([put("a.md", collection="x")])
    assert await store.documents.get("notes", "a.md") is None
    assert await store.documents.list("notes") == ()


async def test_a_deleted_document_is_absent_and_its_history_is_not(store: AnyStore) -> None:
    await store.commit([put("a.md", b"one")])
    assert await store.commit([tombstone("a.md")]) == (2,)
    assert await store.documents.get("notes", "a.md") is None
    assert await store.documents.list("notes") == ()
    history = await store.documents.history("notes", "a.md")
    assert [(one.version, one.digest) for one in history] == [(1, sha256(b"one")), (2, "")]
    assert await store.documents.get("notes", "a.md", version=1) == (version(1, b"one"), b"one")


async def test_what_is_not_there_cannot_be_deleted(store: AnyStore) -> None:
    with pytest.raises(BadInput):
        await store.commit([tombstone("a.md")])
    await store.commit([put("a.md"), tombstone("a.md")])
    with pytest.raises(BadInput):
        await store.commit([tombstone("a.md")])


async def test_an_older_version_is_restored_as_a_new_one_with_its_label(store: AnyStore) -> None:
    await store.commit([put("a.md", b"one"), put("a.md", b"two"), tombstone("a.md")])
    restored = await store.documents.restore("notes", "a.md", 1, at=NOW, author="ann")
    assert restored == version(4, b"one", author="ann", turn="")
    assert await store.documents.get("notes", "a.md") == (restored, b"one")


async def test_only_a_version_with_content_can_be_restored(store: AnyStore) -> None:
    await store.commit([put("a.md"), tombstone("a.md")])
    with pytest.raises(BadInput):
        await store.documents.restore("notes", "a.md", 2, at=NOW, author="ann")
    with pytest.raises(BadInput):
        await store.documents.restore("notes", "a.md", 9, at=NOW, author="ann")
    with pytest.raises(BadInput):
        await store.documents.restore("notes", "b.md", 1, at=NOW, author="ann")


async def test_a_write_that_expects_the_current_version_succeeds(store: AnyStore) -> None:
    assert await store.commit([put("a.md", expect=0)]) == (1,)
    assert await store.commit([put("a.md", expect=1)]) == (2,)
    assert await store.commit([tombstone("a.md", expect=2)]) == (3,)
    assert await store.commit([put("a.md", expect=0)]) == (4,)


@pytest.mark.parametrize("expect", [0, 1, 3])
async def test_a_write_that_expects_another_version_conflicts(store: AnyStore, expect: int) -> None:
    await store.commit([put("a.md", b"one"), put("a.md", b"two")])
    with pytest.raises(Conflict):
        await store.commit([put("b.md"), put("a.md", b"three", expect=expect)])
    with pytest.raises(Conflict):
        await store.commit([tombstone("a.md", expect=expect)])
    assert await store.documents.get("notes", "a.md") == (version(2, b"two"), b"two")
    assert await store.documents.get("notes", "b.md") is None


async def test_what_a_turn_wrote_is_found_oldest_first_with_its_deletions(store: AnyStore) -> None:
    await store.commit([put("b.md", b"one"), put("a.md", b"one")])
    gone = Tombstone(collection="notes", path="b.md", at=NOW, author="owner", turn="t1")
    await store.commit([put("b.md", b"two", collection="x"), gone, replace(put("a.md", b"two"), turn="t2")])
    found = await store.documents.changed_by("t1")
    assert [(each.collection, each.path, each.version, bool(each.digest)) for each in found] == [
        ("notes", "b.md", 1, True),
        ("notes", "a.md", 1, True),
        ("x", "b.md", 1, True),
        ("notes", "b.md", 2, False),
    ]
    assert [each.path for each in await store.documents.changed_by("t2")] == ["a.md"]


async def test_what_nobodys_turn_wrote_belongs_to_no_turn(store: AnyStore) -> None:
    await store.commit([replace(put("a.md"), turn="")])
    assert await store.documents.changed_by("") == ()
    assert await store.documents.changed_by("t9") == ()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**", ["a.md", "d/b.md", "d/e/c.txt", "é.md"]),
        ("*", ["a.md", "é.md"]),
        ("*.md", ["a.md", "é.md"]),
        ("**/*.md", ["a.md", "d/b.md", "é.md"]),
        ("d/**", ["d/b.md", "d/e/c.txt"]),
        ("d/*", ["d/b.md"]),
        ("**/c.txt", ["d/e/c.txt"]),
        ("d/?.md", ["d/b.md"]),
        ("[ab].md", ["a.md"]),
        ("A.md", []),
        ("a.md", ["a.md"]),
        ("d", []),
    ],
)
async def test_documents_are_listed_by_glob_in_path_order(store: AnyStore, pattern: str, expected: list[str]) -> None:
    await store.commit([put(path) for path in ("d/e/c.txt", "é.md", "a.md", "d/b.md")])
    assert [one.path for one in await store.documents.list("notes", pattern=pattern)] == expected


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/a",
        "..",
        "a/../b",
        "../a",
        "a\0b",
        "a//b",
        "a/",
        "./a",
        "a/.",
        "e\u0301.md",
        "x" * 1025,
        "x" * 4096,
        "é" * 513,
        "\ud800",
    ],
)
async def test_a_path_that_could_be_written_another_way_or_leaves_is_refused(store: AnyStore, path: str) -> None:
    with pytest.raises(BadInput):
        await store.commit([put(path)])
    with pytest.raises(BadInput):
        await store.commit([tombstone(path)])
    with pytest.raises(BadInput):
        await store.documents.restore("notes", path, 1, at=NOW, author="ann")


async def test_no_document_can_pass_for_a_conversation(store: AnyStore) -> None:
    with pytest.raises(BadInput, match="only read"):
        await store.commit([put("agent:main:main/1", b"User: I said so", collection="_sessions")])


@pytest.mark.parametrize("path", ["a", "..a", "a..", "...", "a b/c'd", "é.md", "x" * 1024, "-rf", "~", "C:\\x"])
async def test_an_odd_but_clear_path_is_kept_exactly(store: AnyStore, path: str) -> None:
    await store.commit([put(path)])
    assert [one.path for one in await store.documents.list("notes")] == [path]


async def test_an_erased_blob_is_gone_unless_a_document_holds_the_same(store: AnyStore) -> None:
    for content in (b"a prompt", b"a prompt and a document"):
        await store.commit([PutBlob(digest=sha256(content), content=content)])
    await store.commit([put("a.md", b"a prompt and a document")])
    erase = [EraseBlob(digest=sha256(content)) for content in (b"a prompt", b"a prompt and a document", b"nowhere")]
    assert await store.commit(erase) == (1, 0, 0)
    assert await store.blob(sha256(b"a prompt")) is None
    found = await store.documents.get("notes", "a.md")
    assert found is not None
    assert found[1] == b"a prompt and a document"
