"""The owner's switches over tools: what an `/enable` means, and whether a tool is on this very moment."""

import logging
import re
from collections.abc import Callable, Collection, Sequence

from ostiary.contracts.clock import Clock
from ostiary.contracts.control import Switch, Switches
from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass
from ostiary.core.control.state import switched
from ostiary.core.policy.names import NameSet, canonical

log = logging.getLogger("ostiary.control")

DEFAULT_SECONDS = 3600.0
LONGEST_SECONDS = 24 * 3600.0
MOST_ROWS = 64
_LONGEST_PATTERN = 80
_SERVER = re.compile(r"mcp:[a-z0-9][a-z0-9_.-]{0,63}")
_PATTERN = re.compile(r"(?:group:)?[a-z0-9_*?\[\]!.-]+")
_SPAN = re.compile(r"(?:\d{1,6}(?:d|h|min|m|s))+")
_PIECE = re.compile(r"(\d{1,6})(d|h|min|m|s)")
_UNITS = {"d": 86_400, "h": 3600, "min": 60, "m": 60, "s": 1}
_HOW = "Say 30m, 2h, at most 24h, or: until sleep."


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What `/enable` and `/disable` ask for. `seconds` None: until the house sleeps."""

    patterns: tuple[str, ...]
    seconds: float | None = DEFAULT_SECONDS


def parse_wanted(words: Sequence[str]) -> Wanted:
    """`exec`, `exec web_* 2h`, `group:web for 30m`, `mcp:github until sleep`. Raises BadInput."""
    lowered = [word.strip(",").lower() for word in words]
    if lowered[-2:] == ["until", "sleep"]:
        return Wanted(patterns=patterns_of(lowered[:-2]), seconds=None)
    if lowered and lowered[-1][0:1].isdecimal():
        names = lowered[:-1]
        names = names[:-1] if names[-1:] == ["for"] else names
        return Wanted(patterns=patterns_of(names), seconds=parse_span(lowered[-1]))
    return Wanted(patterns=patterns_of(lowered))


def patterns_of(words: Sequence[str]) -> tuple[str, ...]:
    """Each in its one spelling; `all` is `*`. Raises BadInput for none, too many, and what cannot name a tool."""
    if not words:
        raise BadInput("no tool is named", hint="Name one, such as exec, group:web, web_* or mcp:github.")
    if len(words) > MOST_ROWS:
        raise BadInput(f"more than {MOST_ROWS} tools are named", hint="Name a group, such as group:web.")
    return tuple(dict.fromkeys(_pattern(word) for word in words))


def _pattern(word: str) -> str:
    name = "*" if word.strip().lower() == "all" else canonical(word)
    if len(name) > _LONGEST_PATTERN or not (_SERVER.fullmatch(name) or _PATTERN.fullmatch(name)):
        raise BadInput(f"{word[:40]!r} names no tool", hint="Name one, such as exec, group:web, web_* or mcp:github.")
    names_of(name)
    return name


def names_of(pattern: str, plugin_tools: frozenset[str] = frozenset()) -> NameSet:
    """The tools that a pattern means. Raises BadInput for a group nobody knows."""
    server = pattern.removeprefix("mcp:")
    return NameSet((f"mcp__{server}__*" if server != pattern else pattern,), plugin_tools=plugin_tools)


def parse_span(text: str) -> float:
    """`45s`, `30m`, `2h`, `1h30m`. Raises BadInput beyond a day, for zero, and for what is no time."""
    if _SPAN.fullmatch(text) is None:
        raise BadInput(f"{text[:40]!r} is no time", hint=_HOW)
    seconds = float(sum(int(number) * _UNITS[unit] for number, unit in _PIECE.findall(text)))
    return checked_span(seconds)


def checked_span(seconds: float) -> float:
    if not 0 < seconds <= LONGEST_SECONDS:
        raise BadInput("a tool is switched on for at least a second and at most 24 hours", hint=_HOW)
    return seconds


@dataclass(frozen=True, slots=True)
class _Row:
    """A switch that is in force. It ends by whichever clock says so first: the wall's may be set back, the other one
    stands still while the machine sleeps."""

    switch: Switch
    names: NameSet
    ends: float


class Switchboard:
    """Asked for every decision, so it waits for nothing. `known` are the names of the tools there are, `plugin_tools` those
    that plugins brought."""

    def __init__(
        self,
        clock: Clock,
        *,
        known: Callable[[], Collection[str]] = tuple,
        plugin_tools: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self._clock = clock
        self._known = known
        self._plugin_tools = plugin_tools
        self._rows: tuple[_Row, ...] = ()
        self._switches = Switches()
        self._answers: dict[str, Switch | None] = {}
        self._ends = self._ends_utc = float("inf")

    @property
    def switches(self) -> Switches:
        """Those in force now."""
        self._expire()
        return self._switches

    @property
    def generation(self) -> int:
        self._expire()
        return self._switches.generation

    def is_on(self, tool: str) -> bool:
        found = self.switch_of(tool)
        return found is not None and found.is_on

    def switch_of(self, tool: str) -> Switch | None:
        """The one that decides about a tool; None if none names it."""
        self._expire()
        try:
            return self._answers[tool]
        except KeyError:
            found = next((row.switch for row in reversed(self._rows) if tool in row.names), None)
            if len(self._answers) < 1000:
                self._answers[tool] = found
            return found

    def enabled(self, patterns: Sequence[str], seconds: float | None) -> Switches:
        """As they would be with these switched on. Raises BadInput for a name that fits no tool, or too many rows."""
        until = 0.0 if seconds is None else self._clock.now() + checked_span(seconds)
        for pattern in patterns:
            self._check_known(pattern)
        return self._with(patterns, [Switch(pattern=pattern, until=until) for pattern in patterns])

    def disabled(self, patterns: Sequence[str]) -> Switches:
        """As they would be with these off. Without a pattern, or with `*`, no switch is left."""
        if not patterns or "*" in patterns:
            return switched(self.switches, (), at=self._clock.now())
        return self._with(patterns, [Switch(pattern=pattern, is_on=False) for pattern in patterns])

    def take(self, switches: Switches) -> None:
        """Put in force what was written down."""
        self._switches = switches
        now, wall, plugins = self._clock.monotonic(), self._clock.now(), self._plugin_tools()
        rows = []
        for switch in switches.rows:
            left = min(switch.until - wall, LONGEST_SECONDS) if switch.until else float("inf")
            try:
                rows.append(_Row(switch, names_of(switch.pattern, plugins), now + left))
            except BadInput:
                # Written by a version that knew this group; what nobody knows switches nothing on.
                log.warning("the switch %s means nothing here", switch.pattern)
        self._arrange(rows)

    def next_end(self) -> float | None:
        """How many seconds until a switch runs out; None if none will."""
        self._expire()
        left = min(self._ends - self._clock.monotonic(), self._ends_utc - self._clock.now())
        return None if left == float("inf") else max(0.0, left)

    def _with(self, patterns: Sequence[str], rows: Sequence[Switch]) -> Switches:
        kept = [row for row in self.switches.rows if row.pattern not in patterns]
        if not any(row.is_on for row in (*kept, *rows)):
            return switched(self._switches, (), at=self._clock.now())
        # What is off anyway needs no row that says so.
        while kept and not kept[0].is_on:
            kept.pop(0)
        every = (*kept, *rows)
        if len(every) > MOST_ROWS:
            raise BadInput(f"more than {MOST_ROWS} switches", hint="Name groups, or /disable all first.")
        return switched(self._switches, every, at=self._clock.now())

    def _check_known(self, pattern: str) -> None:
        if pattern.startswith(("mcp:", "mcp__", "skill__")):
            # Their servers may not have connected yet.
            return
        names, known = names_of(pattern, self._plugin_tools()), self._known()
        if not any(tool in names for tool in known):
            listed = ", ".join(sorted(known)) or "none"
            raise BadInput(f"no tool is called {pattern}", hint=f"There are: {listed}.")

    def _expire(self) -> None:
        if self._clock.monotonic() < self._ends and self._clock.now() < self._ends_utc:
            return
        now, wall = self._clock.monotonic(), self._clock.now()
        rows = [row for row in self._rows if now < row.ends and not 0 < row.switch.until <= wall]
        self._switches = switched(self._switches, tuple(row.switch for row in rows), at=wall)
        self._arrange(rows)

    def _arrange(self, rows: Sequence[_Row]) -> None:
        self._rows = tuple(rows)
        self._answers = {}
        self._ends = min((row.ends for row in rows), default=float("inf"))
        self._ends_utc = min((row.switch.until for row in rows if row.switch.until), default=float("inf"))
