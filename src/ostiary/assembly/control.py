"""The owner's control in the assembled house: rules from the configuration, the parts a kill stops, the desk for doors."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import anyio.to_thread

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.control import HouseView, Killable, Killed, Switches, ToolStanding
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import SetValue, Store
from ostiary.contracts.tool import ToolSpec
from ostiary.core.control.control import Control, ControlRules, Hook, Parts
from ostiary.core.control.engine_parts import EngineTurns, Given, Grants, Outbox, QueuedSends
from ostiary.core.control.record import KEY, SPACE, entry
from ostiary.core.control.state import Cause, begin, decode, encode, kill, unreadable
from ostiary.core.routing.lanes import Lanes

if TYPE_CHECKING:
    from ostiary.assembly.config.schema import Config

Judge = Callable[[Action], Decision]
_MIB = 1 << 20


def control_rules(config: "Config") -> ControlRules:
    control = config.control
    return ControlRules(
        sleep_after=control.sleep_after_minutes * 60.0,
        start_awake=control.start_awake,
        strict=control.strict,
        fresh_on_wake=control.fresh_on_wake,
    )


def engine_parts(
    lanes: Lanes,
    outbox: Outbox,
    given: Given,
    *,
    processes: Sequence[Killable] = (),
    jobs: Sequence[Killable] = (),
    on_wake: Sequence[Hook] = (),
    on_sleep: Sequence[Hook] = (),
) -> Parts:
    """What a kill stops: turns, what is queued, unsent replies, what was `given` beforehand, `processes` and `jobs`. Sleep stops
    the processes."""
    return Parts(
        kill=(EngineTurns(lanes), QueuedSends(outbox), Grants(given), *processes, *jobs),
        sleep=tuple(processes),
        on_wake=tuple(on_wake),
        on_sleep=tuple(on_sleep),
        probe=machine_facts,
    )


def standings(
    control: Control, specs: Sequence[ToolSpec], judge: Judge, *, by: Principal, session: SessionKey, channel: str, attended: bool
) -> tuple[ToolStanding, ...]:
    """How each tool stands for `by` there, by the same rules that decide its calls, as far as arguments do not matter."""
    found = []
    for spec in sorted(specs, key=lambda spec: spec.name):
        action = Action(
            principal=by,
            session=session,
            channel=channel,
            tool=spec,
            arguments={},
            label=Label(trust=Trust.OWNER),
            is_attended=attended,
        )
        decision = judge(action)
        switch = control.switch_of(spec.name)
        is_on = control.is_on(spec.name)
        found.append(
            ToolStanding(
                name=spec.name,
                outcome=_outcome(decision),
                reason=decision.reason,
                is_on=is_on,
                until=switch.until if switch is not None and is_on else 0.0,
            )
        )
    return tuple(found)


def _outcome(decision: Decision) -> Literal["allow", "ask", "deny"]:
    match decision:
        case Allow():
            return "allow"
        case Ask():
            return "ask"
        case Deny():
            return "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlAtDesk:
    """Implements contracts.control.ControlDesk for pages and sockets. `standings` gives the tools as they stand for somebody
    on a channel."""

    control: Control
    standings: Callable[[Principal], Sequence[ToolStanding]]

    def view(self) -> HouseView:
        return self.control.view()

    async def changed(self) -> None:
        await self.control.changed()

    def tools(self, by: Principal) -> Sequence[ToolStanding]:
        return self.standings(by)

    async def wake(self, by: Principal, reason: str) -> HouseView:
        return await self.control.wake(by, reason)

    async def sleep(self, by: Principal, reason: str) -> Killed:
        return await self.control.sleep(by, reason)

    async def kill(self, by: Principal, reason: str) -> Killed:
        return await self.control.kill(by, reason)

    async def enable(self, patterns: Sequence[str], by: Principal, *, seconds: float | None) -> Switches:
        return await self.control.enable(patterns, by, seconds=seconds)

    async def disable(self, patterns: Sequence[str], by: Principal) -> Switches:
        return await self.control.disable(patterns, by)


async def machine_facts() -> Mapping[str, object]:
    """What machine this is, for /status: processors, load, memory, disk. What cannot be found out is left out."""
    return await anyio.to_thread.run_sync(_machine_facts)


def _machine_facts() -> Mapping[str, object]:
    facts: dict[str, object] = {"processors": os.cpu_count() or 1}
    with suppress(OSError):
        facts["load"] = round(os.getloadavg()[0], 2)
    with suppress(OSError, KeyError, ValueError, IndexError):
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines() if ":" in line)
        facts["memory_mib"] = int(lines["MemTotal"].split()[0]) // 1024
        facts["free_memory_mib"] = int(lines["MemAvailable"].split()[0]) // 1024
    with suppress(OSError):
        disk = os.statvfs(Path.home())
        facts["free_disk_mib"] = disk.f_bavail * disk.f_frsize // _MIB
    return facts


async def kill_at_rest(store: Store, at: float, *, reason: str) -> None:
    """Shut down a house that no process runs: the next start stops what the store still calls under way, before anything
    goes on. Raises StoreError, Busy."""
    stored = await store.value(SPACE, KEY)
    found = None
    if stored is not None:
        try:
            found = decode(stored)
        except BadInput:
            found = unreadable(at)
    kept = kill(found or begin(None, starts_awake=False, at=at), Cause(at=at, by="cli:owner", reason=reason))
    audit = entry("kill", at=at, by="cli:owner", detail={"reason": reason, "running": False})
    await store.commit([SetValue(space=SPACE, key=KEY, value=encode(kept)), audit])
