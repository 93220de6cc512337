"""The owner's control: waking the house, putting it to sleep, killing what runs, switching tools."""

from ostiary.contracts.control import ControlDesk, HouseView, Killed, Switches
from ostiary.gateway.methods.services import Call, Services
from ostiary.gateway.protocol.control import (
    Disable,
    Enable,
    HouseStatus,
    Kill,
    Move,
    Stopped,
    SwitchList,
    SwitchRow,
    ToolRow,
)
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Nothing


def status(call: Call[Nothing]) -> HouseStatus:
    """Whether the house is awake, which tools are switched on and until when, and how each tool stands."""
    desk = _desk(call.services)
    shown = _status(desk.view())
    shown.tools = [
        ToolRow(name=tool.name, outcome=tool.outcome, reason=tool.reason, on=tool.is_on, until=tool.until)
        for tool in desk.tools(call.caller.principal)
    ]
    return shown


async def when_changed(desk: ControlDesk) -> HouseStatus:
    """The house as it is after its next change; how the tools stand is for each caller to ask."""
    await desk.changed()
    return _status(desk.view())


async def wake(call: Call[Move]) -> HouseStatus:
    """Wake the house; every tool is switched off."""
    _owner(call)
    return _status(await _desk(call.services).wake(call.caller.principal, call.params.reason or "the page"))


async def sleep(call: Call[Move]) -> Stopped:
    """Put the house to sleep; background processes are stopped, what was accepted is still answered."""
    _owner(call)
    return _stopped(await _desk(call.services).sleep(call.caller.principal, call.params.reason or "the page"))


async def kill(call: Call[Kill]) -> Stopped:
    """Stop everything within a second and shut down; a restart brings nothing back."""
    _owner(call)
    return _stopped(await _desk(call.services).kill(call.caller.principal, call.params.reason or "the page"))


async def enable(call: Call[Enable]) -> SwitchList:
    """Switch tools on for a time."""
    _owner(call)
    asked = call.params
    return _switches(await _desk(call.services).enable(asked.patterns, call.caller.principal, seconds=asked.seconds))


async def disable(call: Call[Disable]) -> SwitchList:
    """Switch tools off."""
    _owner(call)
    return _switches(await _desk(call.services).disable(call.params.patterns, call.caller.principal))


def _owner(call: "Call[object]") -> None:
    """A scope says what a credential may do; the house itself is moved by its owner alone."""
    if not call.caller.principal.is_owner:
        raise MethodError("FORBIDDEN", "Only the owner may do this.")


def _status(view: HouseView) -> HouseStatus:
    switches = _switches(view.switches)
    return HouseStatus(
        state=view.state,
        since=view.since,
        by=view.by,
        reason=view.reason,
        sleeps_at=view.sleeps_at,
        switches=switches.switches,
        generation=switches.generation,
        unfinished=list(view.unfinished),
    )


def _switches(switches: Switches) -> SwitchList:
    rows = [SwitchRow(pattern=row.pattern, until=row.until, on=row.is_on) for row in switches.rows]
    return SwitchList(switches=rows, generation=switches.generation)


def _stopped(killed: Killed) -> Stopped:
    return Stopped(
        turns=killed.turns,
        queued=killed.queued,
        processes=killed.processes,
        sends=killed.sends,
        jobs=killed.jobs,
        grants=killed.grants,
        seconds=killed.seconds,
        unfinished=list(killed.unfinished),
    )


def _desk(services: Services) -> ControlDesk:
    assert services.control is not None
    return services.control


METHODS = (
    Method("control.status", Nothing, HouseStatus, "read", status, needs="control"),
    Method("control.wake", Move, HouseStatus, "admin", wake, has_effect=True, needs="control"),
    Method("control.sleep", Move, Stopped, "admin", sleep, has_effect=True, needs="control"),
    Method("control.kill", Kill, Stopped, "admin", kill, has_effect=True, needs="control", seconds=10.0),
    Method("control.enable", Enable, SwitchList, "admin", enable, has_effect=True, needs="control"),
    Method("control.disable", Disable, SwitchList, "admin", disable, has_effect=True, needs="control"),
)
