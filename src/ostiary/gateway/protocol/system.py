"""Health, status, presence, commands and logs."""

from typing import Annotated, Literal

from msgspec import Meta

from ostiary.gateway.protocol.registry import Scope
from ostiary.gateway.protocol.shape import Params, Payload

Level = Literal["debug", "info", "warning", "error", "critical"]


class Health(Payload):
    """`problems` are sentences for the owner; none means that all is well."""

    ok: bool
    uptime_ms: int
    version: str
    problems: list[str]


class ChannelState(Payload):
    id: str
    state: str
    detail: str = ""


class Status(Payload):
    """`home` is shown to admins only."""

    version: str
    home: str | None
    generation: int
    config_problem: str
    agents: list[str]
    running: int
    queued: int
    waiting: int
    sessions: int
    outbox: int
    channels: list[ChannelState]


class Channels(Payload):
    channels: list[ChannelState]


class Presence(Payload):
    """`ts` is when it was last heard of, in milliseconds. The gateway lists itself; command lines are not listed."""

    instance_id: str
    display_name: str
    mode: str
    platform: str
    version: str
    ts: int
    reason: str
    scopes: list[Scope]
    text: str = ""


class PresenceList(Payload):
    presence: list[Presence]


class Beacon(Params):
    """A client says that it is there, and what it is doing."""

    text: Annotated[str, Meta(min_length=1, max_length=500)]
    instance_id: Annotated[str, Meta(max_length=200)] = ""
    reason: Annotated[str, Meta(max_length=80)] = "beacon"


class Command(Payload):
    name: str
    summary: str
    usage: str
    aliases: list[str]


class Commands(Payload):
    commands: list[Command]


class Tail(Params):
    """`cursor` is the one of the answer before; without it the newest lines come."""

    cursor: Annotated[str, Meta(max_length=80)] = ""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200
    level: Level = "debug"


class Line(Payload):
    at: str
    level: str
    name: str
    message: str
    trace: str = ""


class Lines(Payload):
    lines: list[Line]
    cursor: str
