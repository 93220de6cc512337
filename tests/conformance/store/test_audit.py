import anyio
import pytest

from ostiary.contracts.audit import AuditHead
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.store import Audit
from tests.conformance.store.conftest import AnyStore, MakeStore
from tests.conformance.store.words import NOW, put, setting


def entry(kind: str = "tool.decided", *, subject: str = "exec", outcome: str = "allow", **detail: object) -> Audit:
    return Audit(at=NOW, kind=kind, actor="memory:u1", subject=subject, outcome=outcome, detail=detail)


async def test_entries_are_counted_from_one_and_read_in_order(store: AnyStore) -> None:
    assert await store.commit([entry(), entry("tool.called", outcome="ok", seconds=0.5)]) == (1, 2)
    assert await store.commit([entry("login", subject="browser", outcome="ok")]) == (3,)
    found = await store.audit().entries()
    assert [(each.seq, each.kind, each.subject, each.outcome) for each in found] == [
        (1, "tool.decided", "exec", "allow"),
        (2, "tool.called", "exec", "ok"),
        (3, "login", "browser", "ok"),
    ]
    assert (found[1].detail, found[1].actor, found[1].at) == ({"seconds": 0.5}, "memory:u1", NOW)


async def test_an_empty_log_verifies_and_its_head_is_nothing(store: AnyStore) -> None:
    assert (await store.audit().head()).seq == 0
    assert await store.audit().verify() == ""
    assert await store.audit().entries() == ()


async def test_the_head_is_the_last_entry(store: AnyStore) -> None:
    await store.commit([entry(), entry()])
    (last,) = await store.audit().entries(limit=1, newest=True)
    assert await store.audit().head() == AuditHead(seq=2, chain=last.chain, at=NOW)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [1, 2, 3, 4]),
        ({"after": 2}, [3, 4]),
        ({"limit": 2}, [1, 2]),
        ({"limit": 2, "newest": True}, [3, 4]),
        ({"limit": 0}, []),
        ({"kind": "login"}, [2]),
        ({"kind": "login*"}, [2, 3]),
        ({"kind": "tool.*", "limit": 1, "newest": True}, [4]),
        ({"kind": "*"}, [1, 2, 3, 4]),
        ({"kind": "LOGIN"}, []),
        ({"kind": "log"}, []),
        ({"after": 99}, []),
    ],
)
async def test_entries_are_chosen_by_place_and_kind(store: AnyStore, asked: dict[str, object], expected: list[int]) -> None:
    await store.commit([entry(), entry("login"), entry("login.failed"), entry("tool.called")])
    found = await store.audit().entries(**asked)  # type: ignore[arg-type]
    assert [each.seq for each in found] == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"turn": "t1"}, [1, 3]),
        ({"turn": "t1", "kind": "tool.called"}, [3]),
        ({"turn": "t1", "kind": "tool.*", "after": 1}, [3]),
        ({"turn": "t1", "limit": 1}, [1]),
        ({"turn": "t1", "limit": 1, "newest": True}, [3]),
        ({"turn": "t"}, []),
        ({"turn": "null"}, []),
    ],
)
async def test_entries_are_chosen_by_the_turn_they_tell_about(
    store: AnyStore, asked: dict[str, object], expected: list[int]
) -> None:
    await store.commit([entry(turn="t1"), entry(turn="t2"), entry("tool.called", turn="t1"), entry("login"), entry(turn=None)])
    found = await store.audit().entries(**asked)  # type: ignore[arg-type]
    assert [each.seq for each in found] == expected


async def test_an_entry_is_there_only_if_the_rest_of_its_unit_is(store: AnyStore) -> None:
    await store.commit([entry(), setting("a")])
    with pytest.raises(Conflict):
        await store.commit([entry(subject="lost"), put("a.md", expect=9)])
    await store.commit([entry(subject="kept")])
    assert [(each.seq, each.subject) for each in await store.audit().entries()] == [(1, "exec"), (2, "kept")]
    assert await store.audit().verify() == ""


async def test_many_units_at_once_make_one_unbroken_chain(store: AnyStore) -> None:
    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(store.commit, [entry(subject=f"call {number}"), entry(subject=f"result {number}")])
    assert (await store.audit().head()).seq == 100
    assert await store.audit().verify() == ""


async def test_the_chain_goes_on_after_a_restart(make_store: MakeStore) -> None:
    async with make_store() as store:
        await store.commit([entry()])
    async with make_store() as store:
        await store.commit([entry()])
        assert (await store.audit().head()).seq == 2
        assert await store.audit().verify() == ""


async def test_a_checkpoint_that_agrees_is_no_trouble(store: AnyStore) -> None:
    await store.commit([entry()])
    first = await store.audit().head()
    await store.commit([entry()])
    assert await store.audit((first, await store.audit().head())).verify() == ""


async def test_a_log_shorter_than_its_checkpoint_is_missing_its_tail(store: AnyStore) -> None:
    await store.commit([entry()])
    ahead = AuditHead(seq=5, chain="00" * 32, at=NOW)
    assert await store.audit((ahead,)).verify() == "Entry 2 of the audit log is missing: there is a checkpoint at entry 5."


async def test_a_log_other_than_the_one_that_was_checkpointed_is_named(store: AnyStore) -> None:
    await store.commit([entry()])
    first = await store.audit().head()
    await store.commit([entry(), entry()])
    other = AuditHead(seq=3, chain="00" * 32, at=NOW)
    assert "between 2 and 3" in await store.audit((first, other)).verify()


@pytest.mark.parametrize("kind", ["", "*", "tool.*"])
async def test_an_entry_needs_a_kind_that_is_no_pattern(store: AnyStore, kind: str) -> None:
    with pytest.raises(BadInput):
        await store.commit([entry(kind)])


async def test_detail_that_is_not_plain_data_is_refused(store: AnyStore) -> None:
    with pytest.raises(BadInput):
        await store.commit([entry(what=object())])
