"""What turns did to files, taking it back, and vouching for what was said."""

from ostiary.contracts.errors import BadInput
from ostiary.gateway.methods.history import newest_turns
from ostiary.gateway.methods.keys import known
from ostiary.gateway.methods.services import Call, ChangeDesk, Services
from ostiary.gateway.protocol.changes import (
    ChangeList,
    ListChanges,
    TrustSession,
    Undone,
    UndoTurn,
)
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Done


async def list_changes(call: Call[ListChanges]) -> ChangeList:
    """What a turn, or the newest turns of a session, did to files, as diffs."""
    asked, services = call.params, call.services
    if bool(asked.turn) == bool(asked.key):
        raise MethodError("INVALID_PARAMS", "Give turn or key.", details={"path": "turn", "expected": "turn or key"})
    turns = [asked.turn]
    if asked.key:
        record = await known(services, asked.key)
        newest, _ = await newest_turns(services.store, record.key, record.last_seq, asked.limit, "")
        turns = [turn.id for turn in reversed(newest)]
    found = [await _desk(services).of_turn(turn) for turn in turns]
    return ChangeList(turns=[changes for changes in found if changes is not None])


async def undo_turn(call: Call[UndoTurn]) -> Undone:
    """Make every file that a turn changed what it was before it. What was changed since is left alone and named."""
    asked, desk = call.params, _desk(call.services)
    if not call.caller.principal.is_owner and "approve" not in call.caller.scopes:
        raise MethodError("FORBIDDEN", "Only the owner, or who may approve, takes changes back.", details={"scope": "approve"})
    if bool(asked.turn) == bool(asked.key):
        raise MethodError("INVALID_PARAMS", "Give turn or key.", details={"path": "turn", "expected": "turn or key"})
    try:
        turn = asked.turn or await desk.last_change((await known(call.services, asked.key)).key)
        undo = await desk.undo(turn, by=call.caller.principal)
    except BadInput as error:
        raise MethodError("NOT_FOUND", f"{str(error)[:1].upper()}{str(error)[1:]}.", hint=error.hint) from None
    return Undone(turn=turn, restored=list(undo.restored), deleted=list(undo.deleted), conflicts=list(undo.conflicts))


async def trust_session(call: Call[TrustSession]) -> Done:
    """Vouch for everything said in a session so far: it counts as the owner's own words from here on."""
    record = await known(call.services, call.params.key)
    await _desk(call.services).trust(record.key, by=call.caller.principal, reason=call.params.reason)
    return Done()


def _desk(services: Services) -> ChangeDesk:
    assert services.changes is not None
    return services.changes


METHODS = (
    Method("changes.list", ListChanges, ChangeList, "read", list_changes, needs="changes"),
    Method("changes.undo", UndoTurn, Undone, "chat", undo_turn, has_effect=True, needs="changes"),
    Method("session.trust", TrustSession, Done, "approve", trust_session, has_effect=True, needs="changes"),
)
