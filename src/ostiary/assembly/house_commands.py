"""The owner's commands over the house, wired to its control."""

from collections.abc import Callable, Sequence

from ostiary.assembly.builtin import Host
from ostiary.assembly.control import ControlAtDesk, standings
from ostiary.assembly.newest import Newest
from ostiary.contracts.clock import Clock
from ostiary.contracts.control import ToolStanding
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address
from ostiary.core.control.control import Control
from ostiary.core.routing.commands import CommandCall
from ostiary.core.routing.control_commands import HouseCommands, control_commands


def house_commands(
    host: Host,
    control: Control,
    newest: Newest,
    clock: Clock,
    is_attended: Callable[[Address], bool],
) -> ControlAtDesk:
    """Add /wake, /sleep, /kill, /enable, /disable and /tools; gives the desk that pages and sockets use."""

    def on_channel(by: Principal) -> Sequence[ToolStanding]:
        key = SessionKey(newest.rules.default_agent, "main")
        return _standings(key, by, channel="", attended=False)

    def where_given(call: CommandCall) -> Sequence[ToolStanding]:
        address = call.message.address
        return _standings(call.session, call.principal, channel=address.channel, attended=is_attended(address))

    def _standings(key: SessionKey, by: Principal, *, channel: str, attended: bool) -> Sequence[ToolStanding]:
        specs = [tool.spec for tool in host.tools.values()]
        return standings(control, specs, newest.rules.judge, by=by, session=key, channel=channel, attended=attended)

    desk = ControlAtDesk(control=control, standings=on_channel)
    commands = HouseCommands(
        control=desk,
        clock=clock,
        standings=where_given,
        is_attended=lambda call: is_attended(call.message.address),
        wants_fresh=lambda: control.rules().fresh_on_wake,
    )
    for command in control_commands(commands):
        host.add_command(command)
    return desk
