"""The owner's commands over the house: /wake, /sleep, /kill, /enable, /disable, /tools."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ostiary.contracts.clock import Clock
from ostiary.contracts.control import ControlDesk, HouseState, HouseView, Killed, Switches, ToolStanding
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.core.control.switches import Wanted, parse_wanted, patterns_of
from ostiary.core.routing.commands import Command, CommandCall, CommandReply
from ostiary.core.routing.scopes import MAIN, place_of

_KILLED = {
    "turns": "turn",
    "queued": "queued message",
    "processes": "background process",
    "sends": "unsent message",
    "jobs": "job",
    "grants": "grant",
}
_PLURALS = {"background process": "background processes"}


class Standings(Protocol):
    def __call__(self, call: CommandCall) -> Sequence[ToolStanding]:
        """Every tool as it stands for the sender where the command was given."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseCommands:
    """`is_attended` says whether a command came from the page, the terminal or the API: there the owner sees the conversation
    so far, and waking does not begin a new one. `wants_fresh` is the house's setting for it elsewhere."""

    control: ControlDesk
    clock: Clock
    standings: Standings
    is_attended: Callable[[CommandCall], bool]
    wants_fresh: Callable[[], bool] = lambda: False

    async def wake(self, call: CommandCall) -> CommandReply:
        seen = self.control.view()
        if _is_awake(seen.state):
            return CommandReply(text=f"I am awake already. {self._on(seen.switches)}")
        is_fresh = self.wants_fresh() and not self.is_attended(call)
        if is_fresh:
            # Before it is awake: a crash in between leaves it asleep, and the command is done again.
            await call.controls.reset(_conversation(call.session), reason="/wake", by=call.principal)
        woken = await self.control.wake(call.principal, "/wake")
        lines = ["I am awake." + (" This is a new conversation." if is_fresh else ""), _switched_off(woken.switches)]
        if woken.sleeps_at:
            lines.append(f"After {span(woken.sleeps_at - self.clock.now())} without a word I fall asleep.")
        return CommandReply(text=" ".join(filter(None, lines)))

    async def sleep(self, call: CommandCall) -> CommandReply:
        state = self.control.view().state
        if state == "shutdown":
            return CommandReply(text="I was shut down; that is deeper than sleep. /wake starts me again.")
        if state == "dormant":
            return CommandReply(text="I am asleep already. /wake wakes me.")
        stopped = await self.control.sleep(call.principal, "/sleep")
        return CommandReply(text=f"{_sentence(stopped, '')} I sleep now; /wake wakes me.".strip())

    async def kill(self, call: CommandCall) -> CommandReply:
        return CommandReply(text=kill_report(await self.control.kill(call.principal, "/kill")))

    async def enable(self, call: CommandCall) -> CommandReply:
        wanted = parse_wanted(call.words)
        switches = await self.control.enable(wanted.patterns, call.principal, seconds=wanted.seconds)
        names = ", ".join(f"`{pattern}`" for pattern in wanted.patterns)
        return CommandReply(text=f"{names}: on {_how_long(wanted)}.{self._beside(switches, wanted.patterns)}")

    async def disable(self, call: CommandCall) -> CommandReply:
        patterns = patterns_of(call.words) if call.words else ()
        switches = await self.control.disable(patterns, call.principal)
        if not switches.rows:
            return CommandReply(text="Every tool is switched off.")
        return CommandReply(text=f"{', '.join(f'`{each}`' for each in patterns)}: off. {self._on(switches)}")

    async def tools(self, call: CommandCall) -> CommandReply:
        seen = self.control.view()
        found = self.standings(call)
        lines = [f"I am **{_STATES[seen.state]}**. {self._on(seen.switches) if _is_awake(seen.state) else ''}".strip()]
        for outcome, title in (("allow", "Without asking"), ("ask", "After asking you")):
            named = [_named(each, self.clock.now()) for each in found if each.outcome == outcome]
            lines += [f"**{title}:** {', '.join(named)}"] if named else []
        refused = [f"- `{each.name}`: {each.reason}" for each in found if each.outcome == "deny"]
        lines += ["**Not here:**", *refused] if refused else []
        return CommandReply(text="\n".join(lines) if found else f"{lines[0]}\nThere are no tools.")

    def _on(self, switches: Switches) -> str:
        """What the switches say, the newest last."""
        if not any(row.is_on for row in switches.rows):
            return "No tool is switched on."
        now = self.clock.now()
        shown = [f"`{row.pattern}` {_left(row.until, now) if row.is_on else 'off'}" for row in switches.rows]
        return f"Switched on: {', '.join(shown)}."

    def _beside(self, switches: Switches, named: Sequence[str]) -> str:
        others = Switches(rows=tuple(row for row in switches.rows if row.pattern not in named))
        return f" {self._on(others)}".replace(" Switched on:", " Besides:") if others.rows else ""


_STATES: Mapping[HouseState, str] = {
    "dormant": "asleep",
    "awake": "awake",
    "action_pending": "awake, and wait for your yes",
    "shutdown": "shut down",
}


def control_commands(house: HouseCommands) -> tuple[Command, ...]:
    """For the owner alone; like every command they wait in no lane."""
    return (
        Command(name="wake", summary="Wake me: I listen, every tool is off", run=house.wake),
        Command(name="sleep", summary="I stop listening until /wake", run=house.sleep),
        Command(name="kill", summary="Stop everything at once and shut down", run=house.kill),
        Command(
            name="enable",
            usage="<tool | group:<name> | glob | mcp:<server> | skill__<name>> [<time> | until sleep]",
            summary="Switch tools on for a time (1h, at most 24h)",
            run=house.enable,
        ),
        Command(name="disable", usage="[<tool> | all]", summary="Switch tools off", run=house.disable),
        Command(name="tools", summary="Which tools are on, until when, and what asks", run=house.tools),
    )


def kill_report(killed: Killed) -> str:
    """What a kill stopped, as its owner reads it."""
    lines = [
        f"{_sentence(killed, 'Nothing was running.')} I am shut down; only /wake at the page or the terminal starts me again."
    ]
    if "record" in killed.unfinished:
        lines.append("The store did not take it yet: until it does, a restart may bring turns back.")
    late = [name for name in killed.unfinished if name != "record"]
    if late:
        lines.append(f"**Not stopped in time:** {', '.join(late)}. I go on stopping them.")
    return "\n".join(lines)


def house_line(seen: HouseView, now: float, questions: int = 0) -> str:
    """One line for /status; `questions` is how many wait for an answer."""
    line = f"{_STATES[seen.state]}, since {span(now - seen.since)} ({seen.reason})"
    line += f"; sleeps in {span(seen.sleeps_at - now)}" if seen.sleeps_at else ""
    return f"{line}; {questions} question{'s wait' if questions > 1 else ' waits'}: /approvals" if questions else line


def span(seconds: float) -> str:
    """A time as people say it: 45 s, 30 min, 1 h 30 min."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    hours, minutes = divmod(minutes, 60)
    return " ".join(filter(None, (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")))


def _sentence(killed: Killed, nothing: str) -> str:
    found = [(getattr(killed, name), noun) for name, noun in _KILLED.items()]
    told = [f"{number} {noun if number == 1 else _PLURALS.get(noun, noun + 's')}" for number, noun in found if number]
    return f"Stopped {', '.join(told)}." if told else nothing


def _switched_off(switches: Switches) -> str:
    return "" if switches.rows else "Every tool is switched off; /enable switches one on."


def _how_long(wanted: Wanted) -> str:
    return "until I sleep" if wanted.seconds is None else f"for {span(wanted.seconds)}"


def _left(until: float, now: float) -> str:
    return f"for {span(until - now)}" if until else "until I sleep"


def _named(tool: ToolStanding, now: float) -> str:
    return f"`{tool.name}` ({_left(tool.until, now)})" if tool.is_on else f"`{tool.name}`"


def _is_awake(state: HouseState) -> bool:
    return state in ("awake", "action_pending")


def _conversation(session: SessionKey) -> SessionKey:
    """Whose beginning anew waking means: a private one is the sender's own; said in a group, the main one."""
    return session if place_of(session.scope).source in ("main", "direct") else SessionKey(session.agent, MAIN)
