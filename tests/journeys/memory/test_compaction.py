"""Two thousand turns with facts planted among them: after many summaries each is still in view or found by search."""

import struct
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import anyio.lowlevel
import pytest

from ostiary.adapters.search.opening import open_search
from ostiary.adapters.store.snapshots import SnapshotCodec
from ostiary.assembly.prompts import load_words
from ostiary.contracts.errors import ModelUnavailable
from ostiary.contracts.events import Compacted, Trimmed, TurnEnded
from ostiary.contracts.model import ModelFacts, ModelRef, ModelRequest
from ostiary.contracts.search import EmbedKind, Reach, Search
from ostiary.core.agent.room import CompactionRules, FlushRules
from ostiary.core.agent.run import RunRules
from ostiary.core.routing.queue import QueueRules
from ostiary.core.sessions.session import Session, fold, pieces
from ostiary.core.sessions.snapshot import SCHEMA
from ostiary.kit.house import OneModel
from ostiary.kit.models import ScriptedModel, Step, fail, say
from tests.unit.core.engines import KEY, MAIN, Engine, engine

TURNS = 2000
EVERY = 50
WINDOW = OneModel(ModelFacts(ref=ModelRef("kit", "scripted"), context_window=12_000, max_tokens=500))
RULES = RunRules(compaction=CompactionRules(mode="default", prompt=load_words("compaction"), flush=FlushRules(enabled=False)))
NAMES = ("Aldous", "Brunhild", "Casimir", "Dorothea", "Eleazar", "Fenella", "Gottfried", "Hermione", "Ignatius", "Jocasta")
FILLER = "and then we spoke for a while about the weather, the garden and whatever else came to mind " * 2


class Hashed:
    """Meaning as a count of hashed words."""

    name, dimensions = "hashed-16", 16

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        return tuple(map(self._vector, texts))

    def _vector(self, text: str) -> bytes:
        counts = [0.01] * self.dimensions
        for word in text.lower().split():
            counts[zlib.crc32(word.encode()) % self.dimensions] += 1.0
        length = sqrt(sum(count * count for count in counts))
        return struct.pack(f"<{self.dimensions}f", *(count / length for count in counts))


@pytest.fixture
def place() -> Iterator[Path]:
    """Two thousand turns are six thousand durable commits; here the disk is not what is tried."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        yield Path(made)


def fact(number: int) -> tuple[str, str]:
    """A sentence and what of it must not be lost."""
    name, code = f"{NAMES[number % 10]} of house {number}", f"{number * 7919 + 10_000}"
    return f"By the way, the locker of {name} has the code {code}.", code


def spoken(turn: int) -> str:
    return fact(turn // EVERY)[0] if turn % EVERY == 7 else f"Turn {turn}: {FILLER}"


def forgetful(request: ModelRequest) -> Step:
    """A summariser that keeps nothing, and every third time says nothing at all."""
    if not request.system[0].startswith("You summarise"):
        return say("I see; do go on.")
    forgetful.times += 1  # type: ignore[attr-defined]
    return fail(ModelUnavailable("away")) if forgetful.times % 3 == 0 else say("They chatted about this and that.")  # type: ignore[attr-defined]


@asynccontextmanager
async def long_talk(path: Path) -> AsyncIterator[Engine]:
    forgetful.times = 0  # type: ignore[attr-defined]
    async with engine(path, ScriptedModel(forgetful), catalogue=WINDOW, run=RULES, queue=QueueRules(debounce=0)) as house:
        house.sessions.codec = SnapshotCodec()
        for turn in range(TURNS):
            accepted = await house.channel.say(spoken(turn))
            await house.supervisor.outcome(accepted.item or 0)
        yield house


def in_view(session: Session, code: str) -> bool:
    return any(code in piece for message in session.messages for piece in pieces(message))


async def found(search: Search, number: int) -> bool:
    sentence, code = fact(number)
    answer = await search.query(sentence.replace(code, "?"), reach=Reach(collections=("_sessions",)), limit=6)
    return any(code in passage.text for passage in answer.passages)


async def test_every_planted_fact_is_still_in_view_or_found_after_two_thousand_turns(place: Path) -> None:
    numbers = range(TURNS // EVERY)
    async with long_talk(place) as house:
        session = await house.sessions.get(MAIN)
        compacted = await house.events(Compacted)
        trims = await house.events(Trimmed)
        endings = await house.events(TurnEnded)
        snapshot = await house.store.snapshot(MAIN)
        journal = await house.store.read(MAIN)
        async with open_search(place / "search.db", KEY, store=house.store, embedder=Hashed(), clock=house.clock) as search:
            async with anyio.create_task_group() as group:
                group.start_soon(search.run)
                with anyio.fail_after(60):
                    while (await search.status()).waiting:
                        await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            lost = [n for n in numbers if not in_view(session, fact(n)[1]) and not await found(search, n)]
            unsearched = [n for n in numbers if not await found(search, n)]
    seen = [n for n in numbers if in_view(session, fact(n)[1])]
    assert len(compacted) > 5
    assert (trims, {each.status for each in endings}, len(endings)) == ([], {"completed"}, TURNS)
    assert lost == []
    assert unsearched == []
    assert len(seen) > len(numbers) // 2, session.summary
    assert snapshot is not None
    assert (snapshot.schema, len(journal) - snapshot.seq < 300) == (SCHEMA, True)
    assert fold(MAIN, journal).digest == session.digest
