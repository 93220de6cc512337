"""The list of sessions, one of them, and what can be done with it."""

from dataclasses import replace

import msgspec

from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import KIND_OF, Recorded
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ModelRef
from ostiary.contracts.store import SessionRecord
from ostiary.core.sessions.titles import TITLE
from ostiary.gateway.methods.branching import begin_branch, branch_key, place_of_turn
from ostiary.gateway.methods.keys import begun, key_of, known, speakable
from ostiary.gateway.methods.services import Activity, Call, Services, SessionDesk
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.events import SessionChanged
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.sessions import (
    Branched,
    BranchSession,
    ChangeSession,
    Events,
    ListEvents,
    ListSessions,
    OfSession,
    Patched,
    PatchSession,
    Session,
    SessionLine,
    SessionList,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from ostiary.gateway.protocol.shape import Done
from ostiary.gateway.socket.audience import EVERY
from ostiary.gateway.socket.narration import usage_of

_SEARCHED = 2000
_IDLE = Activity()


async def list_sessions(call: Call[ListSessions]) -> SessionList:
    """The most recently used first."""
    asked, services = call.params, call.services
    wanted = asked.search.strip().casefold()
    count = _SEARCHED if wanted else asked.limit
    records = await services.store.sessions(limit=count, include_ephemeral=asked.include_ephemeral)
    if wanted:
        records = tuple(each for each in records if wanted in each.title.casefold() or wanted in str(each.key).casefold())
    at_work = services.sessions.activity() if services.sessions is not None else {}
    return SessionList(sessions=[_line(each, at_work.get(str(each.key), _IDLE)) for each in records[: asked.limit]])


async def get_session(call: Call[OfSession]) -> Session:
    """Its state without its history."""
    services = call.services
    record = await known(services, call.params.key)
    view = await services.engine.view(record.key)
    return Session(
        key=str(view.key),
        title=record.title,
        settings=dict(view.settings),
        usage=usage_of(view.usage),
        turns=view.turns,
        messages=view.messages,
        model=view.model,
        running_turn=view.running_turn,
        waiting_for=view.waiting_for,
        queued=view.queued,
        created_at=view.created_at,
        updated_at=view.updated_at,
        context_tokens=view.context_tokens,
        context_window=context_window(services, record.key, view.settings.get("model", "") or view.model),
        context_report=dict(view.context_report),
    )


async def patch_session(call: Call[PatchSession]) -> Patched:
    """Change settings and title, also of a session in which nothing was said yet."""
    asked, services = call.params, call.services
    key = speakable(services, asked.key)
    settings = dict(asked.settings)
    if settings.get("model"):
        # Refused here rather than by the next message.
        services.catalogue.choose(key.agent, settings["model"])
    if asked.title is not None:
        # Kept in the journal: the record is written anew by every turn.
        settings[TITLE] = _one_line(asked.title)
    for name, value in settings.items():
        await services.engine.change_setting(key, name, value, by=call.caller.principal)
    record = await services.store.session(key) or await begun(services, key)
    title = record.title if record is not None else ""
    if asked.title is not None and record is not None:
        title = settings[TITLE] or title
        await _desk(services).save_record(replace(record, title=title))
        _tell(call, key, title=title)
    view = await services.engine.view(key)
    return Patched(settings={name: value for name, value in view.settings.items() if name != TITLE}, title=title)


async def reset_session(call: Call[ChangeSession]) -> Done:
    """Begin the conversation afresh; the journal before it stays readable."""
    record = await known(call.services, call.params.key)
    await call.services.engine.reset(record.key, reason="reset", by=call.caller.principal)
    return Done()


async def delete_session(call: Call[ChangeSession]) -> Done:
    """Delete a conversation for ever."""
    record = await known(call.services, call.params.key)
    await _desk(call.services).delete(record.key, by=call.caller.principal)
    now = call.services.clock.now()
    call.hub.session_changed(
        SessionChanged(key=str(record.key), change="deleted", title=record.title, updated_at=now, running=False)
    )
    return Done()


async def branch_session(call: Call[BranchSession]) -> Branched:
    """Begin a new session with everything before a turn."""
    asked, services = call.params, call.services
    record = await known(services, asked.key)
    key = branch_key(record.key, call.caller.id, asked.idempotency_key)
    if await services.store.session(key) is not None:
        return Branched(key=str(key))
    place = await place_of_turn(services.store, record.key, asked.at_turn)
    by = str(call.caller.principal.user)
    await begin_branch(services, record, key, before=place.before, messages=place.messages, by=by)
    _tell(call, key, title=record.title)
    return Branched(key=str(key))


async def list_events(call: Call[ListEvents]) -> Events:
    """The journal as it is kept."""
    asked = call.params
    record = await known(call.services, asked.key)
    found = await call.services.store.read(record.key, after=asked.after, turn=asked.turn, limit=asked.limit + 1)
    return Events(events=[as_data(each) for each in found[: asked.limit]], more=len(found) > asked.limit)


def subscribe(call: Call[Subscribe]) -> Subscribed:
    """Hear of chats: of these sessions, or of all."""
    keys = [key if key == EVERY else str(key_of(key)) for key in call.params.keys]
    try:
        call.hub.subscribe(call.connection, keys, wants_results=call.params.verbose == "full")
    except BadInput as error:
        raise MethodError("BUSY", f"{error}.", hint=error.hint) from None
    return Subscribed(keys=sorted(call.connection.sessions))


def unsubscribe(call: Call[Unsubscribe]) -> Subscribed:
    """Hear of them no more."""
    call.hub.audience.unsubscribe(call.connection, call.params.keys)
    return Subscribed(keys=sorted(call.connection.sessions))


def as_data(recorded: Recorded) -> dict[str, object]:
    """One event: the envelope, its kind, and its own fields as the journal names them."""
    kind = KIND_OF.get(type(recorded.event), "erased")
    own = msgspec.to_builtins(recorded.event)
    return {**own, "seq": recorded.seq, "turn": recorded.turn, "at": recorded.at, "kind": kind}


def context_window(services: Services, key: SessionKey, model: str) -> int:
    """Of the model that answers in this session; 0 if that is not known."""
    try:
        if model:
            return services.catalogue.facts(ModelRef.parse(model)).context_window
        return services.catalogue.facts(services.catalogue.choose(key.agent).primary).context_window
    except BadInput:
        return 0


def _line(record: SessionRecord, activity: Activity) -> SessionLine:
    return SessionLine(
        key=str(record.key),
        title=record.title,
        created_at=record.created_at,
        updated_at=record.updated_at,
        events=record.last_seq,
        running=activity.running,
        waiting_for=activity.waiting_for,
        queued=activity.queued,
        origin=record.origin.channel if record.origin is not None else "",
    )


def _tell(call: Call[PatchSession] | Call[BranchSession], key: SessionKey, *, title: str) -> None:
    now = call.services.clock.now()
    call.hub.session_changed(SessionChanged(key=str(key), change="updated", title=title, updated_at=now, running=False))


def _one_line(text: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _desk(services: Services) -> SessionDesk:
    assert services.sessions is not None
    return services.sessions


METHODS = (
    Method("sessions.list", ListSessions, SessionList, "read", list_sessions),
    Method("sessions.get", OfSession, Session, "read", get_session),
    Method("sessions.patch", PatchSession, Patched, "chat", patch_session, has_effect=True, needs="sessions"),
    Method("sessions.reset", ChangeSession, Done, "chat", reset_session, has_effect=True),
    Method("sessions.delete", ChangeSession, Done, "admin", delete_session, has_effect=True, needs="sessions"),
    Method("sessions.branch", BranchSession, Branched, "chat", branch_session, has_effect=True),
    Method("sessions.events", ListEvents, Events, "read", list_events),
    Method("sessions.subscribe", Subscribe, Subscribed, "read", subscribe),
    Method("sessions.unsubscribe", Unsubscribe, Subscribed, "read", unsubscribe),
)
