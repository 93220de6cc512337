"""What of an answer has left while it was still being written, and what is left to say of it at its end.

A block is in the outbox, and its words are known to have left, before it is sent: an answer that is begun again after a crash
goes on behind them, or says that it was interrupted.
"""

import logging

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.store import DeleteValue, Enqueue, SetValue
from ostiary.core.agent.job import Job, Outgoing
from ostiary.core.routing.streaming import Block, BlockStream, Progress, StreamRules
from ostiary.core.sessions.pen import Pen, Sessions
from ostiary.core.sessions.session import Session, Turn

log = logging.getLogger("ostiary.agent")

SPACE = "stream"
# For an entry whose turn was never ended; every other is deleted with the turn's end.
KEPT_SECONDS = 30 * 86_400.0
NOTHING = Progress()


class Blocks:
    def __init__(self, *, sessions: Sessions, outgoing: Outgoing, clock: Clock) -> None:
        self._sessions = sessions
        self._outgoing = outgoing
        self._clock = clock

    async def recall(self, job: Job, turn: Turn) -> None:
        """What an earlier life of the turn has sent of the step that was cut. Raises StoreError."""
        if job.told is not None:
            return
        job.told = NOTHING
        packed = await self._sessions.store.value(SPACE, _key(turn)) if turn.requested else None
        if packed is not None:
            try:
                job.told = Progress.unpack(packed)
            except ValueError:
                log.warning("nobody can tell what was sent of %s", turn.id)

    def stream(self, job: Job, session: Session, turn: Turn) -> BlockStream | None:
        """For the step that is asked next; None: nothing of it leaves before its end."""
        return self._outgoing.stream(session, turn, job.told or NOTHING)

    async def commit(self, job: Job, block: Block) -> None:
        """Make it durable, then send it. Raises StoreError, Busy."""
        session = await self._sessions.get(job.key)
        turn = session.turn
        if turn is None or turn.id != job.turn:
            return
        rows = self._outgoing.rows_for(session, turn, block.text, answers=job.answers, tagged=job.tagged, block=block.place)
        value, expires = block.progress.packed(), self._clock.now() + KEPT_SECONDS
        # Whoever stops the turn now must know that this block is out.
        with anyio.CancelScope(shield=True):
            await self._sessions.write(
                [*(Enqueue(item=row) for row in rows), SetValue(space=SPACE, key=_key(turn), value=value, expires_at=expires)]
            )
            job.told = block.progress
        self._outgoing.send(rows)

    def close(self, pen: Pen, job: Job, turn: Turn, text: str) -> None:
        """Add to the unit what is left to say of `text`; it is sent once that is durable."""
        told, job.told = job.told or NOTHING, NOTHING
        place: int | None = None
        if told.blocks:
            pen.also(DeleteValue(space=SPACE, key=_key(turn)))
            last = BlockStream(StreamRules(), progress=told).finish(text)
            text, place = (last[0].text, last[0].place) if last else ("", None)
        rows = self._outgoing.rows_for(pen.session, turn, text, answers=job.answers, tagged=job.tagged, block=place)
        if rows:
            pen.also(*(Enqueue(item=row) for row in rows))
            pen.then(lambda: self._outgoing.send(rows))


def shown_of(job: Job) -> str:
    """As much of the answer as people have seen: an answer that was begun again may not have come as far as the one before."""
    told, shown = job.told.source if job.told is not None else "", job.shown
    return told if len(told) > len(shown) and told.startswith(shown.rstrip()) else shown


def _key(turn: Turn) -> str:
    return f"{turn.id}:{turn.step}"
