"""What a request demands of the answer (its form, which tools are called), where it meets a turn that is under way."""

from dataclasses import replace

from ostiary.contracts.events import TurnStarted
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Store
from ostiary.core.agent.terms import CHOICE, forces, lasting
from ostiary.gateway.errors import ApiError
from ostiary.gateway.openai_api.submission import Turn

_TAIL = 200


async def keep_terms(store: Store | None, turn: Turn) -> Turn:
    """A request that only brings results goes on with the turn that asked for them, if it demands what that turn does.

    Otherwise a stateless one begins anew from the history it brings; of a session's own turn the terms stand: ApiError 400.
    """
    if turn.asking is None or turn.speaks or not turn.terms or store is None:
        return turn
    begun = await _begun(store, turn.asking)
    if begun is None:
        return turn
    there, wanted = lasting(begun.directives), lasting(turn.terms)
    forced = forces(turn.terms.get(CHOICE, ""))
    if there == wanted and not forced:
        return turn
    if turn.ephemeral:
        return replace(turn, asking=None, answers=())
    field = CHOICE if forced else next(name for name in (*wanted, *there) if wanted.get(name) != there.get(name))
    raise ApiError(
        400,
        f"{field}: these results go on with the turn that asked for them, and its terms stand. Set it with a new message.",
        code="invalid_value",
        param=field,
    )


async def _begun(store: Store, key: SessionKey) -> TurnStarted | None:
    record = await store.session(key)
    last = record.last_seq if record is not None else 0
    for after in (max(0, last - _TAIL), 0):
        events = [each.event for each in await store.read(key, after=after) if isinstance(each.event, TurnStarted)]
        if events:
            return events[-1]
    return None
