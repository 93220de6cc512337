"""The owner's control over the house: its state, its switches, what a kill stopped."""

from typing import Annotated, Literal

from msgspec import Meta, field

from ostiary.contracts.control import HouseState
from ostiary.gateway.protocol.shape import Effect, Payload, Repeatable

Pattern = Annotated[
    str, Meta(min_length=1, max_length=80, description="A tool, group:<name>, a glob, mcp:<server> or skill__<name>.")
]
LONGEST = 86_400


class SwitchRow(Payload):
    """`until` is UTC seconds, 0 until the house sleeps. Of two that name a tool the later one counts."""

    pattern: str
    until: float
    on: bool


class ToolRow(Payload):
    """How a tool stands for the owner on a channel: a call runs, is asked about, or is refused for `reason`."""

    name: str
    outcome: Literal["allow", "ask", "deny"]
    reason: str
    on: bool
    until: float


class HouseStatus(Payload):
    """`sleepsAt` is UTC seconds, 0 if it does not sleep by itself. `unfinished` names what a kill could not stop yet."""

    state: HouseState
    since: float
    by: str
    reason: str
    sleeps_at: float
    switches: list[SwitchRow]
    generation: int
    unfinished: list[str]
    tools: list[ToolRow] = field(default_factory=list)


class Move(Effect):
    """Why, for the audit log."""

    reason: Annotated[str, Meta(max_length=200)] = ""


class Kill(Repeatable):
    """Why, for the audit log."""

    reason: Annotated[str, Meta(max_length=200)] = ""


class Enable(Effect):
    """`seconds` null: until the house sleeps; absent: an hour."""

    patterns: Annotated[list[Pattern], Meta(min_length=1, max_length=64)]
    seconds: Annotated[float, Meta(gt=0, le=LONGEST)] | None = 3600.0


class Disable(Repeatable):
    """No pattern: all of them."""

    patterns: Annotated[list[Pattern], Meta(max_length=64)] = field(default_factory=list)


class Stopped(Payload):
    """What was stopped, and in what time. `unfinished` names the parts that failed or were late."""

    turns: int
    queued: int
    processes: int
    sends: int
    jobs: int
    grants: int
    seconds: float
    unfinished: list[str]


class SwitchList(Payload):
    switches: list[SwitchRow]
    generation: int
