"""How a turn ends: its last event, the reply and what becomes of its messages, durable together."""

import logging
from collections.abc import Callable

from ostiary.contracts.content import Message
from ostiary.contracts.errors import ModelError, ModelRateLimited
from ostiary.contracts.events import ToolFate, TurnEnded, TurnStatus
from ostiary.contracts.store import MarkInbox, MarkTurn, SaveSession, SessionRecord
from ostiary.core.agent.blocks import Blocks, shown_of
from ostiary.core.agent.citing import sources
from ostiary.core.agent.job import Job, begin, is_one_call
from ostiary.core.agent.leaks import Known, could_leak, harmless
from ostiary.core.agent.reply import closing_reply, usage_footer
from ostiary.core.agent.terms import FORM
from ostiary.core.agent.tool_results import INTERRUPTED, STOPPED, failure
from ostiary.core.approvals.desk import Approvals
from ostiary.core.routing.reply_tags import read_reply_tag
from ostiary.core.sessions.pen import Pen, Sessions
from ostiary.core.sessions.session import Session, Turn
from ostiary.core.sessions.titles import TITLE

log = logging.getLogger("ostiary.agent")


class Ending:
    def __init__(
        self,
        *,
        sessions: Sessions,
        blocks: Blocks,
        approvals: Approvals | None = None,
        redact: Callable[[str], str] = lambda text: text,
    ) -> None:
        self._sessions = sessions
        self._redact = redact
        self._blocks = blocks
        self._approvals = approvals

    def end(
        self,
        pen: Pen,
        job: Job,
        turn: Turn,
        status: TurnStatus,
        reason: str,
        *,
        error_kind: str = "",
        hint: str = "",
        retry_after: float = 0.0,
    ) -> None:
        if self._approvals is not None:
            # Nobody may be left with a question whose turn is over.
            self._approvals.lapse(pen, turn, "withdrawn", note=reason or "the turn is over")
        session, partial = pen.session, "" if status == "completed" else shown_of(job)
        reason = self._redact(reason) if reason else ""
        reply = closing_reply(turn, status, reason, hint=hint, notices=tuple(job.notices), partial=partial)
        if "[[" in reply:
            tagged = read_reply_tag(reply, job.answers)
            reply, job.tagged = tagged.text, tagged.reply_to or job.tagged
        if could_leak(session.label):
            # What was taken out of an answer on its way here may have joined what stood on either side of it.
            known = Known(session.messages)
            reply, partial = harmless(reply, known), harmless(partial, known)
        if reply and status == "completed":
            if FORM not in turn.started.directives:
                reply += sources(reply, said_in(session, turn.id))
            reply += usage_footer(session.settings.get("usage", ""), turn.usage)
        ended = TurnEnded(
            status=status, reason=reason, error_kind=error_kind, partial=partial, reply=reply, retry_after=retry_after
        )
        pen.add(ended, turn=turn.id)
        if status != "completed":
            log.info("%s of %s %s %s", turn.id, job.key, status, error_kind)
        pen.also(
            MarkTurn(turn=turn.id, session=job.key, lane=job.lane, state="ended"),
            SaveSession(record=record_of(session, turn)),
        )
        self._blocks.close(pen, job, turn, reply)
        done = tuple(item for item in turn.items if item)
        if done:
            pen.also(MarkInbox(ids=done, state="done"))

    async def fail(self, job: Job, error: ModelError) -> None:
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is not None and turn.id == job.turn:
                wait = error.retry_after or 0.0 if isinstance(error, ModelRateLimited) else 0.0
                self.end(pen, job, turn, "failed", str(error), error_kind=error.kind, hint=error.hint, retry_after=wait)
                await pen.commit()

    async def end_early(self, job: Job, status: TurnStatus, reason: str, *, fate: ToolFate = "interrupted") -> None:
        """End durably what was cut short: the part shown is kept, open calls are answered with what became of them."""
        async with self._sessions.pen(job.key) as pen:
            if job.batch is not None:
                begin(pen, job, job.batch)
            turn = pen.session.turn
            if turn is None or turn.id != job.turn:
                return
            await self._blocks.recall(job, turn)
            if self._approvals is not None:
                self._approvals.lapse(pen, turn, "withdrawn", note=reason)
            for call in turn.open_calls:
                if call.id in turn.intents:
                    pen.add(failure(call, STOPPED if status == "aborted" else INTERRUPTED, "interrupted"), turn=turn.id)
                else:
                    pen.add(failure(call, f"Not run: {reason}.", "skipped" if fate == "interrupted" else fate), turn=turn.id)
            self.end(pen, job, turn, status, reason)
            await pen.commit()
            job.batch = None


def said_in(session: Session, turn: str) -> list[Message]:
    start = next((place for name, place in reversed(session.marks) if name == turn), len(session.messages))
    return session.messages[start:]


def record_of(session: Session, turn: Turn) -> SessionRecord:
    return SessionRecord(
        key=session.key,
        created_at=session.created_at,
        updated_at=session.updated_at,
        title=session.settings.get(TITLE) or session.title,
        origin=turn.started.reply_to,
        last_seq=session.seq,
        ephemeral=is_one_call(session.key),
    )
