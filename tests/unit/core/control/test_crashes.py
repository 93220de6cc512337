"""Any sequence of events, with a crash after any commit: a stranger is never heard, and what was killed stays dead."""

from dataclasses import dataclass, field

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import MarkTurn
from ostiary.core.control.control import Control, ControlRules, Parts
from ostiary.core.control.gatekeeper import Drop, Wake
from ostiary.core.control.state import decode
from ostiary.kit.clock import ManualClock
from tests.unit.core.control.parts import ME, PERSONAL, STRANGER, OneValue, message

MAIN = SessionKey("main", "main")
EVENTS = ("say", "speak", "stranger", "wake", "sleep", "kill", "enable", "wait", "crash soon", "crash", "stop")


class Crash(BaseException):
    """The process is gone."""


@dataclass
class Turns:
    """Turns as the engine has them: durable, ended one commit each."""

    store: OneValue
    name: str = "turns"

    async def stop_all(self, reason: str) -> int:
        found = sorted(self.store.turns)
        for turn in found:
            await self.store.commit([_mark(turn, "ended")])
        return len(found)


def _mark(turn: str, state: str) -> MarkTurn:
    return MarkTurn(turn=turn, session=MAIN, lane="main", state=state)  # type: ignore[arg-type]


@dataclass
class World:
    """What outlives every process. `dead` are the turns that a written kill found open: none may ever run again."""

    rules: ControlRules
    store: OneValue = field(default_factory=OneValue)
    clock: ManualClock = field(default_factory=ManualClock)
    dead: set[str] = field(default_factory=set)
    made: int = 0
    fuse: int = -1

    def __post_init__(self) -> None:
        self.store.on_commit = self._committed

    def _committed(self, number: int) -> None:
        stored = self.store.values.get(("control", "state"))
        if stored is not None and decode(stored).state == "shutdown":
            self.dead |= self.store.turns
        self.fuse -= 1
        if self.fuse == 0:
            self.store.refuse = Crash()
            raise self.store.refuse

    async def live(self, events: list[str]) -> list[str]:
        """One process, until it crashes, stops or nothing is left to happen; gives what is left."""
        control = Control(
            commit=self.store.commit,
            value=self.store.value,
            clock=self.clock,
            rules=lambda: self.rules,
            parts=lambda: Parts(kill=(Turns(self.store),)),
            tools=lambda: ("exec",),
        )
        try:
            async with anyio.create_task_group() as group:
                await control.load()
                await control.finish_kill()
                self.check(control)
                control.start(group)
                while events and events[0] not in ("crash", "stop"):
                    await self.happen(control, events.pop(0))
                    self.check(control)
                if events and events.pop(0) == "stop":
                    await control.close()
                group.cancel_scope.cancel()
        except* Crash:
            pass
        self.fuse, self.store.refuse = -1, None
        return events

    def check(self, control: Control) -> None:
        assert not (control.may_begin and self.dead & self.store.turns), "a killed turn runs again"
        assert control.state == "awake" or not control.is_on("exec")

    async def happen(self, control: Control, event: str) -> None:
        match event:
            case "say" | "speak":
                heard = control.admits(message("hi"), ME, is_attended=event == "speak", is_command=False)
                await self._accept(control, heard)
            case "stranger":
                heard = control.admits(message("/wake", STRANGER), STRANGER, is_attended=True, is_command=True)
                assert isinstance(heard, Drop) or control.state == "awake"
            case "wake":
                await control.wake(ME, "/wake")
            case "sleep":
                await control.sleep(ME, "/sleep")
            case "kill":
                killed = await control.kill(ME, "/kill")
                assert self.store.refuse or (killed.unfinished, self.store.turns) == ((), set())
            case "enable":
                if control.state == "awake":
                    await control.enable(["exec"], ME, seconds=600.0)
            case "wait":
                await self.clock.advance(900)
            case "crash soon":
                self.fuse = 2

    async def _accept(self, control: Control, heard: object) -> None:
        if isinstance(heard, Drop):
            return
        if isinstance(heard, Wake):
            await control.wake(ME, "spoke")
        control.touch()
        self.made += 1
        await self.store.commit([_mark(f"turn_{self.made}", "running")])


@settings(max_examples=150)
@given(st.lists(st.sampled_from(EVENTS), max_size=14), st.sampled_from([PERSONAL, ControlRules()]))
async def test_a_stranger_is_never_heard_asleep_and_a_killed_turn_never_runs_again(
    events: list[str], rules: ControlRules
) -> None:
    world = World(rules)
    while events:
        events = await world.live(events)
    await world.live([])


async def test_the_crash_of_the_test_does_strike_between_the_commits_of_a_kill() -> None:
    world = World(ControlRules())
    await world.live(["say", "say", "crash soon", "kill"])
    assert (world.store.turns, world.dead) == ({"turn_2"}, {"turn_1", "turn_2"})
    await world.live([])
    assert world.store.turns == set()
