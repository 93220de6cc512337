"""Where a turn begins: everything before it is what a branch takes over."""

import hashlib
from collections.abc import Sequence

from ostiary.contracts.content import Message, UserMessage
from ostiary.contracts.errors import Conflict
from ostiary.contracts.events import Branched, Imported
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Append, SaveSession, SessionRecord, Store, Write
from ostiary.core.sessions.branch import branch_events
from ostiary.core.sessions.session import fold
from ostiary.gateway.methods.services import Services
from ostiary.gateway.methods.turns import NOTE, PAST
from ostiary.gateway.protocol.errors import MethodError


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlace:
    """Events up to `before` come before the turn, and then `messages`, which are part of the event after them."""

    before: int
    messages: tuple[Message, ...] = ()


def branch_key(parent: SessionKey, caller: str, idempotency_key: str) -> SessionKey:
    """Made of the idempotency key, so that a branch cut short by a crash is found again."""
    name = hashlib.sha256(f"{caller}\0{idempotency_key}".encode()).hexdigest()[:16]
    return SessionKey(parent.agent, f"api:branch:{name}")


async def begin_branch(
    services: Services,
    parent: SessionRecord,
    key: SessionKey,
    *,
    before: int,
    messages: Sequence[Message] = (),
    by: str,
) -> None:
    """A new session with the parent's events up to `before`, then `messages`; one that is there already stays as it is.

    Raises MethodError CONFLICT, StoreError."""
    if await services.store.session(key) is not None:
        return
    earlier = await services.store.read(parent.key, limit=before) if before else ()
    folded = fold(parent.key, earlier)
    said = [*folded.messages, *messages]
    begun = branch_events(parent.key, max(1, before), said, settings=folded.settings, by=by, label=folded.label)
    now = services.clock.now()
    record = SessionRecord(
        key=key, created_at=now, updated_at=now, title=parent.title, parent=str(parent.key), origin=parent.origin
    )
    writes: list[Write] = [SaveSession(record=record), *(Append(session=key, turn="", at=now, event=event) for event in begun)]
    try:
        await services.store.commit(writes, expect={str(key): 0})
    except Conflict:
        raise MethodError("CONFLICT", "The new session was made meanwhile.") from None


async def place_of_turn(store: Store, session: SessionKey, turn: str) -> TurnPlace:
    """Raises MethodError NOT_FOUND."""
    if turn.startswith(NOTE):
        seq = _number(turn.removeprefix(NOTE))
        if seq is not None and await store.read(session, after=seq - 1, limit=1):
            return TurnPlace(before=seq - 1)
    elif turn.startswith(PAST):
        found = await _past(store, session, turn.removeprefix(PAST))
        if found is not None:
            return found
    else:
        events = await store.read(session, turn=turn, limit=1)
        if events:
            return TurnPlace(before=events[0].seq - 1)
    raise MethodError("NOT_FOUND", f"There is no turn {turn[:80]!r} in {str(session)[:120]}.")


async def _past(store: Store, session: SessionKey, name: str) -> TurnPlace | None:
    head, _, tail = name.partition("-")
    seq, number = _number(head), _number(tail)
    if seq is None or number is None:
        return None
    events = await store.read(session, after=seq - 1, limit=1)
    event = events[0].event if events else None
    if not isinstance(event, Branched | Imported):
        return None
    kept = before_question(event.messages, number)
    return None if kept is None else TurnPlace(before=seq - 1, messages=kept)


def before_question(messages: Sequence[Message], number: int) -> tuple[Message, ...] | None:
    """The messages before the turn of that number, which counts as `turns.past_turns` does; None if there is none."""
    turns = 0
    for index, message in enumerate(messages):
        if isinstance(message, UserMessage) or not turns:
            turns += 1
            if turns == number:
                return tuple(messages[:index])
    return None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 12 and int(text) > 0 else None
