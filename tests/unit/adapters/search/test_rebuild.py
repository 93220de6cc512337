from pathlib import Path

import anyio
import pytest

from ostiary.adapters.search import index as index_module
from tests.unit.adapters.search.house import NOTES, Letters, open_house, wait_until


async def test_another_embedder_means_a_new_index_while_the_old_one_answers(tmp_path: Path) -> None:
    async with open_house(tmp_path, embedder=Letters("first")) as house:
        await house.put("a.md", "albatross")
        await house.index.settle()
    second = Letters("second", dimensions=128)
    async with open_house(tmp_path, embedder=second) as house, anyio.create_task_group() as tasks:
        second.gate = anyio.Event()
        tasks.start_soon(house.index.settle)
        await wait_until(lambda: house.index.progress is not None)
        await house.put("b.md", "albatross too")
        found = await house.index.query("albatross", reach=NOTES)
        assert sorted(passage.path for passage in found.passages) == ["a.md", "b.md"]
        assert found.mode == "words"
        assert any("new index" in notice for notice in found.notices)
        assert (await house.index.status()).rebuilding is not None
        second.gate.set()
    async with open_house(tmp_path, embedder=second) as house:
        await house.index.settle()
        found = await house.index.query("albatross", reach=NOTES)
        assert (found.mode, found.notices, len(found.passages)) == ("hybrid", (), 2)
        status = await house.index.status()
        assert (status.embedder, status.documents, status.rebuilding) == ("second", 2, None)


async def test_another_way_of_cutting_means_a_new_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_house(tmp_path) as house:
        await house.put("a.md", "albatross")
        await house.index.settle()
        before = await house.index.generation()
    monkeypatch.setattr(index_module, "CHUNKING", "other")
    async with open_house(tmp_path) as house:
        assert await house.paths("albatross") == ["a.md"]
        await house.index.settle()
        assert await house.paths("albatross") == ["a.md"]
        assert await house.index.generation() > before


async def test_a_reindex_finds_the_same_and_leaves_one_generation(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        for number in range(5):
            await house.put(f"{number}.md", f"albatross {number}")
        before = sorted(await house.paths("albatross"))
        await house.index.reindex()
        assert sorted(await house.paths("albatross")) == before
        assert house.index.progress is None
        assert (await house.index.status()).documents == 5


async def test_a_new_index_that_is_asked_for_is_made_in_the_background(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, anyio.create_task_group() as tasks:
        await house.put("a.md", "albatross")
        await house.index.settle()
        before = await house.index.generation()
        tasks.start_soon(house.index.run)
        await wait_until(lambda: house.clock.sleepers == 1)
        await house.index.ask_reindex()
        await house.index.ask_reindex()
        await wait_until(lambda: house.index.progress is None)
        assert await house.index.generation() == before + 1
        assert await house.paths("albatross") == ["a.md"]
        tasks.cancel_scope.cancel()


async def test_a_rebuild_that_was_cut_short_goes_on(tmp_path: Path) -> None:
    embedder = Letters()
    async with open_house(tmp_path, embedder=embedder) as house:
        await house.put("a.md", "albatross")
        await house.index.settle()
        embedder.gate = anyio.Event()
        other = Letters("other")
        other.gate = anyio.Event()
    async with open_house(tmp_path, embedder=other) as house, anyio.create_task_group() as tasks:
        tasks.start_soon(house.index.settle)
        await wait_until(lambda: house.index.progress is not None)
        tasks.cancel_scope.cancel()
    other.gate.set()
    async with open_house(tmp_path, embedder=other) as house:
        await house.index.settle()
        assert (await house.index.query("albatross", reach=NOTES)).mode == "hybrid"
