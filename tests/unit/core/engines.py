"""An engine on a real store whose commits a test can hold or make fail, at the port."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.store import Lease, Write
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec
from ostiary.core.routing.lanes import Lanes
from ostiary.core.routing.supervisor import Supervisor
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.clock import CountingIds, ManualClock
from ostiary.kit.house import House, open_house

MAIN = SessionKey("main", "main")
OWNER = Principal(user=UserId(channel="memory", stable_id="owner"), role="owner")
KEY = bytes(range(32))

Before = Callable[[int, Sequence[Write]], Awaitable[None]]


class StubbornStore:
    """A store whose commits first pass `before(number, writes)`: it may raise, or wait. Everything else goes through."""

    def __init__(self, inner: SqliteStore) -> None:
        self._inner = inner
        self.before: Before | None = None
        self.after: Before | None = None
        self.commits = 0
        self.reads_fail: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def commit(
        self, writes: Sequence[Write], *, fence: Lease | None = None, expect: Mapping[str, int] | None = None
    ) -> tuple[int, ...]:
        self.commits += 1
        number = self.commits
        if self.before is not None:
            await self.before(number, writes)
        given = await self._inner.commit(writes, fence=fence, expect=expect)
        if self.after is not None:
            await self.after(number, writes)
        return given

    async def read(self, session: SessionKey, **more: Any) -> Any:
        if self.reads_fail is not None:
            raise self.reads_fail
        return await self._inner.read(session, **more)


class Tool:
    """Counts its calls and does what the test says."""

    def __init__(
        self,
        name: str = "probe",
        *,
        act: Callable[[Mapping[str, object]], Awaitable[Any]] | None = None,
        repeatable: bool = False,
        untrusted: bool = False,
        effect: Effect = Effect.WRITE,
    ) -> None:
        parameters = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
        self.spec = ToolSpec(
            schema=ToolSchema(name=name, description="A probe.", parameters=parameters),
            effects=frozenset({effect}),
            repeatable=repeatable,
            untrusted_output=untrusted,
        )
        self.calls: list[Mapping[str, object]] = []
        self._act = act

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        self.calls.append(arguments)
        if self._act is not None:
            result: ToolResult = await self._act(arguments)
            return result
        return ToolResult(text=f"result {arguments.get('n', '')}".strip())


class Engine:
    """What a test holds in its hand: the engine, its lanes, its store, its channel, its clock."""

    def __init__(self, supervisor: Supervisor, store: StubbornStore, channel: MemoryChannel, clock: ManualClock) -> None:
        self.supervisor = supervisor
        self.store = store
        self.channel = channel
        self.clock = clock
        self.lanes: Lanes = supervisor._lanes
        self.sessions = supervisor._sessions

    async def events(self, kind: type, key: SessionKey = MAIN) -> list[Any]:
        return [each.event for each in await self.store._inner.read(key) if isinstance(each.event, kind)]

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Let time pass until it is so: the clock second by second, the store's threads by giving way."""
        with anyio.fail_after(10):
            while not is_so():
                await self.clock.advance(1.0)
                await anyio.sleep(0.0005)

    async def settle(self, is_so: Callable[[], bool]) -> None:
        """Give way until it is so, while the clock stands still."""
        with anyio.fail_after(10):
            while not is_so():
                await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def engine(
    tmp_path: Path, model: Any, *, channel: MemoryChannel | None = None, start: int = 0, tools: Sequence[Tool] = (), **parts: Any
) -> AsyncIterator[Engine]:
    """`start` counts turn ids on from there, for a second life on the same store."""
    clock, place = ManualClock(), channel or MemoryChannel()
    ids = CountingIds()
    ids._next["turn"] = start
    async with open_store(tmp_path / "store.db", KEY, clock=clock) as opened:
        store = StubbornStore(opened)
        made = House(
            store=store,
            model=model,
            clock=clock,
            ids=ids,
            channels={"memory": place},
            tools={tool.spec.name: tool for tool in tools},
        )
        async with open_house(replace(made, **parts)) as supervisor:
            yield Engine(supervisor, store, place, clock)
