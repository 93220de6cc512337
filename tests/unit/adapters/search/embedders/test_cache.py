from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import apsw
import pytest

from ostiary.adapters.search.database import open_reading, open_writer
from ostiary.adapters.search.embedders.cache import Cached, TableCache, WithFallback, key_of
from ostiary.adapters.store.sqlite.threads import Job, Threads
from ostiary.contracts.errors import EmbedderUnavailable, StoreUnavailable
from ostiary.contracts.search import EmbedKind
from ostiary.kit.clock import ManualClock

KEY = bytes(range(32))


class Counting:
    """Gives each text a vector and remembers what it was asked."""

    def __init__(self, name: str = "counting", dimensions: int = 2) -> None:
        self.name = name
        self.dimensions = dimensions
        self.asked: list[str] = []
        self.is_down = False
        self.gate: anyio.Event | None = None
        self.began = anyio.Event()

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        self.began.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.is_down:
            raise EmbedderUnavailable(f"{self.name} is down.")
        self.asked += texts
        return tuple(
            f"{self.name[0]}{kind[0]}{text}".encode().ljust(4 * self.dimensions)[: 4 * self.dimensions] for text in texts
        )


class Remembering:
    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}
        self.is_down = False

    async def get(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        if self.is_down:
            raise StoreUnavailable("The disk is gone.")
        return {key: self.kept[key] for key in keys if key in self.kept}

    async def put(self, items: Mapping[bytes, bytes]) -> None:
        if self.is_down:
            raise StoreUnavailable("The disk is gone.")
        self.kept |= items


async def test_a_text_is_embedded_once() -> None:
    embedder = Counting()
    cached = Cached(embedder, Remembering())
    first = await cached.embed(["pear", "plum", "pear"], "passage")
    second = await cached.embed(["plum", "fig", "pear"], "passage")
    assert embedder.asked == ["pear", "plum", "fig"]
    assert first == (b"cppear  ", b"cpplum  ", b"cppear  ")
    assert second == (b"cpplum  ", b"cpfig   ", b"cppear  ")


async def test_question_and_passage_of_the_same_words_are_kept_apart() -> None:
    cached = Cached(Counting(), Remembering())
    assert await cached.embed(["pear"], "passage") != await cached.embed(["pear"], "query")


async def test_another_embedder_does_not_get_the_vectors_of_the_first() -> None:
    cache = Remembering()
    await Cached(Counting("first"), cache).embed(["pear"], "passage")
    second = Counting("second")
    await Cached(second, cache).embed(["pear"], "passage")
    assert second.asked == ["pear"]


async def test_a_kept_vector_of_the_wrong_size_is_made_again() -> None:
    cache = Remembering()
    cache.kept[key_of("counting", "passage", "pear")] = b"odd"
    assert await Cached(Counting(), cache).embed(["pear"], "passage") == (b"cppear  ",)


async def test_known_texts_need_no_embedder() -> None:
    embedder = Counting()
    cached = Cached(embedder, Remembering())
    await cached.embed(["pear"], "passage")
    embedder.is_down = True
    assert await cached.embed(["pear"], "passage") == (b"cppear  ",)
    with pytest.raises(EmbedderUnavailable):
        await cached.embed(["pear", "fig"], "passage")


async def test_a_broken_cache_costs_only_time() -> None:
    cache = Remembering()
    cache.is_down = True
    embedder = Counting()
    cached = Cached(embedder, cache)
    assert await cached.embed(["pear"], "passage") == await cached.embed(["pear"], "passage")
    assert embedder.asked == ["pear", "pear"]


class _Hand:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def work(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            job.result = job.call(self._connection)

    def close(self) -> None:
        self._connection.close()


@asynccontextmanager
async def table(folder: Path, most: int) -> AsyncIterator[TableCache]:
    path = folder / "search.db"
    writing = Threads(lambda: _Hand(open_writer(path, KEY)), name="w", size=1, batch=1, idle=30.0)
    reading = Threads(lambda: _Hand(open_reading(path, KEY)), name="r", size=1, batch=1, idle=30.0)
    try:
        cache = TableCache(reading=reading, writing=writing, most=most)
        await cache.put({})
        yield cache
    finally:
        await reading.close()
        await writing.close()


async def test_the_table_keeps_what_it_was_given_over_a_restart(tmp_path: Path) -> None:
    async with table(tmp_path, 10) as cache:
        await cache.put({b"a": b"1", b"b": b"2"})
    async with table(tmp_path, 10) as cache:
        assert await cache.get([b"a", b"b", b"c"]) == {b"a": b"1", b"b": b"2"}


async def test_the_table_keeps_the_newest_and_no_more_than_its_size(tmp_path: Path) -> None:
    keys = [str(number).encode() for number in range(8)]
    async with table(tmp_path, 5) as cache:
        await cache.put(dict.fromkeys(keys, b"v"))
        await cache.put({b"1": b"again", b"new": b"v"})
        kept = await cache.get([*keys, b"new"])
    assert sorted(kept) == [b"1", b"5", b"6", b"7", b"new"]
    assert kept[b"1"] == b"again"


async def test_more_keys_than_one_statement_takes_are_asked_for_in_parts(tmp_path: Path) -> None:
    keys = [str(number).encode() for number in range(1_203)]
    async with table(tmp_path, 5_000) as cache:
        await cache.put(dict.fromkeys(keys, b"v"))
        assert len(await cache.get(keys)) == 1_203


async def failing(embedder: WithFallback, times: int) -> str:
    """The words of the last failure."""
    words = ""
    for _ in range(times):
        with pytest.raises(EmbedderUnavailable) as caught:
            await embedder.embed(["pear"], "query")
        words = str(caught.value)
    return words


async def test_a_short_failure_does_not_change_who_makes_the_vectors() -> None:
    first, clock = Counting("first"), ManualClock()
    both = WithFallback(first, Counting("second", 3), clock=clock, after=600)
    first.is_down = True
    assert await failing(both, 9) == "first is down."
    await clock.advance(599)
    assert await failing(both, 1) == "first is down."
    assert (both.name, both.dimensions) == ("first", 2)


async def test_a_few_failures_far_apart_are_not_enough() -> None:
    first, clock = Counting("first"), ManualClock()
    both = WithFallback(first, Counting("second", 3), clock=clock, after=600)
    first.is_down = True
    await failing(both, 1)
    await clock.advance(9_000)
    await failing(both, 1)
    assert both.name == "first"


async def test_after_a_long_failure_the_second_takes_over_under_its_own_name() -> None:
    first, clock = Counting("first"), ManualClock()
    both = WithFallback(first, Counting("second", 3), clock=clock, after=600)
    first.is_down = True
    await failing(both, 2)
    await clock.advance(600)
    assert await failing(both, 1) == "first is down. second takes its place, and the index is made anew."
    assert (both.name, both.dimensions) == ("second", 3)
    assert await both.embed(["pear"], "query") == (b"sqpear      ",)


async def test_a_success_between_begins_the_count_anew() -> None:
    first, clock = Counting("first"), ManualClock()
    both = WithFallback(first, Counting("second"), clock=clock, after=600)
    first.is_down = True
    await failing(both, 2)
    first.is_down = False
    await clock.advance(300)
    await both.embed(["pear"], "query")
    first.is_down = True
    await clock.advance(400)
    await failing(both, 5)
    assert both.name == "first"


async def test_callers_who_gave_up_waiting_count_as_failures() -> None:
    first, clock = Counting("first"), ManualClock()
    both = WithFallback(first, Counting("second"), clock=clock, after=0)
    first.gate = anyio.Event()
    for _ in range(3):
        with anyio.move_on_after(0):
            await both.embed(["pear"], "query")
    assert both.name == "second"


async def test_a_call_that_began_with_the_first_never_ends_with_vectors_under_the_seconds_name() -> None:
    first, clock = Counting("first"), ManualClock()
    both = WithFallback(first, Counting("second"), clock=clock, after=0)
    slow_first = first.gate = anyio.Event()
    caught: list[EmbedderUnavailable] = []

    async def late() -> None:
        with pytest.raises(EmbedderUnavailable) as refused:
            await both.embed(["pear"], "passage")
        caught.append(refused.value)

    async with anyio.create_task_group() as group:
        group.start_soon(late)
        with anyio.fail_after(5):
            await first.began.wait()
        first.gate, first.is_down = None, True
        await failing(both, 3)
        first.is_down = False
        slow_first.set()
    assert "given up meanwhile" in str(caught[0])


async def test_when_the_second_fails_as_well_its_own_words_are_heard() -> None:
    first, second, clock = Counting("first"), Counting("second"), ManualClock()
    both = WithFallback(first, second, clock=clock, after=0)
    first.is_down = second.is_down = True
    assert (await failing(both, 3)).startswith("first is down")
    assert await failing(both, 1) == "second is down."
