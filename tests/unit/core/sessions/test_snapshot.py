"""A session opened from a snapshot is the session that was folded from the beginning."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.adapters.store.snapshots import SnapshotCodec
from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.contracts.errors import StoreRefused, StoreUnavailable
from ostiary.contracts.events import Event, TurnEnded
from ostiary.contracts.store import Append, ErasePayload, SaveSnapshot, Write
from ostiary.core.routing.feed import Feed
from ostiary.core.sessions.pen import Sessions
from ostiary.core.sessions.session import Session, Turn, fold
from ostiary.core.sessions.snapshot import EVERY, SCHEMA, Frozen, FrozenTurn, freeze, thaw
from ostiary.kit.clock import ManualClock
from tests.unit.core.engines import KEY as STORE_KEY
from tests.unit.core.routing.inbound import quick
from tests.unit.core.sessions.test_session import KEY, answered, any_event, journal, started, state, turns

CODEC = SnapshotCodec()


def whole(session: Session) -> object:
    turn = session.last_turn
    extra = (session.summary, session.compactions, session.renewed, session.answered_at, session.created_at, session.updated_at)
    return (state(session), extra, [getattr(turn, each.name) for each in fields(turn)] if turn is not None else None)


@quick
@given(events=st.lists(st.tuples(turns, any_event), max_size=25), later=st.lists(st.tuples(turns, any_event), max_size=10))
def test_a_snapshot_and_what_came_after_it_is_the_whole_fold(
    events: list[tuple[str, Event]], later: list[tuple[str, Event]]
) -> None:
    recorded = journal(*events, ("t9", TurnEnded(status="completed")), *later)
    place = len(events) + 1
    packed = CODEC.encode(freeze(fold(KEY, recorded[:place])))
    opened = fold(KEY, recorded[place:], thaw(KEY, CODEC.decode(Frozen, packed)))
    assert whole(opened) == whole(fold(KEY, recorded))


@pytest.mark.parametrize("packed", [b"", b"{", b"[]", b"{}", b'{"seq": 1, "messages": [{"role": "nobody"}]}'])
def test_bytes_that_are_no_snapshot_are_refused(packed: bytes) -> None:
    with pytest.raises(StoreRefused):
        CODEC.decode(Frozen, packed)


def a_turn(number: int) -> list[Write]:
    turn = f"t{number}"
    said: Sequence[Event] = (started(f"hello {number}"), answered(), TurnEnded(status="completed"))
    return [Append(session=KEY, turn=turn, at=float(number), event=event) for event in said]


async def filled(store: SqliteStore, numbers: range) -> None:
    for number in numbers:
        await store.commit(a_turn(number))


def sessions_of(store: SqliteStore) -> Sessions:
    return Sessions(store=store, feed=Feed(), clock=ManualClock(), codec=CODEC)


async def test_a_long_session_is_saved_once_and_opened_from_there(tmp_path: Path) -> None:
    async with open_store(tmp_path / "s.db", STORE_KEY, clock=ManualClock()) as store:
        await filled(store, range(EVERY))
        first = sessions_of(store)
        assert not await first.save(KEY)
        folded = await first.get(KEY)
        assert await first.save(KEY)
        assert not await first.save(KEY)
        await filled(store, range(EVERY, EVERY + 2))
        snapshot = await store.snapshot(KEY)
        opened = await sessions_of(store).get(KEY)
        assert whole(opened) == whole(fold(KEY, await store.read(KEY)))
    assert snapshot is not None
    assert (snapshot.seq, snapshot.schema) == (folded.seq, SCHEMA)


@pytest.mark.parametrize(("schema", "packed"), [("fold-0", None), (SCHEMA, b"damaged"), (SCHEMA, b"{}")])
async def test_a_snapshot_nobody_can_read_counts_as_none(tmp_path: Path, schema: str, packed: bytes | None) -> None:
    async with open_store(tmp_path / "s.db", STORE_KEY, clock=ManualClock()) as store:
        await filled(store, range(3))
        good = CODEC.encode(freeze(fold(KEY, await store.read(KEY))))
        await store.commit([SaveSnapshot(session=KEY, seq=9, schema=schema, state=good if packed is None else packed)])
        await store.commit(a_turn(3))
        assert whole(await sessions_of(store).get(KEY)) == whole(fold(KEY, await store.read(KEY)))


async def test_a_snapshot_that_speaks_of_another_event_than_it_is_filed_under_is_not_believed(tmp_path: Path) -> None:
    async with open_store(tmp_path / "s.db", STORE_KEY, clock=ManualClock()) as store:
        await filled(store, range(3))
        events = await store.read(KEY)
        state_of_six = CODEC.encode(freeze(fold(KEY, events[:6])))
        await store.commit([SaveSnapshot(session=KEY, seq=9, schema=SCHEMA, state=state_of_six)])
        assert whole(await sessions_of(store).get(KEY)) == whole(fold(KEY, events))


async def test_what_was_erased_is_not_opened_from_a_snapshot(tmp_path: Path) -> None:
    async with open_store(tmp_path / "s.db", STORE_KEY, clock=ManualClock()) as store:
        await filled(store, range(EVERY))
        sessions = sessions_of(store)
        await sessions.get(KEY)
        assert await sessions.save(KEY)
        await store.commit([ErasePayload(session=KEY, seq=1)])
        opened = await sessions_of(store).get(KEY)
    assert all("hello 0" not in str(getattr(message, "parts", "")).split("'") for message in opened.messages)
    assert len(opened.messages) == EVERY * 2 - 1


async def test_a_store_that_does_not_take_a_snapshot_changes_nothing(tmp_path: Path) -> None:
    async with open_store(tmp_path / "s.db", STORE_KEY, clock=ManualClock()) as store:
        await filled(store, range(EVERY))
        sessions = sessions_of(store)
        session = await sessions.get(KEY)

        async def refuse(writes: Sequence[Write], **_: object) -> tuple[int, ...]:
            raise StoreUnavailable("the disk is full")

        sessions.write = refuse  # type: ignore[method-assign]
        assert not await sessions.save(KEY)
        assert await sessions.get(KEY) is session


def test_nothing_of_a_session_is_left_out_of_a_snapshot() -> None:
    not_folded = {"key", "name", "turn", "prefix_text", "pruned", "plain", "counted", "flushed"}
    assert set(vars(Session(KEY))) - not_folded == {each.name for each in fields(Frozen)}
    made_of_a_step = {"calls", "suspended", "unattended"}
    assert {each.name for each in fields(Turn)} - made_of_a_step == {each.name for each in fields(FrozenTurn)}
