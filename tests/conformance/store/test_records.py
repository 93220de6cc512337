"""Turns, outbox, sessions, values and blobs."""

from dataclasses import replace

import pytest

from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import (
    Accept,
    DeleteValue,
    MarkOutbox,
    MarkTurn,
    OpenTurn,
    OutboxState,
    Pending,
    PutBlob,
    SaveSession,
    SetValue,
)
from ostiary.kit.clock import ManualClock
from tests.conformance.store.conftest import AnyStore, MakeStore
from tests.conformance.store.words import MAIN, NOW, OTHER, item, record, reply, setting, sha256


def turn(name: str, state: str = "running", *, deadline: float = 0.0) -> MarkTurn:
    return MarkTurn(turn=name, session=MAIN, lane="main", state=state, deadline=deadline)  # type: ignore[arg-type]


async def test_a_new_store_has_nothing_pending(store: AnyStore) -> None:
    assert await store.pending() == Pending(inbox=(), turns=(), outbox=())


async def test_open_turns_are_found_in_the_order_they_were_opened(store: AnyStore) -> None:
    await store.commit([turn("t9"), turn("t1"), turn("t5")])
    await store.commit([turn("t9", "waiting", deadline=NOW + 5), turn("t1", "ended")])
    assert (await store.pending()).turns == (
        OpenTurn(turn="t9", session=MAIN, lane="main", state="waiting", deadline=NOW + 5),
        OpenTurn(turn="t5", session=MAIN, lane="main", state="running", deadline=0.0),
    )


async def test_everything_under_way_is_found_again_after_a_restart(make_store: MakeStore) -> None:
    async with make_store() as before:
        await before.commit([Accept(item=item()), turn("t1"), reply("t1:1:0")])
        expected = await before.pending()
    async with make_store() as after:
        assert await after.pending() == expected
        assert [len(expected.inbox), len(expected.turns), len(expected.outbox)] == [1, 1, 1]


async def test_replies_get_rising_places_and_are_read_back_whole(store: AnyStore) -> None:
    await store.commit([reply("t2:1:0"), reply("t1:1:0")])
    await store.commit([reply("t3:1:0")])
    found = (await store.pending()).outbox
    assert [one.message.key for one in found] == ["t2:1:0", "t1:1:0", "t3:1:0"]
    assert [one.place for one in found] == sorted({one.place for one in found})
    assert found[0] == replace(reply("t2:1:0").item, place=found[0].place)


async def test_a_reply_whose_key_is_known_is_not_queued_again(store: AnyStore) -> None:
    await store.commit([reply("t1:1:0", words="first")])
    await store.commit([MarkOutbox(key="t1:1:0", state="sent", attempts=1, receipt="r1")])
    await store.commit([reply("t1:1:0", words="second")])
    found = await store.outbox_item("t1:1:0")
    assert found is not None
    assert (found.message.text, found.state, found.receipt) == ("first", "sent", "r1")
    assert (await store.pending()).outbox == ()


@pytest.mark.parametrize(
    ("state", "still"), [("pending", True), ("sending", True), ("sent", False), ("failed", False), ("cancelled", False)]
)
async def test_a_reply_is_pending_until_its_fate_is_known(store: AnyStore, state: OutboxState, still: bool) -> None:
    await store.commit([reply("t1:1:0")])
    await store.commit([MarkOutbox(key="t1:1:0", state=state, attempts=2, next_at=NOW + 3, error="e", receipt="r")])
    assert bool((await store.pending()).outbox) is still
    found = await store.outbox_item("t1:1:0")
    assert found is not None
    assert (found.state, found.attempts, found.next_at, found.error, found.receipt) == (state, 2, NOW + 3, "e", "r")


async def test_a_reply_that_does_not_exist_cannot_be_marked(store: AnyStore) -> None:
    with pytest.raises(Conflict):
        await store.commit([MarkOutbox(key="nobody", state="sent", attempts=1)])
    assert await store.outbox_item("nobody") is None


async def test_a_session_record_is_saved_and_replaced(store: AnyStore) -> None:
    await store.commit([SaveSession(record=record(title="one"))])
    await store.commit([SaveSession(record=record(title="two", updated_at=NOW + 1))])
    assert await store.session(MAIN) == record(title="two", updated_at=NOW + 1)


async def test_a_session_record_knows_where_its_journal_ends(store: AnyStore) -> None:
    await store.commit([SaveSession(record=record()), setting("a"), setting("b")])
    found = await store.session(MAIN)
    assert found is not None
    assert found.last_seq == 2


async def test_a_session_that_only_has_events_has_no_record(store: AnyStore) -> None:
    await store.commit([setting("a")])
    assert await store.session(MAIN) is None
    assert await store.sessions() == ()


async def test_sessions_are_listed_most_recently_used_first(store: AnyStore) -> None:
    keys = [SessionKey("main", name) for name in "abc"]
    await store.commit([SaveSession(record=record(key, updated_at=NOW + n)) for n, key in enumerate(keys)])
    await store.commit([SaveSession(record=record(keys[0], updated_at=NOW + 9))])
    assert [one.key.scope for one in await store.sessions()] == ["a", "c", "b"]
    assert [one.key.scope for one in await store.sessions(limit=1)] == ["a"]


async def test_sessions_can_be_listed_by_prefix_taken_literally(store: AnyStore) -> None:
    keys = [SessionKey("main", "a_1"), SessionKey("main", "ab1"), SessionKey("work", "a_1")]
    await store.commit([SaveSession(record=record(key)) for key in keys])
    assert [str(one.key) for one in await store.sessions(prefix="agent:main:a_")] == ["agent:main:a_1"]


async def test_ephemeral_sessions_are_listed_only_on_request(store: AnyStore) -> None:
    await store.commit([SaveSession(record=record(MAIN)), SaveSession(record=record(OTHER, ephemeral=True))])
    assert [one.key for one in await store.sessions()] == [MAIN]
    assert {one.key for one in await store.sessions(include_ephemeral=True)} == {MAIN, OTHER}


async def test_a_value_is_set_replaced_and_deleted(store: AnyStore) -> None:
    await store.commit([SetValue(space="s", key="k", value=b"1"), SetValue(space="s", key="k", value=b"2")])
    assert await store.value("s", "k") == b"2"
    await store.commit([DeleteValue(space="s", key="k")])
    assert await store.value("s", "k") is None


async def test_values_are_listed_within_their_space(store: AnyStore) -> None:
    await store.commit([SetValue(space="s", key=key, value=key.encode()) for key in "ba"])
    await store.commit([SetValue(space="t", key="c", value=b"c")])
    assert await store.values("s") == {"a": b"a", "b": b"b"}


async def test_an_empty_value_is_a_value(store: AnyStore) -> None:
    await store.commit([SetValue(space="s", key="k", value=b"")])
    assert await store.value("s", "k") == b""


async def test_an_expired_value_reads_as_absent_and_is_swept(store: AnyStore, clock: ManualClock) -> None:
    await store.commit([SetValue(space="s", key="k", value=b"1", expires_at=clock.now() + 5)])
    await store.commit([SetValue(space="s", key="stays", value=b"1")])
    assert await store.value("s", "k") == b"1"
    clock.jump(5)
    assert await store.value("s", "k") is None
    assert await store.values("s") == {"stays": b"1"}
    assert await store.sweep(clock.now()) == 1
    clock.jump(-5)
    assert await store.value("s", "k") is None


async def test_a_blob_is_stored_once_under_its_digest(store: AnyStore) -> None:
    content = bytes(range(256)) * 100
    write = PutBlob(digest=sha256(content), content=content)
    await store.commit([write, write])
    await store.commit([write])
    assert await store.blob(write.digest) == content
    assert await store.blob(sha256(b"else")) is None


async def test_a_blob_with_a_false_digest_is_refused(store: AnyStore) -> None:
    with pytest.raises(BadInput):
        await store.commit([SetValue(space="s", key="k", value=b"v"), PutBlob(digest=sha256(b"a"), content=b"b")])
    assert await store.value("s", "k") is None


async def test_a_unit_without_writes_gives_nothing(store: AnyStore) -> None:
    assert await store.commit([]) == ()


async def test_something_that_is_not_a_write_is_refused(store: AnyStore) -> None:
    with pytest.raises(BadInput):
        await store.commit(["DROP TABLE events"])  # type: ignore[list-item]
