"""Handing a request to the engine, and what can come of it before any turn runs."""

from ostiary.contracts.engine import Engine
from ostiary.contracts.errors import UnknownSession
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.gateway.errors import ApiError
from ostiary.gateway.openai_api.options import wrong
from ostiary.gateway.openai_api.submission import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The inbox item to wait on. `is_new` is false for a repeated request, which gets the outcome of the first.

    `resumes`: the turn was suspended and goes on.
    """

    item: int
    session: SessionKey
    is_new: bool = True
    resumes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """The answer was there at once: a command's."""

    text: str
    session: SessionKey
    item: int = 0


async def begin(engine: Engine, turn: Turn) -> Begun | Replied:
    """Durable when it returns. Raises ApiError or OstiaryError; then nothing was accepted."""
    if turn.asking is not None:
        item = await _answer(engine, turn, turn.asking)
        if item is not None and not turn.speaks:
            return Begun(item=item, session=turn.asking, resumes=True)
    if turn.submission is None:
        raise ApiError(
            400, f"{turn.listed_as}: these tool results answer no open call.", code="no_open_calls", param=turn.listed_as
        )
    accepted = await engine.submit(turn.submission)
    session = accepted.session or turn.submission.session
    if session is None or accepted.status == "dropped":
        raise ApiError(403, "This message may not be delivered.", code="not_allowed")
    if accepted.status == "answered" or accepted.item is None:
        return Replied(text=accepted.text, session=session, item=accepted.item or 0)
    return Begun(item=accepted.item, session=session, is_new=accepted.status == "accepted")


def watched(turn: Turn) -> SessionKey:
    """The session in which the answer will most likely be written."""
    if turn.asking is not None and not turn.speaks:
        return turn.asking
    if turn.submission is None or turn.submission.session is None:
        raise wrong(turn.listed_as, "nothing was said")
    return turn.submission.session


async def _answer(engine: Engine, turn: Turn, asking: SessionKey) -> int | None:
    try:
        return await engine.answer_calls(asking, turn.answers, by=turn.principal)
    except UnknownSession:
        return None
