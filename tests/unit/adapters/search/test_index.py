from pathlib import Path

import anyio
import pytest

from ostiary.adapters.search import Embedded, SearchOptions
from ostiary.contracts.content import Label, Text, Trust
from ostiary.contracts.errors import BadInput, StoreError
from ostiary.contracts.events import ModelAnswered
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import Usage
from ostiary.contracts.search import Reach
from ostiary.contracts.store import Append, DeleteSession, EraseVersions, Extend, Move, SaveSession, SessionRecord, Tombstone
from ostiary.kit.clock import ManualClock
from tests.unit.adapters.search.house import KEY, NOTES, House, Letters, open_house, wait_until

SESSIONS = Reach(collections=("_sessions",))
MAIN = SessionKey("main", "main")


async def _say(house: House, text: str, *, trust: Trust = Trust.OWNER) -> None:
    answer = ModelAnswered(step=1, parts=(Text(text=text, label=Label(trust=trust)),), stop="end", usage=Usage(), model="m")
    record = SessionRecord(key=MAIN, created_at=1.0, updated_at=1.0)
    await house.store.commit([SaveSession(record=record), Append(session=MAIN, turn="t", at=2.0, event=answer)])


async def test_a_note_is_found_right_after_its_commit(tmp_path: Path) -> None:
    async with open_house(tmp_path, embedder=Embedded(clock=ManualClock())) as house:
        await house.put("a.md", "The spare key hangs behind the barometer.")
        assert await house.paths("Where is the spare key?") == ["a.md"]
        await house.put("b.md", "The boat is called Albatross.")
        assert (await house.paths("What is the name of the boat?"))[0] == "b.md"


async def test_a_passage_says_where_it_lies_and_why(tmp_path: Path) -> None:
    label = Label(trust=Trust.CONTACT, sources=("telegram:7",))
    text = "# House\n\n" + "\n".join(f"- thing {number} of many" for number in range(90)) + "\n- the boiler code is 4711\n"
    async with open_house(tmp_path, embedder=Embedded(clock=ManualClock())) as house:
        await house.put("house.md", text, label=label)
        found = await house.index.query("boiler code", reach=NOTES)
        passage = found.passages[0]
        lines = text.split("\n")
        assert passage.start <= lines.index("- the boiler code is 4711") + 1 <= passage.end
        assert passage.text == "\n".join(lines[passage.start - 1 : passage.end])
        assert len(passage.text) <= 1600
        assert "4711" in passage.snippet
        assert len(passage.snippet) <= 700
        assert passage.why[0] == "words: boiler, code"
        assert 0 < passage.score <= 1
        assert (passage.label, passage.version, found.mode, found.notices) == (label, 1, "hybrid", ())


async def test_a_line_longer_than_a_passage_is_cut(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.put("long.md", "filler words here. " * 400 + "The albatross landed. " + "filler words here. " * 400)
        (passage, *_) = (await house.index.query("albatross", reach=NOTES)).passages
        assert "albatross" in passage.text
        assert len(passage.text) <= 1600
        assert (passage.start, passage.end) == (1, 1)


async def test_a_newer_version_replaces_the_older_one(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.put("a.md", "the code is albatross")
        assert await house.paths("albatross") == ["a.md"]
        await house.put("a.md", "the code is pelican")
        assert await house.paths("albatross") == []
        assert await house.paths("pelican") == ["a.md"]
        await house.store.commit([Extend(collection="_memory", path="a.md", content=b"\nand flamingo", at=1.0, author="owner")])
        assert await house.paths("flamingo") == ["a.md"]


async def test_what_is_moved_or_deleted_is_no_longer_found_where_it_was(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.put("a.md", "albatross")
        await house.put("b.md", "pelican")
        assert await house.paths("albatross") == ["a.md"]
        await house.store.commit([Move(collection="_memory", path="a.md", to="c.md", at=1.0, author="owner")])
        await house.store.commit([Tombstone(collection="_memory", path="b.md", at=1.0, author="owner")])
        assert await house.paths("albatross") == ["c.md"]
        assert await house.paths("pelican") == []


async def test_a_reach_lets_nothing_else_through(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.put("memory/shared/a.md", "albatross")
        await house.put("memory/private/b.md", "albatross")
        await house.put("c.md", "albatross", collection="recipes")
        shared = Reach(collections=("_memory",), include=("memory/shared/**",))
        no_private = Reach(collections=("_memory", "recipes"), exclude=("memory/private/**",))
        assert await house.paths("albatross", shared) == ["memory/shared/a.md"]
        assert sorted(await house.paths("albatross", no_private)) == ["c.md", "memory/shared/a.md"]
        assert await house.paths("albatross", Reach(collections=())) == []
        await house.put("memory/private/d.md", "albatross")
        assert sorted(await house.paths("albatross", no_private)) == ["c.md", "memory/shared/a.md"]


@pytest.mark.parametrize(("text", "limit"), [("", 6), ("  \n", 6), ("x" * 9000, 6), ("fine", 0), ("fine", 1000)])
async def test_a_silly_question_is_refused(tmp_path: Path, text: str, limit: int) -> None:
    async with open_house(tmp_path) as house:
        with pytest.raises(BadInput):
            await house.index.query(text, reach=NOTES, limit=limit)


async def test_binary_and_empty_documents_are_looked_at_and_never_found(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.put("a.png", b"\x89PNG\0\0\0albatross")
        await house.put("b.md", b"")
        assert await house.paths("albatross") == []
        status = await house.index.status()
        assert (status.documents, status.chunks, status.waiting) == (0, 0, 0)


async def test_conversations_are_found_as_they_are_said(tmp_path: Path) -> None:
    async with open_house(tmp_path, embedder=Embedded(clock=ManualClock())) as house:
        await _say(house, "The albatross is a large bird.")
        assert await house.paths("albatross", SESSIONS) == ["agent:main:main/1"]
        await _say(house, "A pelican has a large beak.", trust=Trust.UNTRUSTED)
        (passage,) = (await house.index.query("pelican", reach=SESSIONS)).passages
        assert passage.text == "Assistant: The albatross is a large bird.\nAssistant: A pelican has a large beak."
        assert passage.label is not None
        assert passage.label.trust is Trust.UNTRUSTED
        assert await house.paths("albatross") == []


async def test_a_deleted_session_is_forgotten(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await _say(house, "albatross")
        assert await house.paths("albatross", SESSIONS)
        await house.store.commit([DeleteSession(key=MAIN)])
        await house.index.forget("_sessions", "agent:main:main")
        assert await house.paths("albatross", SESSIONS) == []
        await _say(house, "pelican")
        assert await house.paths("pelican", SESSIONS) == ["agent:main:main/1"]


async def test_what_is_erased_and_forgotten_is_in_no_file_of_the_index(tmp_path: Path) -> None:
    embedder = Letters()
    async with open_house(tmp_path, embedder=embedder) as house:
        await house.put("a.md", "albatross")
        await house.index.settle()
        assert await house.paths("albatross") == ["a.md"]
        await house.store.commit([Tombstone(collection="_memory", path="a.md", at=1.0, author="owner")])
        await house.store.commit([EraseVersions(collection="_memory", path="a.md")])
        await house.index.forget("_memory", "a.md")
        assert await house.paths("albatross") == []
        await house.put("b.md", "albatross")
        await house.index.settle()
        assert embedder.asked.count("albatross") == 3


async def test_an_embedder_that_is_down_leaves_words_and_a_notice(tmp_path: Path) -> None:
    embedder = Letters()
    async with open_house(tmp_path, embedder=embedder) as house:
        await house.put("a.md", "albatross")
        await house.index.settle()
        embedder.problem = "The machine that makes vectors is away."
        found = await house.index.query("albatross", reach=NOTES)
        assert (found.mode, found.notices) == ("words", ("Searched by words alone: The machine that makes vectors is away.",))
        assert [passage.path for passage in found.passages] == ["a.md"]
        assert (await house.index.status()).problem == "The machine that makes vectors is away."
        embedder.problem = ""
        assert (await house.index.query("albatross", reach=NOTES)).mode == "words"
        await house.clock.advance(31)
        assert (await house.index.query("albatross", reach=NOTES)).mode == "hybrid"


async def test_a_slow_embedder_is_not_waited_for(tmp_path: Path) -> None:
    embedder = Letters()
    async with open_house(tmp_path, embedder=embedder, options=SearchOptions(embedding=0.01)) as house:
        await house.put("a.md", "albatross")
        embedder.gate = anyio.Event()
        found = await house.index.query("albatross", reach=NOTES)
        assert found.mode == "words"
        assert "did not answer" in found.notices[0]


async def test_vectors_of_a_wrong_size_are_refused(tmp_path: Path) -> None:
    embedder = Letters()
    embedder.made_dimensions = 32
    async with open_house(tmp_path, embedder=embedder) as house:
        await house.put("a.md", "albatross")
        await house.index.settle()
        found = await house.index.query("albatross", reach=NOTES)
        assert (found.mode, [passage.path for passage in found.passages]) == ("words", ["a.md"])
        assert "another size" in found.notices[0]


async def test_what_came_while_the_embedder_was_down_gets_its_vectors_later(tmp_path: Path) -> None:
    embedder = Letters()
    embedder.problem = "away"
    async with open_house(tmp_path, embedder=embedder) as house:
        await house.put("a.md", "albatross")
        await house.index.settle()
        assert embedder.asked == []
        embedder.problem = ""
        await house.clock.advance(31)
        await house.index.settle()
        assert embedder.asked == ["albatross"]


async def test_the_index_is_gone_from_memory_after_a_while_without_questions(tmp_path: Path) -> None:
    async with open_house(tmp_path, options=SearchOptions(every=5.0, idle=60.0)) as house, anyio.create_task_group() as tasks:
        await house.put("a.md", "albatross")
        assert await house.paths("albatross") == ["a.md"]
        tasks.start_soon(house.index.run)
        assert house.index.is_loaded
        await wait_until(lambda: house.clock.sleepers > 0)
        await house.clock.advance(61)
        await wait_until(lambda: not house.index.is_loaded)
        assert await house.paths("albatross") == ["a.md"]
        tasks.cancel_scope.cancel()


async def test_another_key_or_a_damaged_file_means_a_new_index(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.put("a.md", "albatross")
        assert await house.paths("albatross") == ["a.md"]
    async with open_house(tmp_path, key=KEY[::-1]) as house:
        assert await house.paths("albatross") == ["a.md"]
    (tmp_path / "search.db").write_bytes(b"not a database at all" * 500)
    async with open_house(tmp_path) as house:
        assert await house.paths("albatross") == ["a.md"]


async def test_damage_that_shows_only_in_use_is_told_once_and_then_mended(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        for number in range(200):
            await house.put(f"{number}.md", f"albatross {number} " + "filler " * 200)
        await house.index.settle()
    whole = (tmp_path / "search.db").read_bytes()
    (tmp_path / "search.db").write_bytes(whole[:8192] + bytes(len(whole) - 8192))
    async with open_house(tmp_path) as house:
        with pytest.raises(StoreError):
            await house.paths("albatross")
        assert len(await house.paths("albatross")) == 6


async def test_damage_that_a_reader_meets_is_mended_while_the_index_is_open(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        for number in range(100):
            await house.put(f"{number}.md", f"albatross {number} " + f"filler{number} " * 200)
        assert set(await house.paths("filler1")) == {"1.md"}
        await house.index.forget("_memory", "0.md")
        with (tmp_path / "search.db").open("r+b") as file:
            whole = file.read()
            file.seek(8192)
            file.write(bytes(byte ^ 0x55 for byte in whole[8192:]))
        with pytest.raises(StoreError, match="made anew"):
            await house.paths("filler2")
        assert set(await house.paths("filler2")) == {"2.md"}


async def test_an_index_whose_file_is_taken_away_is_made_anew(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.put("a.md", "albatross")
        assert await house.paths("albatross") == ["a.md"]
        (tmp_path / "search.db").unlink()
        await house.put("b.md", "albatross too")
        assert sorted(await house.paths("albatross")) == ["a.md", "b.md"]
        assert (await house.index.status()).documents == 2


async def test_nothing_is_readable_on_disk(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.put("a.md", "albatross " * 50)
        assert await house.paths("albatross") == ["a.md"]
        assert b"albatross" not in b"".join((tmp_path / f"search.db{end}").read_bytes() for end in ("", "-wal"))
        assert (tmp_path / "search.db").stat().st_mode & 0o077 == 0
