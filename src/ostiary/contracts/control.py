"""The owner's control: what state the house is in, which tools are switched on, what a kill stopped.

`dormant`: nobody is heard but the owner. `awake`: it serves. `action_pending`: awake, and something waits for a person's yes.
`shutdown`: everything was stopped, and nothing begins before the owner wakes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from ostiary.contracts.identity import Principal
from ostiary.contracts.records import dataclass

HouseState = Literal["dormant", "awake", "action_pending", "shutdown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Tools switched on, or off again, by the owner. `pattern` is a name, `group:<name>`, a glob, `mcp:<server>` or
    `skill__<name>`. `until` is UTC seconds, 0 until the house sleeps. Of two that name a tool the later one counts."""

    pattern: str
    until: float = 0.0
    is_on: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """`generation` is another one whenever a switch was changed or has run out, also after a restart."""

    rows: tuple[Switch, ...] = ()
    generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """What a kill stopped. `unfinished` names the parts that failed or were late: they are stopped again until they have
    stopped, and the house does not wake before that."""

    turns: int = 0
    queued: int = 0
    processes: int = 0
    sends: int = 0
    jobs: int = 0
    grants: int = 0
    seconds: float = 0.0
    unfinished: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStanding:
    """How a tool stands for somebody somewhere: a call of it runs, is asked about, or is refused for `reason`.

    `until` is when its switch runs out, 0 if no time is set."""

    name: str
    outcome: Literal["allow", "ask", "deny"]
    reason: str = ""
    is_on: bool = False
    until: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseView:
    """The house as its owner sees it. `sleeps_at` is UTC seconds, 0 if it does not sleep by itself."""

    state: HouseState
    since: float
    by: str
    reason: str
    sleeps_at: float = 0.0
    switches: Switches = field(default_factory=Switches)
    unfinished: tuple[str, ...] = ()


class Killable(Protocol):
    """A part of the house that has something running."""

    @property
    def name(self) -> str:
        """turns, queued, processes, sends, jobs, grants, or another word that is not counted but named if it fails."""
        ...

    async def stop_all(self, reason: str) -> int | Mapping[str, int]:
        """Stop everything of its kind, durably, and give how many there were, or how many of which name. Called again it stops
        what came since."""
        ...


class ControlDesk(Protocol):
    """What doors may do to the house. The caller has checked that `by` is the owner. Raises BadInput, StoreError, Busy."""

    def view(self) -> HouseView: ...

    async def changed(self) -> None:
        """Until another state or another set of switches comes into force."""
        ...

    def tools(self, by: Principal) -> Sequence[ToolStanding]:
        """By name, as they stand for `by` in a conversation on a channel."""
        ...

    async def wake(self, by: Principal, reason: str) -> HouseView:
        """Raises Busy while something that a kill was to stop has not stopped."""
        ...

    async def sleep(self, by: Principal, reason: str) -> Killed:
        """Gives what was stopped for it: background processes."""
        ...

    async def kill(self, by: Principal, reason: str) -> Killed:
        """Within a second, whatever fails: see `Killed.unfinished`."""
        ...

    async def enable(self, patterns: Sequence[str], by: Principal, *, seconds: float | None) -> Switches:
        """`seconds` None: until the house sleeps."""
        ...

    async def disable(self, patterns: Sequence[str], by: Principal) -> Switches:
        """No pattern: every one."""
        ...
