from dataclasses import dataclass, field

import pytest

from ostiary.contracts.control import Killed, ToolStanding
from ostiary.contracts.errors import Busy
from ostiary.contracts.identity import SessionKey
from ostiary.core.control.control import Control
from ostiary.core.routing.commands import CommandCall, Commands
from ostiary.core.routing.control_commands import HouseCommands, control_commands, house_line, kill_report, span
from tests.unit.core.control.parts import ME, Work
from tests.unit.core.control.parts import House as ControlHouse
from tests.unit.core.routing.house import MAIN, OWN, House, RecordingControls
from tests.unit.core.routing.inbound import group

STANDINGS = (
    ToolStanding(name="exec", outcome="ask", is_on=True, until=1_800_003_600.0),
    ToolStanding(name="read", outcome="allow"),
    ToolStanding(name="web_fetch", outcome="deny", reason="switched off; /enable web_fetch"),
)


@dataclass
class Desk:
    """The commands over a real control, in a house whose other controls remember what was asked of them."""

    control: Control
    under: ControlHouse
    attended: bool = False
    fresh: bool = True
    standings: tuple[ToolStanding, ...] = STANDINGS
    controls: RecordingControls = field(default_factory=RecordingControls)

    def house(self) -> House:
        commands = Commands()
        made = HouseCommands(
            control=self.control,  # type: ignore[arg-type]
            clock=self.under.clock,
            standings=self._standings,
            is_attended=lambda call: self.attended,
            wants_fresh=lambda: self.fresh,
        )
        for command in control_commands(made):
            commands.add(command)
        return House(commands=commands, controls=self.controls)

    def _standings(self, call: CommandCall) -> tuple[ToolStanding, ...]:
        return self.standings

    async def says(self, text: str, **more: object) -> str:
        return await self.house().says(text, **more)


async def test_waking_from_a_channel_begins_a_new_conversation_before_it_listens() -> None:
    house = ControlHouse()
    async with house.opened() as control:
        desk = Desk(control, house)
        assert await desk.says("/wake") == (
            "I am awake. This is a new conversation. Every tool is switched off; /enable switches one on. "
            "After 30 min without a word I fall asleep."
        )
        assert desk.controls.asked == ["reset /wake"]
        assert await desk.says("/wake") == "I am awake already. No tool is switched on."
        assert desk.controls.asked == ["reset /wake"]


async def test_waking_at_the_page_keeps_the_conversation_that_the_owner_sees() -> None:
    house = ControlHouse()
    async with house.opened() as control:
        desk = Desk(control, house, attended=True)
        assert (await desk.says("/wake")).startswith("I am awake. Every tool")
        assert desk.controls.asked == []


@dataclass
class NotingControls(RecordingControls):
    async def reset(self, session: SessionKey, *, reason: str, by: object) -> None:
        self.asked.append(f"reset {session}")


@pytest.mark.parametrize(("session", "meant"), [(MAIN, MAIN), (OWN, OWN), (SessionKey("main", "telegram:group:-100"), MAIN)])
async def test_a_wake_in_a_group_begins_the_main_conversation_anew(session: SessionKey, meant: SessionKey) -> None:
    house = ControlHouse()
    async with house.opened() as control:
        desk = Desk(control, house, controls=NotingControls())
        await desk.says("/wake", session=session, message=group())
        assert desk.controls.asked == [f"reset {meant}"]


async def test_a_wake_that_cannot_be_says_why() -> None:
    house = ControlHouse(work=[Work("turns", 1, refuse=Busy("no"))])
    async with house.opened() as control:
        desk = Desk(control, house)
        await desk.says("/kill")
        assert "turns did not stop yet" in await desk.says("/wake")


async def test_sleeping_says_what_it_stopped() -> None:
    house = ControlHouse(processes=Work("processes", 2))
    async with house.opened() as control:
        desk = Desk(control, house)
        assert await desk.says("/sleep") == "I am asleep already. /wake wakes me."
        await desk.says("/wake")
        assert await desk.says("/sleep") == "Stopped 2 background processes. I sleep now; /wake wakes me."


async def test_a_kill_says_what_it_stopped_and_sleep_does_not_undo_it() -> None:
    house = ControlHouse(work=[Work("turns", 1), Work("sends", 2)])
    async with house.opened() as control:
        desk = Desk(control, house)
        assert await desk.says("/kill") == (
            "Stopped 1 turn, 2 unsent messages. I am shut down; only /wake at the page or the terminal starts me again."
        )
        assert "shut down" in await desk.says("/sleep")
        assert control.state == "shutdown"


@pytest.mark.parametrize(
    ("killed", "words"),
    [
        (Killed(), "Nothing was running."),
        (Killed(unfinished=("record",)), "may bring turns back"),
        (Killed(turns=3, queued=1, jobs=2, unfinished=("processes",)), "Not stopped in time:** processes."),
    ],
)
def test_a_kill_that_is_not_whole_says_so(killed: Killed, words: str) -> None:
    assert words in kill_report(killed)


async def test_tools_are_switched_on_for_a_time_and_off_again() -> None:
    house = ControlHouse()
    async with house.opened() as control:
        desk = Desk(control, house)
        assert "Send /wake first" in await desk.says("/enable exec")
        await desk.says("/wake")
        assert await desk.says("/enable exec 2h") == "`exec`: on for 2 h."
        assert await desk.says("/enable group:web until sleep") == "`group:web`: on until I sleep. Besides: `exec` for 2 h."
        assert await desk.says("/disable exec") == "`exec`: off. Switched on: `group:web` until I sleep, `exec` off."
        assert await desk.says("/disable") == "Every tool is switched off."


@pytest.mark.parametrize(
    "text", ["/enable", "/enable 2h", "/enable nonsense", "/enable exec 48h", "/enable exec;ls", "/disable group:x"]
)
async def test_what_cannot_be_switched_is_refused_with_a_word_of_help(text: str) -> None:
    house = ControlHouse()
    async with house.opened() as control:
        desk = Desk(control, house)
        await desk.says("/wake")
        assert len((await desk.says(text)).split(". ")) >= 2
        assert control.view().switches.rows == ()


async def test_tools_tells_what_is_on_until_when_and_what_asks() -> None:
    house = ControlHouse()
    async with house.opened() as control:
        desk = Desk(control, house)
        assert (await desk.says("/tools")).startswith("I am **asleep**.\n")
        await desk.says("/wake")
        await desk.says("/enable exec")
        assert await desk.says("/tools") == (
            "I am **awake**. Switched on: `exec` for 1 h.\n"
            "**Without asking:** `read`\n"
            "**After asking you:** `exec` (for 1 h)\n"
            "**Not here:**\n"
            "- `web_fetch`: switched off; /enable web_fetch"
        )
        desk.standings = ()
        assert (await desk.says("/tools")).endswith("There are no tools.")


@pytest.mark.parametrize("text", ["/wake", "/sleep", "/kill", "/enable exec", "/disable", "/tools"])
async def test_they_are_the_owners_alone(text: str) -> None:
    house = ControlHouse()
    async with house.opened() as control:
        before = control.view()
        assert await Desk(control, house).says(text, owner=False) == ""
        assert control.view() == before


async def test_one_line_tells_the_state() -> None:
    house = ControlHouse()
    async with house.opened() as control:
        await control.wake(ME, "/wake")
        await house.clock.advance(60)
        line = "awake, since 1 min (/wake); sleeps in 29 min"
        seen, now = control.view(), house.clock.now()
        assert house_line(seen, now) == line
        assert house_line(seen, now, 1) == f"{line}; 1 question waits: /approvals"
        assert house_line(seen, now, 2) == f"{line}; 2 questions wait: /approvals"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59.4, "59 s"), (60, "1 min"), (5400, "1 h 30 min"), (86_400, "24 h"), (-5, "0 s")]
)
def test_a_time_is_told_as_people_say_it(seconds: float, words: str) -> None:
    assert span(seconds) == words
