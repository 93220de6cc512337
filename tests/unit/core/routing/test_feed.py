"""What screens see: bounded, deltas go first, nobody is delayed, nothing is left of a watcher that went away."""

import anyio
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.events import Delta, Recorded, Reset, Shown
from ostiary.core.routing.feed import Feed, Watcher
from tests.unit.core.routing.inbound import quick


def event(number: int, session: str = "a") -> Recorded:
    return Recorded(session=session, seq=number, turn="", at=0.0, event=Reset(reason="x"))


def delta(number: int, session: str = "a") -> Delta:
    return Delta(session=session, turn="t", step=1, attempt=1, offset=number, text="x", stream="assistant")


@quick
@given(kinds=st.lists(st.booleans(), max_size=60), backlog=st.integers(1, 10))
def test_a_watcher_holds_no_more_than_its_backlog_and_loses_no_event_while_it_lives(kinds: list[bool], backlog: int) -> None:
    watcher = Watcher(backlog)
    shown: list[Shown] = [event(place) if is_event else delta(place) for place, is_event in enumerate(kinds)]
    for each in shown:
        watcher.put(each)
    ready = watcher.take_ready()
    events = [each for each in shown if isinstance(each, Recorded)]
    kept = [each for each in ready if isinstance(each, Recorded)]
    assert len(ready) <= backlog + 1
    assert kept == events[: len(kept)]
    assert watcher.ended or kept == events
    assert watcher.lost_deltas + sum(isinstance(each, Delta) for each in ready) <= len(shown) - len(kept)


def test_deltas_go_first_when_a_watcher_falls_behind() -> None:
    watcher = Watcher(4)
    for shown in (delta(0), event(1), delta(1), event(2), event(3)):
        watcher.put(shown)
    assert [each.seq for each in watcher.take_ready() if isinstance(each, Recorded)] == [1, 2, 3]
    assert (watcher.lost_deltas, watcher.ended) == (2, False)


async def test_a_watcher_that_cannot_keep_up_with_events_is_ended_and_its_reader_told() -> None:
    watcher = Watcher(3)
    for number in range(10):
        watcher.put(event(number))
    with anyio.fail_after(1):
        seen = [each async for each in watcher]
    assert len(seen) == 4


async def test_a_reader_waits_and_is_woken() -> None:
    feed = Feed()
    seen: list[Shown] = []
    with feed.watch("a") as watcher:
        async with anyio.create_task_group() as group:

            async def read() -> None:
                seen.extend([each async for each in watcher])

            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            feed.publish([event(1)])
            await anyio.wait_all_tasks_blocked()
            feed.show(delta(2))
            feed.publish([event(9, "b")])
            await anyio.wait_all_tasks_blocked()
            watcher.end()
    assert seen == [event(1), delta(2)]


def test_who_watches_everything_sees_every_session() -> None:
    feed = Feed()
    with feed.watch("") as watcher:
        feed.publish([event(1, "a"), event(1, "b")])
        assert [each.session for each in watcher.take_ready()] == ["a", "b"]


def test_nothing_is_left_of_watchers_that_went_away() -> None:
    feed = Feed()
    for number in range(100):
        with feed.watch(f"s{number}"), feed.watch(""):
            assert feed.is_watched(f"s{number}")
    assert (feed._watchers, feed._all) == ({}, set())
    assert not feed.is_watched("s1")


def test_who_wants_events_alone_gets_no_deltas_and_causes_none() -> None:
    feed = Feed()
    with feed.watch("", deltas=False) as observer:
        assert not feed.is_watched("s1")
        feed.show(Delta(session="s1", turn="t", step=1, attempt=1, offset=0, text="hi", stream="assistant"))
        recorded = Recorded(session="s1", seq=1, turn="t", at=0.0, event=Reset(reason="x"))
        feed.publish([recorded])
        assert observer.take_ready() == [recorded]
