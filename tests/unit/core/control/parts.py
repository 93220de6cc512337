"""What the tests of the owner's control hold in their hands: a store of one value, a part that can be killed, a house."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from ostiary.contracts.identity import EXTERNAL, OWNER, Principal
from ostiary.contracts.messages import Address, ChatKind, InboundMessage, UserId
from ostiary.contracts.store import Audit, MarkTurn, SetValue, Write
from ostiary.core.control.control import Control, ControlRules, Parts
from ostiary.kit.clock import ManualClock

ME = Principal(user=UserId(channel="memory", stable_id="owner"), role=OWNER)
STRANGER = Principal(user=UserId(channel="memory", stable_id="mallory"), role=EXTERNAL)
PERSONAL = ControlRules(sleep_after=1800.0, start_awake=False, fresh_on_wake=True)
TOOLS = ("read", "exec", "process", "web_fetch", "web_search", "message", "mcp__github__search")


def message(text: str, principal: Principal = ME, **more: Any) -> InboundMessage:
    address = Address(channel="memory", account="default", chat="1")
    return InboundMessage(id="1", address=address, sender=principal.user, text=text, at=0.0, **more)


def in_group(text: str, **more: Any) -> InboundMessage:
    return message(text, chat_kind=ChatKind.GROUP, **more)


@dataclass
class OneValue:
    """A store that keeps values and audit entries, and fails or waits as it is told."""

    values: dict[tuple[str, str], bytes] = field(default_factory=dict)
    audits: list[Audit] = field(default_factory=list)
    turns: set[str] = field(default_factory=set)
    refuse: BaseException | None = None
    hold: anyio.Event | None = None
    commits: int = 0
    on_commit: Callable[[int], None] = lambda number: None

    async def commit(self, writes: Sequence[Write]) -> tuple[int, ...]:
        if self.hold is not None:
            with anyio.CancelScope(shield=True):
                await self.hold.wait()
        if self.refuse is not None:
            raise self.refuse
        for write in writes:
            match write:
                case SetValue(space=space, key=key, value=value):
                    self.values[space, key] = value
                case Audit():
                    self.audits.append(write)
                case MarkTurn(turn=turn, state="ended"):
                    self.turns.discard(turn)
                case MarkTurn(turn=turn):
                    self.turns.add(turn)
                case _:
                    raise AssertionError(write)
        self.commits += 1
        self.on_commit(self.commits)
        return (0,) * len(writes)

    async def value(self, space: str, key: str) -> bytes | None:
        return self.values.get((space, key))

    def told(self) -> list[str]:
        return [f"{each.kind.removeprefix('control.')} {each.subject} {each.outcome} by {each.actor}" for each in self.audits]


@dataclass
class Work:
    """Something running, that stops when it is told to, or does not."""

    name: str = "turns"
    running: int = 0
    refuse: Exception | None = None
    hold: anyio.Event | None = None
    is_deaf: bool = False
    stopped: list[str] = field(default_factory=list)
    reached: anyio.Event = field(default_factory=anyio.Event)

    async def stop_all(self, reason: str) -> int:
        self.reached.set()
        if self.hold is not None:
            with anyio.CancelScope(shield=self.is_deaf):
                await self.hold.wait()
        if self.refuse is not None:
            raise self.refuse
        self.stopped.append(reason)
        was, self.running = self.running, 0
        return was


@dataclass
class House:
    """One process's life of the control; `store` outlives it."""

    store: OneValue = field(default_factory=OneValue)
    clock: ManualClock = field(default_factory=ManualClock)
    rules: ControlRules = PERSONAL
    work: list[Work] = field(default_factory=list)
    processes: Work = field(default_factory=lambda: Work("processes"))
    happened: list[str] = field(default_factory=list)
    is_busy: bool = False
    has_questions: bool = False

    def control(self) -> Control:
        return Control(
            commit=self.store.commit,
            value=self.store.value,
            clock=self.clock,
            rules=lambda: self.rules,
            parts=lambda: Parts(
                kill=(*self.work, self.processes),
                sleep=(self.processes,),
                on_wake=(self._hook("woke"),),
                on_sleep=(self._hook("slept"),),
                probe=self._probe,
            ),
            is_busy=lambda: self.is_busy,
            has_questions=lambda: self.has_questions,
            tools=lambda: TOOLS,
        )

    def _hook(self, word: str) -> Callable[[], Any]:
        async def note() -> None:
            self.happened.append(word)

        return note

    async def _probe(self) -> dict[str, object]:
        return {"processors": 2}

    @asynccontextmanager
    async def opened(self, *, clean: bool = True) -> AsyncIterator[Control]:
        """Loaded and running; leaving it not `clean` is a crash."""
        control = self.control()
        await control.load()
        await control.finish_kill()
        async with anyio.create_task_group() as group:
            control.start(group)
            yield control
            if clean:
                await control.close()
            group.cancel_scope.cancel()
