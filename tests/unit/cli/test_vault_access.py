from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from ostiary.cli.vault_access import Access, NewFile, RestoreWish
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, Conflict, OstiaryError
from tests.unit.cli.vault_places import own_store, through_gateway


@pytest.fixture(params=[own_store, through_gateway], ids=["own store", "gateway"])
async def access(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Access]:
    async with request.param(tmp_path) as opened:
        yield opened


async def test_what_is_put_is_read_with_its_version_and_mode(access: Access) -> None:
    version = await access.put("_workspace", NewFile(path="a b/ü#?.sh", content=b"\x00\xff", executable=True))
    found = await access.get("_workspace", "a b/ü#?.sh")
    assert found is not None
    assert (version, found[1]) == (1, b"\x00\xff")
    assert (found[0].version, found[0].executable, found[0].author, found[0].size) == (1, True, "api:token", 2)


async def test_what_is_not_there_reads_as_none(access: Access) -> None:
    assert await access.get("_workspace", "nothing.md") is None
    assert await access.history("_workspace", "nothing.md") == ()


async def test_a_put_that_expects_another_version_is_a_conflict(access: Access) -> None:
    await access.put("_workspace", NewFile(path="a.md", content=b"1"))
    with pytest.raises(Conflict):
        await access.put("_workspace", NewFile(path="a.md", content=b"2", expect=0))
    with pytest.raises(Conflict):
        await access.put("_workspace", NewFile(path="a.md", content=b"2", expect=7))
    assert await access.put("_workspace", NewFile(path="a.md", content=b"2", expect=1)) == 2


async def test_of_many_each_is_written_or_refused_by_itself(access: Access) -> None:
    await access.put("notes", NewFile(path="taken.md", content=b"old"))
    files = [
        NewFile(path="good.md", content=b"good"),
        NewFile(path="../bad.md", content=b"bad"),
        NewFile(path="taken.md", content=b"new", expect=0),
    ]
    good, bad, taken = await access.put_many("notes", files, label=Label(trust=Trust.UNTRUSTED))
    found = await access.get("notes", "good.md")
    assert (good.version, good.problem) == (1, "")
    assert (bad.version, bad.is_conflict) == (0, False)
    assert ".." in bad.problem
    assert (taken.version, taken.is_conflict) == (0, True)
    assert found is not None
    assert found[0].label is not None
    assert found[0].label.trust == Trust.UNTRUSTED


async def test_append_move_delete_and_history_tell_the_whole_story(access: Access) -> None:
    await access.put("notes", NewFile(path="a.md", content=b"one\n"))
    assert await access.append("notes", "a.md", b"two\n") == 2
    assert await access.move("notes", "a.md", "b.md") == 1
    await access.delete("notes", "b.md")
    assert [each.digest != "" for each in await access.history("notes", "a.md")] == [True, True, False]
    assert await access.list("notes") == ()
    with pytest.raises(BadInput):
        await access.delete("notes", "b.md")


async def test_one_document_goes_back_to_a_version(access: Access) -> None:
    await access.put("notes", NewFile(path="a.md", content=b"old"))
    await access.put("notes", NewFile(path="a.md", content=b"new"))
    done = await access.restore(RestoreWish(collection="notes", path="a.md", version=1))
    found = await access.get("notes", "a.md")
    assert done.restored == ("a.md",)
    assert found is not None
    assert (found[0].version, found[1]) == (3, b"old")


async def test_a_collection_goes_back_to_a_moment_and_a_preview_changes_nothing(access: Access) -> None:
    await access.put("notes", NewFile(path="a.md", content=b"old"))
    moment = (await access.history("notes", "a.md"))[0].at
    await access.put("notes", NewFile(path="a.md", content=b"new"))
    await access.put("notes", NewFile(path="later.md", content=b"later"))
    preview = await access.restore(RestoreWish(collection="notes", at=moment, preview=True))
    before = [each.path for each in await access.list("notes")]
    await access.restore(RestoreWish(collection="notes", at=moment))
    found = await access.get("notes", "a.md")
    assert (preview.restored, preview.deleted) == (("a.md",), ("later.md",))
    assert before == ["a.md", "later.md"]
    assert [each.path for each in await access.list("notes")] == ["a.md"]
    assert found is not None
    assert found[1] == b"old"


async def test_a_listing_of_the_past_shows_the_past(access: Access) -> None:
    await access.put("notes", NewFile(path="a.md", content=b"1"))
    moment = (await access.history("notes", "a.md"))[0].at
    await access.put("notes", NewFile(path="b/c.md", content=b"2"))
    assert [each.path for each in await access.list("notes", at=moment)] == ["a.md"]
    assert [each.path for each in await access.list("notes", pattern="b/**")] == ["b/c.md"]


async def test_text_is_found_where_it_was_put(access: Access) -> None:
    await access.put("notes", NewFile(path="gate.md", content=b"# Garden\n\nThe gate is green.\n"))
    await access.put("other", NewFile(path="gate.md", content=b"The gate is green.\n"))
    everywhere = await access.search("green gate", collections=None)
    somewhere = await access.search("green gate", collections=["notes"])
    assert {each.collection for each in everywhere.passages} == {"notes", "other"}
    assert [(each.path, each.start, each.end) for each in somewhere.passages] == [("gate.md", 1, 3)]


async def test_what_is_remembered_is_found_explained_and_forgotten(access: Access) -> None:
    kept = await access.write("Ana keeps the key of the blue shed", area="", title="", agent="main")
    found = await access.recall("who has the key of the shed", agent="main", limit=3, sessions=False)
    (origin,) = await access.why("blue shed", agent="main")
    plan = await access.forget("key of the blue shed", preview=True)
    still = (await access.notes("main"))["notes"]
    done = await access.forget("key of the blue shed", preview=False)
    gone = await access.recall("who has the key of the shed", agent="main", limit=3, sessions=False)
    assert kept["path"] == found.passages[0].path == origin["path"] == "MEMORY.md"
    assert origin["author"] == "api:token"
    assert plan["places"] == [f"MEMORY.md#L{kept['line']}"]
    assert len(still) == 1
    assert done["entries"] == 1
    assert gone.passages == ()


async def test_an_unknown_note_cannot_be_confirmed(access: Access) -> None:
    with pytest.raises(OstiaryError):
        await access.settle(["00000000"], area="", agent="main", reject=False)


async def test_catching_up_leaves_nothing_waiting(access: Access) -> None:
    await access.put_many("notes", [NewFile(path=f"{n}.md", content=b"word\n") for n in range(20)])
    status = await access.catch_up(lambda index: None)
    assert (status.waiting, status.documents) == (0, 20)
    assert [use.documents for use in (await access.status()).collections] == [20]


async def test_the_index_is_made_anew_and_finds_the_same(access: Access) -> None:
    await access.put("_memory", NewFile(path="a.md", content=b"albatross"))
    before = await access.search("albatross", collections=["_memory"])
    with anyio.fail_after(10):
        await access.reindex(lambda share: None)
    after = await access.search("albatross", collections=["_memory"])
    assert [hit.path for hit in after.passages] == [hit.path for hit in before.passages] == ["a.md"]
    assert after.notices == ()
