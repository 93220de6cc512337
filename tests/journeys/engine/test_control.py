"""The owner wakes the house, puts it to sleep and kills what runs; a restart brings none of it back."""

from typing import Any

import anyio
import pytest

from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import ChannelUnavailable
from ostiary.contracts.events import TurnEnded
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address, InboundMessage, OutboundMessage, Receipt, UserId
from ostiary.core.control.control import Control, ControlRules, Parts
from ostiary.core.control.engine_parts import EngineTurns, QueuedSends
from ostiary.core.routing.builtin_commands import builtin_commands
from ostiary.core.routing.commands import Commands
from ostiary.core.routing.control_commands import HouseCommands, control_commands
from ostiary.core.routing.desk import CommandDesk
from ostiary.core.routing.supervisor import Supervisor
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.clock import ManualClock
from ostiary.kit.house import OneModel
from ostiary.kit.models import ScriptedModel, say
from tests.journeys.engine.conftest import OpenHouse, pass_time

MAIN = SessionKey("main", "main")
PERSONAL = ControlRules(sleep_after=1800.0, start_awake=False, fresh_on_wake=True)
AWAKE = ControlRules()
OWNER = Principal(user=UserId(channel="memory", stable_id="owner"), role="owner")
SEATED = Principal(user=UserId(channel="api", stable_id="token"), role="owner")


class Owned:
    """What makes a kit house one with an owner in control."""

    def __init__(self, clock: ManualClock, rules: ControlRules) -> None:
        self.clock = clock
        self.rules = rules
        self.control: Control | None = None
        self.engine: Supervisor | None = None
        self.commands = Commands()
        self.desk = CommandDesk(commands=self.commands, controls=lambda: self._engine, catalogue=OneModel)

    @property
    def _engine(self) -> Supervisor:
        assert self.engine is not None
        return self.engine

    def parts(self) -> dict[str, Any]:
        return {"desk": self.desk, "made": self.made}

    def made(self, engine: Supervisor) -> None:
        lanes, delivery = engine._lanes, engine._delivery
        self.engine = engine
        self.control = engine.control = Control(
            commit=engine._sessions.write,
            value=engine._store.value,
            clock=self.clock,
            rules=lambda: self.rules,
            parts=lambda: Parts(kill=(EngineTurns(lanes), QueuedSends(delivery))),
            is_busy=lambda: lanes.running > 0,
        )
        assert engine.intake is not None
        engine.intake.control = self.control
        made = HouseCommands(
            control=self.control,  # type: ignore[arg-type]
            clock=self.clock,
            standings=lambda call: (),
            is_attended=lambda call: not delivery.pushes(call.message.address),
            wants_fresh=lambda: self.rules.fresh_on_wake,
        )
        for command in control_commands(made):
            self.commands.add(command)
        for command in builtin_commands(version="1").all():
            if self.commands.find(command.name) is None:
                self.commands.add(command)

    async def at_the_page(self, text: str, number: int = 1, session: SessionKey = MAIN) -> Any:
        address = Address(channel="api", account="default", chat="page")
        message = InboundMessage(id=f"p{number}", address=address, sender=SEATED.user, text=text, at=0.0)
        return await self._engine.submit(Submission(message=message, principal=SEATED, session=session))


class DownChannel(MemoryChannel):
    """Nothing leaves it until `up` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.up = False

    async def send(self, message: OutboundMessage) -> Receipt:
        if not self.up:
            raise ChannelUnavailable("no network")
        return await super().send(message)


class DeafChannel(MemoryChannel):
    """A send of it cannot be cut off."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = anyio.Event()
        self.released = anyio.Event()

    async def send(self, message: OutboundMessage) -> Receipt:
        self.begun.set()
        with anyio.CancelScope(shield=True):
            await self.released.wait()
        return await super().send(message)


async def test_asleep_it_hears_its_owners_wake_and_then_serves(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    owned = Owned(clock, PERSONAL)
    async with house(model=ScriptedModel([say("hello")]), **owned.parts()):
        assert (await channel.say("hi")).status == "dropped"
        assert (await channel.say("/wake", sender="mallory")).status == "dropped"
        assert (await channel.say("/wake")).status == "answered"
        assert (await channel.say("hi")).status == "accepted"
        await channel.until_sent(2)
    assert [sent.text[:11] for sent in channel.sent] == ["I am awake.", "hello"]


async def test_the_owner_at_the_page_wakes_it_by_speaking_and_it_falls_asleep_again(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    owned = Owned(clock, PERSONAL)
    async with house(model=ScriptedModel([say("hello")]), **owned.parts()) as engine:
        accepted = await owned.at_the_page("hi")
        assert (await engine.outcome(accepted.item)).text == "hello"
        assert owned.control is not None
        assert owned.control.state == "awake"
        await clock.advance(1800)
        await pass_time(clock, lambda: owned.control is not None and not owned.control.view().sleeps_at)
        assert (await channel.say("are you there?")).status == "dropped"


async def test_a_kill_ends_turns_queue_and_sends_and_no_restart_brings_them_back(
    house: OpenHouse, clock: ManualClock, channel: MemoryChannel
) -> None:
    down, asked, never = DownChannel(), anyio.Event(), anyio.Event()
    owned = Owned(clock, AWAKE)

    def hang(request: object) -> object:
        asked.set()
        return say("lost").after(never)

    model = ScriptedModel([say("unsent"), hang])
    async with house(model=model, channels={"memory": down}, caps={"main": 1}, **owned.parts()) as engine:
        await down.say("first")
        await pass_time(clock, lambda: engine.status()["outbox"] == 1)
        await down.say("second")
        await pass_time(clock, asked.is_set)
        queued = await owned.at_the_page("third", 3, SessionKey("main", "api:other"))
        done = await owned.at_the_page("/kill", 4)
        assert done.text.startswith("Stopped 1 turn, 1 queued message, 1 unsent message.")
        assert (await engine.outcome(queued.item)).status == "aborted"
        assert engine.status() == {**engine.status(), "running": 0, "queued": 0, "waiting": 0, "outbox": 0}
        assert (await down.say("/wake")).status == "dropped"
        assert (await owned.at_the_page("hi", 5)).text == "I was shut down by /kill. /wake starts me again."
    down.up = True
    again = Owned(clock, AWAKE)
    async with house(model=ScriptedModel([say("fresh")]), channels={"memory": down}, **again.parts()) as engine:
        assert again.control is not None
        assert again.control.state == "shutdown"
        assert (await again.at_the_page("/wake", 6)).text.startswith("I am awake.")
        await down.say("fourth")
        await down.until_sent(1)
        ended = [each.event.status for each in await engine._store.read(MAIN) if isinstance(each.event, TurnEnded)]
    assert [sent.text for sent in down.sent] == ["fresh"]
    assert ended == ["completed", "aborted", "completed"]


async def test_a_process_that_died_in_the_middle_of_a_kill_revives_nothing(
    house: OpenHouse, clock: ManualClock, channel: MemoryChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, never = anyio.Event(), anyio.Event()
    owned = Owned(clock, AWAKE)

    def hang(request: object) -> object:
        asked.set()
        return say("lost").after(never)

    async with house(model=ScriptedModel([hang]), drain_seconds=0, **owned.parts()):
        await channel.say("first")
        await asked.wait()
        await channel.say("second")
        # The kill is written, and then the process is gone before anything was stopped.
        assert owned.control is not None
        monkeypatch.setattr(owned.control, "_parts", Parts)
        assert (await owned.control.kill(OWNER, "/kill")).turns == 0
    again = Owned(clock, AWAKE)
    model = ScriptedModel([])
    async with house(model=model, **again.parts()) as engine:
        assert engine.status() == {**engine.status(), "running": 0, "queued": 0, "waiting": 0, "outbox": 0}
        pending = await engine._store.pending()
        assert (pending.inbox, pending.turns, pending.outbox) == ((), (), ())
    assert (model.requests, channel.sent) == ([], [])


async def test_after_waking_every_conversation_is_answered_again(house: OpenHouse, clock: ManualClock) -> None:
    """Also one that stood in line for a slot when the kill came."""
    owned = Owned(clock, AWAKE)
    asked, never = anyio.Event(), anyio.Event()

    def hang(request: object) -> object:
        asked.set()
        return say("lost").after(never)

    other = SessionKey("main", "api:other")
    async with house(model=ScriptedModel([hang, say("here")]), caps={"main": 1}, **owned.parts()) as engine:
        await owned.at_the_page("first", 1)
        await asked.wait()
        await owned.at_the_page("second", 2, other)
        await owned.at_the_page("/kill", 3)
        await owned.at_the_page("/wake", 4)
        accepted = await owned.at_the_page("third", 5, other)
        with anyio.fail_after(5):
            assert (await engine.outcome(accepted.item)).text == "here"


async def test_a_channel_that_takes_no_notice_keeps_nothing_in_the_outbox(house: OpenHouse, clock: ManualClock) -> None:
    deaf, owned = DeafChannel(), Owned(clock, AWAKE)
    async with house(model=ScriptedModel([]), channels={"memory": deaf}, **owned.parts()) as engine:
        await deaf.say("/help")
        await deaf.begun.wait()
        await deaf.say("/version")
        assert owned.control is not None
        assert (await owned.control.kill(OWNER, "/kill")).sends == 2
        assert (await engine._store.pending()).outbox == ()
        deaf.released.set()
