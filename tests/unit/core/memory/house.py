"""A memory on a real store, with a search that finds whole words and tells what it was asked to forget."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC
from pathlib import Path

from ostiary.adapters.store.paths import matches
from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.contracts.content import Label, Text, ToolCall, Trust
from ostiary.contracts.events import (
    Event,
    ModelAnswered,
    Reset,
    ToolIntended,
    ToolResulted,
    TurnEnded,
    TurnInput,
    TurnStarted,
)
from ostiary.contracts.identity import EXTERNAL, OWNER, Principal, SessionKey
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import Usage
from ostiary.contracts.search import Found, IndexStatus, Passage, Reach
from ostiary.contracts.store import Append, Documents, Write
from ostiary.contracts.tool import ToolContext, ToolResult
from ostiary.core.memory.entries import entries
from ostiary.core.memory.memory import Memory, make_memory
from ostiary.core.memory.rules import MemoryRules
from ostiary.core.memory.text import normal
from ostiary.core.routing.scopes import place_of
from ostiary.kit.clock import ManualClock

KEY = bytes(range(32))
NOW = 1_794_787_200.0
DAY = "2026-11-16"
ME = Principal(user=UserId(channel="telegram", stable_id="1"), role=OWNER)
BEN = Principal(user=UserId(channel="telegram", stable_id="42"), role=EXTERNAL)
MAIN = SessionKey("main", "main")
GROUP = SessionKey("main", "telegram:group:-100")
MINE = Label(trust=Trust.OWNER, sources=("telegram:1",))
BENS = Label(trust=Trust.CONTACT, sources=("telegram:42",))
WEB = Label(trust=Trust.UNTRUSTED, sources=("web:evil.example",))


def is_private(key: SessionKey) -> bool:
    return place_of(key.scope).source not in ("group", "channel")


class WordSearch:
    """Finds entries that share a word with the query, in everything the reach permits."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self.forgotten: list[tuple[str, str]] = []
        self.asked: list[Reach] = []
        self.also: tuple[Passage, ...] = ()

    async def query(self, text: str, *, reach: Reach, limit: int = 6) -> Found:
        self.asked.append(reach)
        wanted = set(normal(text).split())
        found = [each for each in self.also if each.collection in reach.collections]
        for collection in reach.collections:
            for version in await self._documents.list(collection):
                if not any(matches(glob, version.path) for glob in reach.include):
                    continue
                if any(matches(glob, version.path) for glob in reach.exclude):
                    continue
                stored = await self._documents.get(collection, version.path)
                content = stored[1].decode() if stored else ""
                for entry in entries(content):
                    shared = wanted & set(normal(entry.text).split())
                    if shared and not entry.is_heading:
                        found.append(self._passage(version.path, version.version, entry, len(shared), version.label))
        return Found(passages=tuple(sorted(found, key=lambda each: -each.score)[:limit]), mode="words")

    def _passage(self, path: str, version: int, entry: object, shared: int, label: Label | None) -> Passage:
        text = getattr(entry, "text", "")
        return Passage(
            collection="_memory",
            path=path,
            version=version,
            start=getattr(entry, "start", 1),
            end=getattr(entry, "end", 1),
            score=min(1.0, shared / 10),
            text=text,
            snippet=text[:700],
            why=("words",),
            at=NOW,
            label=label,
        )

    async def status(self) -> IndexStatus:
        return IndexStatus(documents=0, chunks=0, waiting=0, embedder="none")

    async def forget(self, collection: str, path: str) -> None:
        self.forgotten.append((collection, path))


class Home:
    def __init__(self, store: SqliteStore, clock: ManualClock) -> None:
        self.store = store
        self.documents = store.documents
        self.clock = clock
        self.search = WordSearch(store.documents)
        self.rules = MemoryRules()
        self.dropped: list[SessionKey] = []
        self.wants_summary = True
        self._turns = 0
        self.memory: Memory = make_memory(
            store=store,
            documents=store.documents,
            search=self.search,
            clock=clock,
            zone=lambda: UTC,
            rules=lambda: self.rules,
            is_private=is_private,
            redact=lambda text: text.replace("hunter2", "[secret]"),
            drop=self.dropped.append,
            wants_summary=lambda key: self.wants_summary,
        )

    def context(
        self, principal: Principal = ME, session: SessionKey = MAIN, label: Label = MINE, turn: str = "turn_0"
    ) -> ToolContext:
        return ToolContext(principal=principal, session=session, turn=turn, call_key=f"{turn}:1:c", label=label)

    async def keep(self, text: str, area: str = "", title: str = "", **who: object) -> ToolResult:
        """As the tool does it: the writes are committed with the result."""
        result = await self.memory.hands.keep(text, area, title, self.context(**who))  # type: ignore[arg-type]
        await self.commit(*result.writes)
        return result

    async def commit(self, *writes: Write) -> None:
        if writes:
            await self.store.commit(list(writes))

    async def text(self, path: str) -> str | None:
        found = await self.documents.get("_memory", path)
        return None if found is None else found[1].decode()

    async def append(self, *events: Event, turn: str = "", session: SessionKey = MAIN) -> None:
        await self.store.commit([Append(session=session, turn=turn, at=self.clock.now(), event=event) for event in events])

    async def turn(
        self, words: str, answer: str, *, wrote: str = "", session: SessionKey = MAIN, label: Label = MINE, area: str = ""
    ) -> str:
        """A whole turn as the journal keeps it; `wrote` is what memory_write was called with in it."""
        self._turns += 1
        turn = f"turn_{self._turns}"
        asked = TurnInput(item=0, parts=(Text(text=words, label=label),), at=self.clock.now())
        await self.append(TurnStarted(inputs=(asked,), principal=ME, reply_to=_HERE), turn=turn, session=session)
        if wrote:
            call = ToolCall(id="c1", name="memory_write", arguments=f'{{"text": "{wrote}"}}')
            await self.append(_answered(1, call), _intended(call), turn=turn, session=session)
            result = await self.keep(wrote, area, session=session, label=label, turn=turn)
            await self.append(_resulted(call, result.text), turn=turn, session=session)
        said = Text(text=answer, label=label)
        await self.append(_answered(2, said), TurnEnded(status="completed", reply=answer), turn=turn, session=session)
        return turn

    async def reset(self, reason: str = "/new", session: SessionKey = MAIN) -> None:
        await self.append(Reset(reason=reason), session=session)

    async def kinds(self, session: SessionKey = MAIN) -> list[str]:
        return [type(each.event).__name__ for each in await self.store.read(session)]


_HERE = Address(channel="telegram", account="default", chat="1")


def _answered(step: int, *parts: Text | ToolCall) -> ModelAnswered:
    return ModelAnswered(step=step, parts=parts, stop="stop", usage=Usage(), model="m/m")


def _intended(call: ToolCall) -> ToolIntended:
    return ToolIntended(call_id=call.id, name=call.name, arguments=call.arguments, call_key="k", repeatable=True, layer="confirm")


def _resulted(call: ToolCall, text: str) -> ToolResulted:
    return ToolResulted(call_id=call.id, name=call.name, text=text, is_error=False, fate="done", label=MINE)


@asynccontextmanager
async def home(path: Path) -> AsyncIterator[Home]:
    clock = ManualClock(NOW)
    async with open_store(path / "store.db", KEY, clock=clock) as store:
        yield Home(store, clock)


def ruled(home: Home, **changes: object) -> None:
    home.rules = replace(home.rules, **changes)  # type: ignore[arg-type]
