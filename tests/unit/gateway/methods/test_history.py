from pathlib import Path
from typing import Any

import pytest

from ostiary.adapters.store.sqlite import open_store
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.events import Compacted, Event, Reset, TurnEnded
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Append
from ostiary.gateway.methods.history import newest_page, newest_turns
from ostiary.gateway.protocol.errors import MethodError
from ostiary.kit.clock import ManualClock
from tests.unit.gateway.methods.test_turns import answered, requested, say, started

MAIN = SessionKey("main", "main")
KEY = bytes(range(32))


class CountingStore:
    """Counts how many events were read."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.events = 0

    async def read(self, *args: Any, **more: Any) -> Any:
        found = await self._inner.read(*args, **more)
        self.events += len(found)
        return found


async def filled(store: Any, turns: int, reset_at: int = -1) -> int:
    events: list[tuple[str, Event]] = []
    for number in range(turns):
        name = f"turn_{number}"
        if number == reset_at:
            events.append(("", Reset(reason="new")))
        events += [
            (name, started(f"question {number}")),
            (name, requested()),
            (name, answered(1, say(f"answer {number}"))),
            (name, TurnEnded(status="completed", reply=f"answer {number}")),
        ]
    for start in range(0, len(events), 500):
        await store.commit([Append(session=MAIN, turn=turn, at=1.0, event=event) for turn, event in events[start : start + 500]])
    return len(events)


async def test_pages_go_back_to_the_beginning_without_a_gap(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        last = await filled(store, 120)
        seen: list[str] = []
        before, more = "", True
        while more:
            turns, more = await newest_turns(store, MAIN, last, 50, before)
            seen = [turn.id for turn in turns] + seen
            before = turns[0].id
        assert seen == [f"turn_{number}" for number in range(120)]


async def test_a_long_session_is_opened_by_reading_its_end(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        last = await filled(store, 2000)
        counting = CountingStore(store)
        turns, more = await newest_turns(counting, MAIN, last, 50, "")  # type: ignore[arg-type]
        assert (len(turns), turns[-1].id, more) == (50, "turn_1999", True)
        assert counting.events < 400


async def test_a_conversation_begins_with_its_last_reset(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        last = await filled(store, 30, reset_at=20)
        turns, more = await newest_turns(store, MAIN, last, 50, "")
        assert ([turn.id for turn in turns], more) == ([f"turn_{number}" for number in range(20, 30)], False)


async def test_a_page_that_ends_exactly_at_the_beginning_says_there_is_no_more(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        last = await filled(store, 50)
        turns, more = await newest_turns(store, MAIN, last, 50, "")
        assert (len(turns), more) == (50, False)


async def test_the_last_summary_is_told_with_the_turn_from_which_on_everything_is_sent(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        last = await filled(store, 60)
        assert (await newest_page(store, MAIN, last, 50, "")).summarised is None
        label = Label(trust=Trust.OWNER)
        for kept_from in ("turn_1", "turn_5"):
            made = Compacted(summary=f"before {kept_from}", kept_from=kept_from, label=label)
            await store.commit([Append(session=MAIN, turn="turn_59", at=7.0, event=made)])
        page = await newest_page(store, MAIN, last + 2, 50, "")
        assert page.summarised is not None
        assert (page.summarised.kept_from, page.summarised.summary, page.summarised.at) == ("turn_5", "before turn_5", 7.0)
        assert (await newest_page(store, MAIN, last + 2, 50, page.turns[0].id)).summarised is None


async def test_an_empty_session_has_no_turns(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        assert await newest_turns(store, MAIN, 0, 50, "") == ([], False)


async def test_a_turn_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as store:
        last = await filled(store, 3)
        for before in ("turn_9", "note-x", "note-99", "past-1-1", "past-"):
            with pytest.raises(MethodError, match="no turn"):
                await newest_turns(store, MAIN, last, 50, before)
