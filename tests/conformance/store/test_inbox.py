from dataclasses import replace

import pytest

from ostiary.contracts.errors import AlreadyAccepted, Conflict
from ostiary.contracts.messages import Address
from ostiary.contracts.store import Accept, MarkInbox, SetValue
from tests.conformance.store.conftest import AnyStore, MakeStore
from tests.conformance.store.words import NOW, PLACE, item


async def test_an_accepted_message_is_read_back_whole(store: AnyStore) -> None:
    (given,) = await store.commit([Accept(item=item())])
    found = await store.inbox_item(given)
    assert found == replace(item(), id=given)


async def test_a_message_is_accepted_only_once(store: AnyStore) -> None:
    (first,) = await store.commit([Accept(item=item("m1"))])
    with pytest.raises(AlreadyAccepted) as refused:
        await store.commit([Accept(item=item("m1", words="again"))])
    assert refused.value.item == first


async def test_a_message_is_accepted_only_once_even_if_a_restart_lies_between(make_store: MakeStore) -> None:
    async with make_store() as before:
        (first,) = await before.commit([Accept(item=item("m1"))])
    async with make_store() as after:
        with pytest.raises(AlreadyAccepted) as refused:
            await after.commit([Accept(item=item("m1"))])
    assert refused.value.item == first


@pytest.mark.parametrize(
    "place",
    [
        replace(PLACE, channel="x"),
        replace(PLACE, account="x"),
        replace(PLACE, chat="x"),
        replace(PLACE, thread="x"),
    ],
)
async def test_the_same_message_id_in_another_place_is_another_message(store: AnyStore, place: Address) -> None:
    (first,) = await store.commit([Accept(item=item("m1"))])
    (second,) = await store.commit([Accept(item=item("m1", place=place))])
    assert second > first


async def test_a_refused_duplicate_takes_its_whole_unit_with_it(store: AnyStore) -> None:
    await store.commit([Accept(item=item("m1"))])
    with pytest.raises(AlreadyAccepted):
        await store.commit([SetValue(space="s", key="k", value=b"v"), Accept(item=item("m1"))])
    assert await store.value("s", "k") is None


async def test_two_copies_of_a_message_in_one_unit_are_refused(store: AnyStore) -> None:
    with pytest.raises(AlreadyAccepted):
        await store.commit([Accept(item=item("m1")), Accept(item=item("m1"))])
    assert (await store.pending()).inbox == ()


async def test_waiting_claimed_and_dropped_messages_are_pending_in_the_order_of_acceptance(store: AnyStore) -> None:
    ids = await store.commit([Accept(item=item(f"m{n}")) for n in range(4)])
    await store.commit([MarkInbox(ids=(ids[2],), state="claimed", turn="t1"), MarkInbox(ids=(ids[1],), state="dropped")])
    await store.commit([MarkInbox(ids=(ids[0],), state="done", turn="t0")])
    found = (await store.pending()).inbox
    assert [(one.id, one.state, one.turn) for one in found] == [
        (ids[1], "dropped", ""),
        (ids[2], "claimed", "t1"),
        (ids[3], "waiting", ""),
    ]


async def test_a_finished_message_gives_up_its_words_and_keeps_its_key_and_turn(store: AnyStore) -> None:
    (given,) = await store.commit([Accept(item=item("m1", words="a secret"))])
    await store.commit([MarkInbox(ids=(given,), state="done", turn="t1")])
    found = await store.inbox_item(given)
    assert found is not None
    assert (found.state, found.turn, found.message.id, found.message.address) == ("done", "t1", "m1", PLACE)
    assert (found.message.text, found.message.sender_name, found.instructions, found.directives) == ("", "", "", {})
    with pytest.raises(AlreadyAccepted):
        await store.commit([Accept(item=item("m1"))])


async def test_marking_a_message_finished_again_changes_nothing(store: AnyStore) -> None:
    (given,) = await store.commit([Accept(item=item("m1"))])
    await store.commit([MarkInbox(ids=(given,), state="done", turn="t1")])
    await store.commit([MarkInbox(ids=(given,), state="done")])
    found = await store.inbox_item(given)
    assert found is not None
    assert found.turn == "t1"


async def test_a_finished_message_cannot_be_put_back_to_work(store: AnyStore) -> None:
    (given,) = await store.commit([Accept(item=item("m1"))])
    await store.commit([MarkInbox(ids=(given,), state="done")])
    with pytest.raises(Conflict):
        await store.commit([MarkInbox(ids=(given,), state="waiting")])


async def test_a_message_that_does_not_exist_cannot_be_marked(store: AnyStore) -> None:
    with pytest.raises(Conflict):
        await store.commit([MarkInbox(ids=(77,), state="done")])


async def test_a_debounce_deadline_can_be_moved_alone(store: AnyStore) -> None:
    (given,) = await store.commit([Accept(item=item("m1"))])
    await store.commit([MarkInbox(ids=(given,), ready_at=NOW + 9)])
    found = await store.inbox_item(given)
    assert found == replace(item("m1"), id=given, ready_at=NOW + 9)


async def test_an_unknown_inbox_row_reads_as_none(store: AnyStore) -> None:
    assert await store.inbox_item(1) is None


async def test_the_keys_of_long_finished_messages_are_swept_and_open_ones_stay(store: AnyStore) -> None:
    ids = await store.commit([Accept(item=item(f"m{n}")) for n in range(3)])
    await store.commit([MarkInbox(ids=(ids[0], ids[2]), state="done")])
    assert await store.sweep(NOW + 60, keep_keys=30) == 1
    assert await store.inbox_item(ids[0]) is None
    assert [one.id for one in (await store.pending()).inbox] == [ids[1]]
    (fresh,) = await store.commit([Accept(item=item("m9"))])
    assert fresh > ids[2]


async def test_sweeping_looks_at_a_bounded_number_of_rows(store: AnyStore) -> None:
    ids = await store.commit([Accept(item=item(f"m{n}")) for n in range(6)])
    await store.commit([MarkInbox(ids=ids, state="done")])
    swept = [await store.sweep(NOW + 60, keep_keys=30, limit=2) for _ in range(4)]
    assert swept == [2, 2, 1, 0]
