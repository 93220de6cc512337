"""Ids of responses, and what follows one. An id names an inbox row and proves nothing: what it leads to is looked up.

Nothing is stored for it besides what a turn stores anyway, so ids hold after a restart and as long as the inbox remembers.
"""

import re
from collections.abc import Collection, Sequence
from hashlib import sha256

from ostiary.contracts.content import Message, ToolMessage
from ostiary.contracts.events import Recorded, TurnSuspended
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import InboxItem, Store
from ostiary.core.agent.run import is_one_call
from ostiary.core.sessions.repair import repair
from ostiary.core.sessions.session import Session, fold, outcome_of
from ostiary.gateway.errors import ApiError
from ostiary.gateway.openai_api.submission import Earlier

_ID = re.compile(r"resp_([0-9a-f]{16})([0-9a-f]{16})([0-9a-f]{1,15})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The row behind an id."""

    item: int
    row: InboxItem


def response_id(item: int, session: SessionKey, fresh: str) -> str:
    """`fresh` keeps apart the responses of one turn, which may answer several times; it is 16 hex digits or more."""
    return f"resp_{fresh[:16]}{_check(session)}{item:x}"


def unkept_id(fresh: str) -> str:
    """For a response that was not to be stored: no later request finds it."""
    return f"resp_{fresh[:24]}"


async def find(store: Store | None, id: str, principal: Principal) -> Found:
    """Raises ApiError 404 for what never was, is somebody else's, or is forgotten; which of them is not told."""
    parsed = _ID.fullmatch(id)
    row = await store.inbox_item(int(parsed[3], 16)) if parsed is not None and store is not None else None
    if (
        parsed is None
        or row is None
        or _check(row.session) != parsed[2]
        or row.principal != principal
        or row.message.address.channel != "api"
    ):
        raise ApiError(
            404, f"There is no response {id[:80]!r}.", code="previous_response_not_found", param="previous_response_id"
        )
    return Found(item=row.id, row=row)


async def follow(store: Store, found: Found, answered: Collection[str]) -> SessionKey | Earlier:
    """Where the conversation goes on: in its own session if that one is named and nothing came after, else from a copy.

    `answered` are the calls the request brings results for. Raises ApiError 409 while the response is being written, and
    400 if its calls are others.
    """
    key, turn = found.row.session, found.row.turn
    journal = await store.read(key)
    session = fold(key, journal)
    newest = session.turn or session.last_turn
    if found.row.state in ("waiting", "claimed") and not _is_waiting(session, turn):
        raise ApiError(409, "That response is still being written.", code="response_in_progress", param="previous_response_id")
    if not is_one_call(key) and (not turn or (newest is not None and newest.id == turn)):
        return key
    return Earlier(context=_copied(key, journal, turn, answered), asking=key if is_one_call(key) else None)


def _is_waiting(session: Session, turn: str) -> bool:
    open_turn = session.turn
    return bool(open_turn is not None and open_turn.id == turn and open_turn.suspended is not None)


def _copied(key: SessionKey, journal: Sequence[Recorded], turn: str, answered: Collection[str]) -> tuple[Message, ...]:
    """The conversation as it was after the turn, or where the turn asked for what is now answered."""
    ends = [index for index, each in enumerate(journal) if each.turn == turn]
    if answered:
        ends = [index for index in ends if _asks(journal[index], answered)]
        if not ends:
            raise ApiError(400, "input: these results answer no call of that response.", code="no_open_calls", param="input")
    then = fold(key, journal[: ends[-1] + 1] if ends else ())
    if not answered or then.turn is None:
        return tuple(repair(then.messages).messages)
    others = tuple(outcome_of(result) for result in then.turn.results.values() if result.call_id in then.turn.calls)
    return (*then.messages, *((ToolMessage(outcomes=others),) if others else ()))


def _asks(recorded: Recorded, calls: Collection[str]) -> bool:
    return isinstance(recorded.event, TurnSuspended) and set(recorded.event.call_ids) == set(calls)


def _check(session: SessionKey) -> str:
    return sha256(str(session).encode()).hexdigest()[:16]
