"""The scenes by name, in the order of the table. Each gives its rows one by one."""

from collections.abc import Callable, Iterator, Mapping

from bench.rows import Row
from bench.scenes.calibration import calibration
from bench.scenes.commands import commands
from bench.scenes.house_rules import house_rules
from bench.scenes.installed import installed
from bench.scenes.page import page
from bench.scenes.prompt import prompt
from bench.scenes.sessions import long_session, many_sessions, one_session, slow_model, whole_history
from bench.scenes.sockets import fan_out, idle_sockets, round_trips, socket_turns
from bench.scenes.starting import memory, starting
from bench.scenes.tools import tools
from bench.scenes.vault import vault
from bench.stage import Stage

SCENES: Mapping[str, Callable[[Stage], Iterator[Row]]] = {
    "calibration": calibration,
    "start": starting,
    "memory": memory,
    "one-session": one_session,
    "whole-history": whole_history,
    "commands": commands,
    "many-sessions": many_sessions,
    "slow-model": slow_model,
    "socket": round_trips,
    "socket-turns": socket_turns,
    "fan-out": fan_out,
    "idle-sockets": idle_sockets,
    "page": page,
    "prompt": prompt,
    "tools": tools,
    "rules": house_rules,
    "vault": vault,
    "long-session": long_session,
    "size": installed,
}
