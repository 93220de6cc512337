"""How the house is, who is here, what can be said to it."""

from ostiary.gateway.methods.logs import tail
from ostiary.gateway.methods.services import Call, Services
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Done, Nothing
from ostiary.gateway.protocol.system import (
    Beacon,
    Channels,
    Command,
    Commands,
    Health,
    Lines,
    PresenceList,
    Status,
    Tail,
)


def health_of(services: Services) -> Health:
    problems = list(services.problems())
    uptime = max(0, int((services.clock.now() - services.started_at) * 1000)) if services.started_at else 0
    return Health(ok=True, uptime_ms=uptime, version=services.version, problems=problems)


def health(call: Call[Nothing]) -> Health:
    """Whether it answers, since when, and what its owner should look at."""
    return health_of(call.services)


def status(call: Call[Nothing]) -> Status:
    """Counts, the configuration's generation, and the channels."""
    services = call.services
    facts, counts = services.facts(), services.engine.status()
    return Status(
        version=services.version,
        home=str(facts["home"]) if "home" in facts and "admin" in call.caller.scopes else None,
        generation=_number(facts.get("generation")),
        config_problem=str(facts.get("config_problem") or ""),
        agents=list(services.agents()),
        running=_number(counts.get("running")),
        queued=_number(counts.get("queued")),
        waiting=_number(counts.get("waiting")),
        sessions=_number(counts.get("sessions")),
        outbox=_number(counts.get("outbox")),
        channels=list(services.channels()),
    )


def presence(call: Call[Nothing]) -> PresenceList:
    """Who is connected, or was within five minutes."""
    return PresenceList(presence=call.hub.presence.list())


def beacon(call: Call[Beacon]) -> Done:
    """Say that a client is there and what it does. One may speak for itself only."""
    said, connection = call.params, call.connection
    ours = {each.instance for each in call.hub.audience.everybody if each.caller.id == call.caller.id}
    instance = said.instance_id or connection.instance
    known = instance in ours and call.hub.presence.beacon(instance, said.text, said.reason)
    if known:
        call.hub.presence_changed()
    return Done(ok=known)


def channels(call: Call[Nothing]) -> Channels:
    """The channels and how they are."""
    return Channels(channels=list(call.services.channels()))


def commands(call: Call[Nothing]) -> Commands:
    """The slash commands."""
    rows = [
        Command(name=each.name, summary=each.summary, usage=each.usage, aliases=list(each.aliases))
        for each in call.services.commands()
    ]
    return Commands(commands=rows)


async def logs_tail(call: Call[Tail]) -> Lines:
    """Lines of the log, from the cursor on or the newest."""
    from anyio import to_thread

    path, asked = call.services.log_file(), call.params
    if path is None:
        return Lines(lines=[], cursor="")
    return await to_thread.run_sync(tail, path, asked.cursor, asked.limit, asked.level)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


METHODS = (
    Method("health", Nothing, Health, "read", health),
    Method("status", Nothing, Status, "read", status),
    Method("system-presence", Nothing, PresenceList, "read", presence),
    Method("system-event", Beacon, Done, "chat", beacon),
    Method("commands.list", Nothing, Commands, "read", commands),
    Method("channels.status", Nothing, Channels, "read", channels),
    Method("logs.tail", Tail, Lines, "admin", logs_tail),
)
