"""A collection as it was, made anew as versions on top of what is there."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.store import EraseVersions, Put, Tombstone
from ostiary.core.documents.restoring import moment_before, plan_restore, plan_restore_before, restore_plan
from ostiary.kit.clock import ManualClock


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with open_store(tmp_path / "store.db", bytes(32), clock=ManualClock()) as opened:
        yield opened


def put(path: str, content: bytes, at: float, turn: str = "", *, executable: bool | None = None) -> Put:
    return Put(collection="notes", path=path, content=content, at=at, author="owner", turn=turn, executable=executable)


def gone(path: str, at: float, turn: str = "") -> Tombstone:
    return Tombstone(collection="notes", path=path, at=at, author="owner", turn=turn)


async def contents(store: SqliteStore) -> dict[str, bytes]:
    found = {each.path: await store.documents.get("notes", each.path) for each in await store.documents.list("notes")}
    return {path: stored[1] for path, stored in found.items() if stored is not None}


async def test_a_collection_goes_back_to_a_moment_and_everything_since_stays_in_its_history(store: SqliteStore) -> None:
    await store.commit([put("same.md", b"same", 1), put("changed.md", b"old", 1), put("deleted.md", b"was", 1)])
    await store.commit([put("changed.md", b"new", 5), gone("deleted.md", 5), put("added.md", b"later", 5)])
    plan = await plan_restore(store.documents, "notes", 3.0, at=9.0, author="ann", turn="t9")
    assert (plan.restored, plan.deleted, plan.left) == (("changed.md", "deleted.md"), ("added.md",), ())
    await store.commit(plan.writes)
    assert await contents(store) == {"same.md": b"same", "changed.md": b"old", "deleted.md": b"was"}
    assert len(await store.documents.history("notes", "changed.md")) == 3
    assert len(await store.documents.history("notes", "same.md")) == 1
    assert {each.turn for each in await store.documents.changed_by("t9")} == {"t9"}
    back = await plan_restore(store.documents, "notes", 6.0, at=10.0, author="ann")
    await store.commit(back.writes)
    assert await contents(store) == {"same.md": b"same", "changed.md": b"new", "added.md": b"later"}


async def test_a_collection_goes_back_to_just_before_a_turn(store: SqliteStore) -> None:
    await store.commit([put("a.md", b"one", 1), put("b.md", b"one", 2)])
    await store.commit([put("a.md", b"two", 4, "t1"), gone("b.md", 5, "t1")])
    await store.commit([put("a.md", b"three", 6, "t2"), put("c.md", b"new", 6)])
    plan = await plan_restore_before(store.documents, "notes", "t1", at=9.0, author="ann")
    await store.commit(plan.writes)
    assert await contents(store) == {"a.md": b"one", "b.md": b"one"}


async def test_only_the_part_that_was_asked_for_goes_back(store: SqliteStore) -> None:
    await store.commit([put("in/a.md", b"one", 1), put("out/a.md", b"one", 1)])
    await store.commit([put("in/a.md", b"two", 5), put("out/a.md", b"two", 5)])
    plan = await plan_restore(store.documents, "notes", 3.0, at=9.0, author="ann", pattern="in/**")
    await store.commit(plan.writes)
    assert await contents(store) == {"in/a.md": b"one", "out/a.md": b"two"}


async def test_what_was_erased_is_neither_restored_nor_is_its_successor_deleted(store: SqliteStore) -> None:
    await store.commit([put("a.md", b"secret", 1), put("a.md", b"clean", 5)])
    await store.commit([EraseVersions(collection="notes", path="a.md", versions=(1,))])
    plan = await plan_restore(store.documents, "notes", 3.0, at=9.0, author="ann")
    assert (plan.writes, plan.left) == ((), ("a.md as it was then was erased for ever",))


async def test_a_mode_that_changed_is_restored_too(store: SqliteStore) -> None:
    await store.commit([put("a.sh", b"one", 1, executable=True), put("a.sh", b"one", 5, executable=False)])
    plan = await plan_restore(store.documents, "notes", 3.0, at=9.0, author="ann")
    assert plan.restored == ("a.sh",)


async def test_a_plan_made_on_what_is_no_longer_so_changes_nothing(store: SqliteStore) -> None:
    await store.commit([put("a.md", b"one", 1), put("b.md", b"one", 1)])
    await store.commit([put("a.md", b"two", 5), put("b.md", b"two", 5)])
    plan = await plan_restore(store.documents, "notes", 3.0, at=9.0, author="ann")
    await store.commit([put("b.md", b"meanwhile", 8)])
    with pytest.raises(Conflict):
        await store.commit(plan.writes)
    assert await contents(store) == {"a.md": b"two", "b.md": b"meanwhile"}


async def test_a_folder_and_a_document_of_the_same_name_change_places(store: SqliteStore) -> None:
    await store.commit([put("notes", b"file", 1)])
    await store.commit([gone("notes", 5), put("notes/a.md", b"inside", 5)])
    await store.commit((await plan_restore(store.documents, "notes", 3.0, at=9.0, author="ann")).writes)
    assert await contents(store) == {"notes": b"file"}


def test_a_turn_that_changed_nothing_is_no_place_to_go_back_to() -> None:
    with pytest.raises(BadInput, match="changed no document"):
        moment_before(())


def test_nothing_to_do_is_an_empty_plan() -> None:
    assert restore_plan((), (), at=1.0, author="ann").writes == ()
