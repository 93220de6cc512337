"""Memory on the real store and the real index."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path

from ostiary.adapters.search import Embedded, open_search
from ostiary.contracts.content import Text, Trust, UserMessage
from ostiary.contracts.events import Compacted
from ostiary.core.memory.memory import make_memory
from ostiary.core.sessions.session import fold
from tests.unit.core.memory.house import BEN, BENS, GROUP, KEY, MAIN, ME, MINE, WEB, Home, home, is_private, ruled


@asynccontextmanager
async def indexed(path: Path) -> AsyncIterator[Home]:
    async with (
        home(path) as made,
        open_search(path / "search.db", KEY, store=made.store, embedder=Embedded(clock=made.clock), clock=made.clock) as search,
    ):
        made.memory = make_memory(
            store=made.store,
            documents=made.documents,
            search=search,
            clock=made.clock,
            zone=lambda: UTC,
            rules=lambda: made.rules,
            is_private=is_private,
            redact=lambda text: text,
            drop=made.dropped.append,
            wants_summary=lambda key: True,
        )
        yield made


async def find(house: Home, query: str, **who: object) -> str:
    return (await house.memory.hands.recall(query, 6, house.context(**who))).text  # type: ignore[arg-type]


async def test_a_note_is_found_in_the_next_breath_by_whoever_may_see_it(tmp_path: Path) -> None:
    async with indexed(tmp_path) as house:
        await house.keep("The safe is behind the picture.", "private")
        await house.keep("The safe word is heron.", principal=BEN, label=BENS)
        assert "behind the picture" in await find(house, "Where is the safe?")
        others = await find(house, "Where is the safe?", principal=BEN, label=BENS)
        assert "heron" in others
        assert "picture" not in others
        assert "safe" not in await find(house, "Where is the thing?", session=GROUP)


async def test_a_confirmed_note_is_no_longer_marked(tmp_path: Path) -> None:
    async with indexed(tmp_path) as house:
        await house.keep("The heron museum closes at six.", label=MINE.join(WEB))
        assert "(unconfirmed, from" in await find(house, "heron museum")
        (note,) = await house.memory.confirming.waiting()
        await house.memory.confirming.confirm([note.id], by=ME)
        found = await house.memory.hands.recall("heron museum", 6, house.context())
        assert "unconfirmed" not in found.text
        assert found.label is not None
        assert found.label.trust is Trust.OWNER


async def test_what_is_forgotten_is_found_neither_in_notes_nor_in_conversations(tmp_path: Path) -> None:
    async with indexed(tmp_path) as house:
        ruled(house, sessions=True)
        await house.turn("I keep a heron at home", "Lovely.", wrote="The owner keeps a heron.")
        await house.turn("The weather is fine", "It is.")
        assert (await find(house, "heron")).count("heron") >= 2
        await house.memory.forgetter.forget("keeps a heron", by=ME)
        assert "heron" not in await find(house, "heron")
        assert "weather" in await find(house, "weather")


async def test_when_its_summary_is_erased_the_rest_of_the_conversation_returns(tmp_path: Path) -> None:
    async with indexed(tmp_path) as house:
        await house.turn("Ben is my brother", "Noted.")
        await house.turn("I keep a heron at home", "Lovely.")
        last = await house.turn("Thanks", "Welcome")
        await house.append(Compacted(summary="A brother and a bird.", kept_from=last, label=MINE))
        await house.memory.forgetter.forget("keep a heron", by=ME)
        messages = fold(MAIN, await house.store.read(MAIN)).messages
        parts = [part for message in messages if isinstance(message, UserMessage) for part in message.parts]
        assert [part.text for part in parts if isinstance(part, Text)] == ["Ben is my brother", "Thanks"]
