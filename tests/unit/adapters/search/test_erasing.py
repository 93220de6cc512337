"""Nobody tells the index here: what the store has erased leaves it all the same, whenever it is opened next."""

import zlib
from pathlib import Path

import anyio

from ostiary.adapters.search import SearchOptions
from ostiary.adapters.search.database import open_reading
from ostiary.adapters.store import erasures
from ostiary.contracts.content import Label, Text, Trust
from ostiary.contracts.events import ModelAnswered
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import Usage
from ostiary.contracts.search import Reach
from ostiary.contracts.store import Append, DeleteSession, ErasePayload, EraseVersions, Put
from tests.unit.adapters.search.house import KEY, House, Letters, open_house, wait_until

MAIN = SessionKey.parse("agent:main:main")
OTHER = SessionKey.parse("agent:main:other")
SAID = Reach(collections=("_sessions",))


async def _say(house: House, text: str, key: SessionKey = MAIN) -> None:
    part = Text(text=text, label=Label(trust=Trust.OWNER))
    event = ModelAnswered(step=1, parts=(part,), stop="end", usage=Usage(), model="m")
    await house.store.commit([Append(session=key, turn="t", at=1.0, event=event)])


def _pages(folder: Path) -> bytes:
    """Every page as it lies in the file, those that are free too."""
    connection = open_reading(folder / "search.db", KEY)
    pages = connection.serialize("main")
    connection.close()
    return pages


async def test_a_deleted_session_is_found_no_more_although_nobody_told_the_index(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await _say(house, "albatross")
        await _say(house, "pelican", OTHER)
        assert await house.paths("albatross", SAID)
        await house.store.commit([DeleteSession(key=MAIN)])
        assert await house.paths("albatross", SAID) == []
        assert await house.paths("pelican", SAID) == ["agent:main:other/1"]


async def test_an_erasure_before_a_crash_reaches_the_index_at_the_next_opening(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await _say(house, "the pass phrase is albatross")
        await _say(house, "something else: pelican")
        assert await house.paths("albatross", SAID)
        await house.store.commit([ErasePayload(session=MAIN, seq=1)])
    async with open_house(tmp_path) as house:
        assert await house.paths("albatross", SAID) == []
        assert await house.paths("pelican", SAID) == ["agent:main:main/2"]
        assert await house.store.values(erasures.SPACE) == {}


async def test_nothing_of_an_erased_document_is_left_in_the_pages_of_the_file(tmp_path: Path) -> None:
    secret = "albatross " * 40
    async with open_house(tmp_path) as house:
        await house.put("a.md", secret)
        await house.index.settle()
    assert zlib.compress(secret.encode(), 1) in _pages(tmp_path)
    async with open_house(tmp_path) as house:
        await house.store.commit([EraseVersions(collection="_memory", path="a.md")])
        await house.index.settle()
        assert await house.paths("albatross") == []
    assert zlib.compress(secret.encode(), 1) not in _pages(tmp_path)


async def test_a_later_erasure_of_the_same_path_is_noted_again(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        for text in ("albatross", "pelican"):
            await house.put("a.md", text)
            assert await house.paths(text) == ["a.md"]
            await house.store.commit([EraseVersions(collection="_memory", path="a.md")])
            assert await house.paths(text) == []


async def test_what_is_erased_while_a_new_index_is_made_is_in_neither(tmp_path: Path) -> None:
    first, second = Letters("first"), Letters("second")
    async with open_house(tmp_path, embedder=first) as house:
        await _say(house, "albatross")
        await house.index.settle()
    second.gate = anyio.Event()
    async with (
        open_house(tmp_path, embedder=second, options=SearchOptions(embedding=0.01)) as house,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(house.index.settle)
        await wait_until(lambda: house.index.progress is not None)
        await house.store.commit([ErasePayload(session=MAIN, seq=1)])
        await house.index.forget("_sessions", str(MAIN))
        assert await house.paths("albatross", SAID) == []
        second.gate.set()
    async with open_house(tmp_path, embedder=second) as house:
        await house.index.settle()
        assert await house.paths("albatross", SAID) == []


async def test_vectors_made_of_an_older_text_are_not_kept_for_the_newer(tmp_path: Path) -> None:
    embedder = Letters()
    async with open_house(tmp_path, embedder=embedder) as house, anyio.create_task_group() as tasks:
        await house.put("a.md", "albatross")
        embedder.gate = anyio.Event()
        tasks.start_soon(house.index.settle)
        await wait_until(lambda: embedder.waiting == 1)
        await house.put("a.md", "pelican")
        await house.index.forget("_memory", "a.md")
        embedder.gate.set()
    assert "pelican" in embedder.asked


async def test_forgetting_has_its_turn_while_much_is_taken_in(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.put("a.md", "albatross")
        await house.index.settle()
        puts = [
            Put(collection="_memory", path=f"{number}.md", content=b"pelican", at=1.0, author="owner") for number in range(1000)
        ]
        await house.store.commit(puts)
        await house.store.commit([EraseVersions(collection="_memory", path="a.md")])
        taken_in = 0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(house.index.settle)
            await house.index.forget("_memory", "a.md")
            taken_in = (await house.index.status()).documents
        assert taken_in < 1000
        assert (await house.index.status()).documents == 1000
