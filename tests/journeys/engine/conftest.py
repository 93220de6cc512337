from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from ostiary.adapters.store.sqlite import open_store
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec
from ostiary.core.routing.supervisor import Supervisor
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.clock import CountingIds, ManualClock
from ostiary.kit.house import House, open_house

KEY = bytes(range(32))


class NumberedIds(CountingIds):
    """Counts on from a number, so that a second life of a house does not reuse the ids of the first."""

    def __init__(self, start: int = 0) -> None:
        super().__init__()
        self._next["turn"] = start


class Probe:
    """A tool that counts its calls and does what the test says."""

    def __init__(
        self,
        name: str = "probe",
        *,
        act: Callable[[Mapping[str, object]], Any] | None = None,
        repeatable: bool = False,
        effect: Effect = Effect.WRITE,
    ) -> None:
        parameters = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
        self.spec = ToolSpec(
            schema=ToolSchema(name=name, description="A probe.", parameters=parameters),
            effects=frozenset({effect}),
            repeatable=repeatable,
            untrusted_output=False,
        )
        self.calls: list[Mapping[str, object]] = []
        self._act = act

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        self.calls.append(arguments)
        if self._act is not None:
            return await self._act(arguments)
        return ToolResult(text=f"result {arguments.get('n', '')}".strip())


async def pass_time(clock: ManualClock, until: Callable[[], bool]) -> None:
    """Let the manual clock run, second by second, while the store's threads do their work."""
    with anyio.fail_after(10):
        while not until():
            await clock.advance(1.0)
            await anyio.sleep(0.001)


async def until(condition: Callable[[], bool]) -> None:
    """Let everything else work until this holds."""
    with anyio.fail_after(10):
        while not condition():
            await anyio.lowlevel.checkpoint()
            await anyio.sleep(0.001)


OpenHouse = Callable[..., AbstractAsyncContextManager[Supervisor]]


@pytest.fixture
def channel() -> MemoryChannel:
    return MemoryChannel()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def house(tmp_path: Path, channel: MemoryChannel, clock: ManualClock) -> OpenHouse:
    """`async with house(model=...)`: an engine on a real store; opening it again is a restart."""
    lives = [0]

    @asynccontextmanager
    async def opened(**parts: Any) -> AsyncIterator[Supervisor]:
        lives[0] += 1
        async with open_store(tmp_path / "store.db", KEY, clock=clock) as store:
            tools = {tool.spec.name: tool for tool in parts.pop("tools", ())}
            made = House(
                store=store,
                clock=clock,
                ids=NumberedIds(100 * lives[0]),
                channels={"memory": channel},
                tools=tools,
                model=parts.pop("model"),
            )
            async with open_house(replace(made, **parts)) as supervisor:
                supervisor.test_store = store  # type: ignore[attr-defined]
                yield supervisor

    return opened
