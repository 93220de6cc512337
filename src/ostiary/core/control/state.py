"""The state machine of the house, pure: what is kept of it, and what becomes of that. No clock, no store.

    dormant  --wake-->  awake     --sleep-->  dormant
    any      --kill-->  shutdown  --wake-->   awake

`action_pending` is not kept: it is awake with a question open. Waking and sleeping switch every tool off.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from ostiary.contracts.control import HouseState, Switch, Switches
from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass

Standing = Literal["dormant", "awake", "shutdown"]
_STANDINGS: Mapping[str, Standing] = {"dormant": "dormant", "awake": "awake", "shutdown": "shutdown"}
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What survives a restart. `is_clean`: the process that wrote it ended in good order."""

    state: Standing
    since: float
    by: str = ""
    reason: str = ""
    is_clean: bool = False
    switches: Switches = Switches()

    def shown(self, *, has_questions: bool) -> HouseState:
        return "action_pending" if self.state == "awake" and has_questions else self.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Who moves the house, when and why."""

    at: float
    by: str
    reason: str


def wake(kept: Kept, cause: Cause) -> Kept:
    return kept if kept.state == "awake" else _moved(kept, "awake", cause)


def sleep(kept: Kept, cause: Cause) -> Kept:
    """Only what is awake falls asleep: a house that was shut down stays so."""
    return _moved(kept, "dormant", cause) if kept.state == "awake" else kept


def kill(kept: Kept, cause: Cause) -> Kept:
    return kept if kept.state == "shutdown" else _moved(kept, "shutdown", cause)


def begin(kept: Kept | None, *, starts_awake: bool, at: float) -> Kept:
    """How a process begins with what the last one left. After a crash all is as it was; a kill outlasts any restart."""
    if kept is not None and (not kept.is_clean or kept.state == "shutdown"):
        return replace(kept, is_clean=False)
    state: Standing = "awake" if starts_awake else "dormant"
    switches = Switches(generation=kept.switches.generation if kept is not None else 0)
    return Kept(state=state, since=at, by="house", reason="started", switches=switched(switches, (), at=at))


def switched(switches: Switches, rows: tuple[Switch, ...], *, at: float) -> Switches:
    """With a generation that was never there before, whatever was not written down before a crash."""
    return Switches(rows=rows, generation=max(switches.generation + 1, int(at * 1000)))


def _moved(kept: Kept, state: Standing, cause: Cause) -> Kept:
    switches = switched(kept.switches, (), at=cause.at)
    return Kept(state=state, since=cause.at, by=cause.by, reason=cause.reason, switches=switches)


def encode(kept: Kept) -> bytes:
    rows = [[row.pattern, row.until, row.is_on] for row in kept.switches.rows]
    return json.dumps(
        {
            "format": _FORMAT,
            "state": kept.state,
            "since": kept.since,
            "by": kept.by,
            "reason": kept.reason,
            "clean": kept.is_clean,
            "switches": rows,
            "generation": kept.switches.generation,
        }
    ).encode()


def decode(stored: bytes) -> Kept:
    """Raises BadInput for what this version cannot read."""
    try:
        found = json.loads(stored)
        if found["format"] != _FORMAT:
            raise BadInput(f"the state of the house is of format {found['format']!r}")
        rows = tuple(
            Switch(pattern=str(name), until=float(until), is_on=is_on is True) for name, until, is_on in found["switches"]
        )
        return Kept(
            state=_STANDINGS[found["state"]],
            since=float(found["since"]),
            by=str(found["by"]),
            reason=str(found["reason"]),
            is_clean=found["clean"] is True,
            switches=Switches(rows=rows, generation=int(found["generation"])),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise BadInput("the state of the house cannot be read") from error


def unreadable(at: float) -> Kept:
    """What stands for a record that cannot be read: nobody knows whether it was a kill, so it counts as one."""
    return Kept(state="shutdown", since=at, by="house", reason="its record could not be read")
