from dataclasses import replace

import anyio
import pytest

from ostiary.contracts.content import Thinking, ToolCall, UserMessage
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.events import (
    Branched,
    Erased,
    Event,
    ModelAnswered,
    Recorded,
    SettingChanged,
    ToolResulted,
    TurnInput,
    TurnStarted,
)
from ostiary.contracts.model import Usage
from ostiary.contracts.store import (
    Append,
    DeleteSession,
    Enqueue,
    ErasePayload,
    MarkOutbox,
    MarkTurn,
    SaveSession,
    SaveSnapshot,
    Snapshot,
)
from tests.conformance.store.conftest import AnyStore, MakeStore
from tests.conformance.store.words import LABEL, MAIN, NOW, OTHER, OWNER, PLACE, record, reply, setting, text


async def values_of(store: AnyStore) -> list[str]:
    return [one.event.value for one in await store.read(MAIN) if isinstance(one.event, SettingChanged)]


async def test_events_count_from_one_within_their_session(store: AnyStore) -> None:
    assert await store.commit([setting("a"), setting("b"), setting("c", session=OTHER)]) == (1, 2, 1)
    assert await store.commit([setting("d")]) == (3,)


async def test_counting_goes_on_after_a_restart(make_store: MakeStore) -> None:
    async with make_store() as before:
        await before.commit([setting("a"), setting("b")])
    async with make_store() as after:
        assert await after.commit([setting("c")]) == (3,)
        assert await after.verify(MAIN) == ""


async def test_an_event_is_read_back_as_it_was_written(store: AnyStore) -> None:
    event = ToolResulted(
        call_id="c1", name="read", text="é\n\0", is_error=False, fate="done", label=LABEL, details={"lines": [1, {"deep": None}]}
    )
    await store.commit([Append(session=MAIN, turn="t1", at=NOW, event=event)])
    assert await store.read(MAIN) == (Recorded(session=str(MAIN), seq=1, turn="t1", at=NOW, event=event),)


@pytest.mark.parametrize(
    "event",
    [
        TurnStarted(
            inputs=(TurnInput(item=3, parts=(text("hi"),), at=NOW),),
            principal=OWNER,
            reply_to=PLACE,
            context=(UserMessage(parts=(text("before"),)),),
        ),
        ModelAnswered(
            step=1,
            parts=(Thinking(text="hm", replay="{}"), text("yes"), ToolCall(id="c", name="n", arguments="{}")),
            stop="tool_calls",
            usage=Usage(input=1, cost=0.25),
            model="a/b",
        ),
        Branched(parent="agent:main:main", at=4, messages=(UserMessage(parts=(text("x"),)),)),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_unions_of_parts_and_messages_keep_their_types(store: AnyStore, event: Event) -> None:
    await store.commit([Append(session=MAIN, turn="t1", at=NOW, event=event)])
    (found,) = await store.read(MAIN)
    # Messages compare by identity; their text shows every class and field.
    assert repr(found.event) == repr(event)


async def test_reading_can_start_after_an_event_and_stop_at_a_limit(store: AnyStore) -> None:
    await store.commit([setting(value) for value in "abcde"])
    assert [one.seq for one in await store.read(MAIN, after=2)] == [3, 4, 5]
    assert [one.seq for one in await store.read(MAIN, after=1, limit=2)] == [2, 3]


async def test_reading_can_keep_one_turn(store: AnyStore) -> None:
    await store.commit([setting("a", turn="t1"), setting("b", turn="t2"), setting("c", turn="t1")])
    await store.commit([setting("x", turn="t1", session=OTHER)])
    assert [one.seq for one in await store.read(MAIN, turn="t1")] == [1, 3]
    assert [one.seq for one in await store.read(MAIN, turn="t1", after=1, limit=5)] == [3]
    assert await store.read(MAIN, turn="t9") == ()


async def test_an_unknown_session_has_an_empty_journal_that_verifies(store: AnyStore) -> None:
    assert await store.read(MAIN) == ()
    assert await store.verify(MAIN) == ""


async def test_expecting_the_right_end_of_a_journal_lets_the_unit_through(store: AnyStore) -> None:
    assert await store.commit([setting("a")], expect={str(MAIN): 0}) == (1,)
    assert await store.commit([setting("b")], expect={str(MAIN): 1, str(OTHER): 0}) == (2,)


async def test_expecting_a_wrong_end_of_a_journal_writes_nothing(store: AnyStore) -> None:
    await store.commit([setting("a")])
    with pytest.raises(Conflict):
        await store.commit([setting("b"), setting("x", session=OTHER)], expect={str(MAIN): 0})
    assert await values_of(store) == ["a"]
    assert await store.read(OTHER) == ()


async def test_of_two_units_that_expect_the_same_end_exactly_one_is_written(store: AnyStore) -> None:
    refused: list[str] = []

    async def attempt(value: str) -> None:
        try:
            await store.commit([setting(value)], expect={str(MAIN): 0})
        except Conflict:
            refused.append(value)

    async with anyio.create_task_group() as group:
        for value in "abcd":
            group.start_soon(attempt, value)
    assert len(refused) == 3
    assert sorted([*refused, *await values_of(store)]) == ["a", "b", "c", "d"]


async def test_an_erased_payload_leaves_a_hole_that_verifies(store: AnyStore) -> None:
    await store.commit([setting("a"), setting("a secret"), setting("c")])
    await store.commit([ErasePayload(session=MAIN, seq=2)])
    found = await store.read(MAIN)
    erased = found[1].event
    assert isinstance(erased, Erased)
    assert (erased.kind, len(erased.digest)) == ("session.setting", 64)
    assert [one.seq for one in found] == [1, 2, 3]
    assert await store.verify(MAIN) == ""


async def test_erasing_twice_is_the_same_as_once(store: AnyStore) -> None:
    await store.commit([setting("a")])
    await store.commit([ErasePayload(session=MAIN, seq=1)])
    await store.commit([ErasePayload(session=MAIN, seq=1)])
    assert await store.verify(MAIN) == ""


async def test_equal_payloads_have_different_digests_so_that_an_erased_one_cannot_be_guessed(store: AnyStore) -> None:
    await store.commit([setting("yes"), setting("yes")])
    await store.commit([ErasePayload(session=MAIN, seq=1), ErasePayload(session=MAIN, seq=2)])
    digests = {one.event.digest for one in await store.read(MAIN) if isinstance(one.event, Erased)}
    assert len(digests) == 2


async def test_erasing_throws_the_cached_fold_away(store: AnyStore) -> None:
    await store.commit([setting("a secret"), SaveSnapshot(session=MAIN, seq=1, schema="s1", state=b"a secret")])
    await store.commit([ErasePayload(session=MAIN, seq=1)])
    assert await store.snapshot(MAIN) is None


async def test_an_event_that_does_not_exist_cannot_be_erased(store: AnyStore) -> None:
    await store.commit([setting("a")])
    with pytest.raises(BadInput):
        await store.commit([ErasePayload(session=MAIN, seq=2)])


async def test_the_mark_of_an_erasure_cannot_itself_be_appended(store: AnyStore) -> None:
    with pytest.raises(BadInput):
        await store.commit([Append(session=MAIN, turn="", at=NOW, event=Erased(kind="x", digest="y"))])


async def test_text_that_is_not_unicode_is_refused_and_writes_nothing(store: AnyStore) -> None:
    with pytest.raises(BadInput):
        await store.commit([setting("a"), setting("\ud800")])
    assert await store.read(MAIN) == ()


async def test_a_snapshot_replaces_the_earlier_one(store: AnyStore) -> None:
    await store.commit([setting("a"), SaveSnapshot(session=MAIN, seq=1, schema="s1", state=b"one")])
    await store.commit([setting("b"), SaveSnapshot(session=MAIN, seq=2, schema="s2", state=b"two")])
    assert await store.snapshot(MAIN) == Snapshot(seq=2, schema="s2", state=b"two")


async def test_a_snapshot_ahead_of_its_journal_is_refused(store: AnyStore) -> None:
    await store.commit([setting("a")])
    with pytest.raises(Conflict):
        await store.commit([SaveSnapshot(session=MAIN, seq=2, schema="s1", state=b"x")])


async def test_a_deleted_session_is_gone_and_its_neighbour_is_not(store: AnyStore) -> None:
    await store.commit([setting("a"), setting("x", session=OTHER), SaveSession(record=record())])
    await store.commit([SaveSnapshot(session=MAIN, seq=1, schema="s", state=b"x")])
    await store.commit([DeleteSession(key=MAIN)])
    assert await store.read(MAIN) == ()
    assert await store.session(MAIN) is None
    assert await store.snapshot(MAIN) is None
    assert len(await store.read(OTHER)) == 1


async def test_a_deleted_session_can_begin_again(store: AnyStore) -> None:
    await store.commit([setting("a"), setting("b")])
    await store.commit([DeleteSession(key=MAIN)])
    assert await store.commit([setting("c")]) == (1,)
    assert await store.verify(MAIN) == ""


async def test_deleting_and_beginning_again_may_be_one_unit(store: AnyStore) -> None:
    await store.commit([setting("a"), setting("b")])
    assert await store.commit([DeleteSession(key=MAIN), setting("c")]) == (0, 1)
    assert await values_of(store) == ["c"]


async def test_a_session_with_an_open_turn_is_not_deleted(store: AnyStore) -> None:
    await store.commit([setting("a"), MarkTurn(turn="t1", session=MAIN, lane="main", state="waiting")])
    with pytest.raises(Conflict, match="t1"):
        await store.commit([DeleteSession(key=MAIN)])
    await store.commit([MarkTurn(turn="t1", session=MAIN, lane="main", state="ended")])
    await store.commit([DeleteSession(key=MAIN)])
    assert await store.read(MAIN) == ()


async def test_deleting_a_session_takes_the_words_out_of_delivered_replies_and_keeps_their_keys(store: AnyStore) -> None:
    await store.commit([setting("a", turn="t1"), reply("t1:1:0", words="a secret"), reply("t1:1:1", words="to be sent")])
    await store.commit([MarkOutbox(key="t1:1:0", state="sent", attempts=1)])
    await store.commit([DeleteSession(key=MAIN)])
    delivered, waiting = await store.outbox_item("t1:1:0"), await store.outbox_item("t1:1:1")
    assert delivered is not None
    assert waiting is not None
    assert (delivered.message.text, delivered.message.choices, delivered.state) == ("", (), "sent")
    assert waiting.message.text == "to be sent"


async def test_deleting_an_unknown_session_changes_nothing(store: AnyStore) -> None:
    assert await store.commit([DeleteSession(key=MAIN)]) == (0,)


async def test_events_of_all_sessions_come_in_the_order_they_were_committed(store: AnyStore) -> None:
    await store.commit([setting("a"), setting("b", session=OTHER), setting("c")])
    places, events = zip(*await store.events_after(0), strict=True)
    assert [(each.session, each.seq) for each in events] == [(str(MAIN), 1), (str(OTHER), 1), (str(MAIN), 2)]
    assert list(places) == sorted(set(places))
    assert await store.events_after(places[0], limit=1) == ((places[1], events[1]),)
    assert await store.events_after(places[-1]) == ()


async def test_places_grow_even_where_the_newest_events_were_deleted(make_store: MakeStore) -> None:
    async with make_store() as store:
        await store.commit([setting("a"), setting("b", session=OTHER)])
        newest = (await store.events_after(0))[-1][0]
        await store.commit([DeleteSession(key=OTHER)])
    async with make_store() as store:
        await store.commit([setting("c")])
        ((place, found),) = await store.events_after(newest)
        assert place > newest
        assert found.seq == 2


async def test_a_turn_is_known_by_its_session(store: AnyStore) -> None:
    await store.commit([setting("a", turn="t1"), setting("b", session=OTHER, turn="t2"), setting("c")])
    await store.commit([MarkTurn(turn="t3", session=OTHER, lane="main", state="running")])
    assert [await store.session_of(turn) for turn in ("t1", "t2", "t3", "t4", "")] == [MAIN, OTHER, OTHER, None, None]


async def test_erasing_an_event_takes_the_words_out_of_the_delivered_replies_of_its_turn(store: AnyStore) -> None:
    await store.commit([setting("a", turn="t1"), reply("t1:1:0", words="a secret"), reply("t2:1:0", words="another turn's")])
    await store.commit([MarkOutbox(key=key, state="sent", attempts=1) for key in ("t1:1:0", "t2:1:0")])
    await store.commit([ErasePayload(session=MAIN, seq=1)])
    kept = [await store.outbox_item(key) for key in ("t1:1:0", "t2:1:0")]
    assert [each.message.text for each in kept if each is not None] == ["", "another turn's"]


async def test_a_delivered_answer_to_a_command_keeps_its_key_and_loses_its_words(store: AnyStore) -> None:
    item = reply("c:1:0", words="the whole secret").item
    await store.commit([Enqueue(item=replace(item, turn=""))])
    await store.commit([MarkOutbox(key="c:1:0", state="sent", attempts=1)])
    kept = await store.outbox_item("c:1:0")
    assert kept is not None
    assert (kept.message.text, kept.state) == ("", "sent")
