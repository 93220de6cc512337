"""What ends turns from outside: somebody stops them, nobody answers them in time, something else is said instead."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from ostiary.contracts.clock import Clock
from ostiary.contracts.engine import Outcome, Stopped
from ostiary.contracts.errors import Busy, StaleLease, StoreError, StoreUnavailable
from ostiary.contracts.identity import Principal
from ostiary.contracts.store import MarkInbox
from ostiary.core.agent.job import Job
from ostiary.core.agent.run import Runner
from ostiary.core.approvals.desk import PendingApproval, resume
from ostiary.core.routing.outcomes import Outcomes, outcome_of
from ostiary.core.routing.queue import Seat
from ostiary.core.sessions.pen import Sessions
from ostiary.core.sessions.session import Turn

log = logging.getLogger("ostiary.lanes")

FIRST_RETRY = 0.5
LONGEST_RETRY = 30.0
STOP_SECONDS = 10.0
INSTEAD = "a new message came instead of the answers"


@dataclass(slots=True, eq=False)
class Watch:
    """Over a turn that waits; over when the seat has another or none. `reason` is what the turn will be closed for."""

    turn: str
    reason: str = "nobody answered in time"
    is_overtaken: bool = False
    nap: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class Closing:
    """`line_up` is told of a seat that may go on. The seats are the lanes' own."""

    def __init__(
        self, *, sessions: Sessions, runner: Runner, clock: Clock, outcomes: Outcomes, line_up: Callable[[Seat], None]
    ) -> None:
        self._sessions = sessions
        self._runner = runner
        self._clock = clock
        self._outcomes = outcomes
        self._line_up = line_up
        self._group: TaskGroup | None = None
        self._watches: dict[Seat, Watch] = {}

    @property
    def watching(self) -> int:
        """How many turns are waited for."""
        return len(self._watches)

    def start(self, group: TaskGroup) -> None:
        self._group = group

    async def finished(self, seat: Seat, job: Job, verdict: str) -> None:
        """Tell who waits how the turn stands, and park it if it waits itself."""
        session = await self._sessions.get(seat.key)
        turn = session.turn if verdict == "waiting" else session.last_turn
        if turn is None or turn.id != job.turn:
            return
        if verdict == "waiting" and turn.suspended is None:
            # Answered before it had its place.
            seat.resume = turn.id
            return
        if verdict == "ended" or not is_asked(turn):
            # Whoever waits for an answer goes on waiting while a person is asked.
            self._outcomes.settle(turn.items, outcome_of(seat.key, turn))
        if verdict == "waiting":
            self.park(seat, turn.id, turn.suspended.deadline if turn.suspended else 0.0)

    def park(self, seat: Seat, turn: str, deadline: float) -> None:
        """The turn waits until it is answered, something else is said, or `deadline` (UTC, 0 none) has passed."""
        seat.parked = turn
        watch = self._watches[seat] = Watch(turn=turn)
        if self._group is not None:
            seconds = max(0.0, deadline - self._clock.now()) if deadline else None
            self._group.start_soon(self._expire, seat, watch, seconds)
        asked = self._questions(turn)
        since = min((each.asked_at for each in asked), default=math.inf)
        late = next((item for item in seat.waiting if item.accepted_at > since and _is_theirs(asked, item.principal)), None)
        if late is not None:
            # Said after the question was put, while other calls of the turn still ran: it is the answer to it.
            self.give_up(seat, INSTEAD, late.principal)

    def _questions(self, turn: str) -> tuple[PendingApproval, ...]:
        approvals = self._runner.approvals
        return tuple(each for each in approvals.pending if each.turn == turn) if approvals is not None else ()

    def unpark(self, seat: Seat, turn: str) -> None:
        """It waits no more; whoever watches it goes home."""
        if seat.parked == turn:
            seat.parked = ""
            watch = self._watches.pop(seat, None)
            if watch is not None:
                watch.nap.cancel()

    def give_up(self, seat: Seat, reason: str, by: Principal) -> None:
        """Do not wait any longer for the answers to a parked turn. What a person is asked is asked on, unless the one whose
        turn it is has something else to say."""
        watch = self._watches.get(seat)
        if watch is None:
            return
        asked = self._questions(watch.turn)
        if asked and not _is_theirs(asked, by):
            return
        watch.reason, watch.is_overtaken = reason, True
        watch.nap.cancel()

    async def stop(self, seat: Seat, reason: str) -> Stopped:
        """End what runs, clear what waits; durable when it returns."""
        queued = await self._clear(seat, reason)
        turns = 0
        if seat.parked:
            await self._close(seat, seat.parked, reason)
            turns = 1
        job = seat.job
        if job is not None:
            turns = 1
            with self._outcomes.ended(job.turn) as ended, anyio.move_on_after(STOP_SECONDS) as late:
                job.stop(reason)
                await ended.wait()
            if late.cancelled_caught:
                raise StoreUnavailable("the turn was told to stop, but its end could not be recorded yet")
            if seat.parked == job.turn:
                await self._close(seat, seat.parked, reason)
        elif seat.resume:
            turns = 1
            await self._close(seat, seat.resume, reason)
        return Stopped(turns=turns, queued=queued)

    async def _clear(self, seat: Seat, reason: str) -> int:
        """Nobody waits any more; gives how many did. Raises StoreError, Busy, and then everybody waits as before."""
        waiting, dropped = list(seat.waiting), list(seat.dropped)
        ids = tuple(item.id for item in (*waiting, *dropped))
        if not ids:
            return 0
        seat.waiting.clear()
        seat.dropped.clear()
        try:
            with anyio.CancelScope(shield=True):
                await self._sessions.write([MarkInbox(ids=ids, state="done")])
        except (StoreError, Busy):
            seat.waiting.extendleft(reversed(waiting))
            seat.dropped = [*dropped, *seat.dropped]
            self._line_up(seat)
            raise
        gone = Outcome(turn="", session=seat.key, status="aborted", reason=reason)
        self._outcomes.settle([item.id for item in waiting], gone)
        return len(waiting)

    async def _close(self, seat: Seat, turn: str, reason: str) -> None:
        """End a turn that does not run: its open calls are recorded as unanswered. Raises StoreError, Busy: it is as before."""
        job = Job(key=seat.key, turn=turn, lane=seat.lane, batch=None, steer=list)
        await self._runner.end_early(job, "aborted", reason, fate="unanswered")
        await self.finished(seat, job, "ended")
        self.unpark(seat, turn)
        seat.resume = "" if seat.resume == turn else seat.resume
        self._line_up(seat)

    async def _lapse(self, seat: Seat, watch: Watch) -> bool:
        """The unanswered questions of a turn become refusals and it goes on. False if it waits for something else, or is over."""
        approvals = self._runner.approvals
        async with self._sessions.pen(seat.key) as pen:
            turn = pen.session.turn
            if turn is None or turn.id != watch.turn or (turn.suspended is not None and not is_asked(turn)):
                return False
            # Not suspended any more: it was answered at the last moment, and that counts.
            if turn.suspended is not None and approvals is not None:
                if watch.is_overtaken:
                    approvals.lapse(pen, turn, "withdrawn", note=watch.reason)
                else:
                    approvals.lapse(pen, turn, "expired", due=self._clock.now())
                resume(pen, turn, watch.reason)
                await pen.commit()
        self.unpark(seat, watch.turn)
        seat.resume = watch.turn
        self._line_up(seat)
        return True

    async def _expire(self, seat: Seat, watch: Watch, seconds: float | None) -> None:
        """Close a turn that still waits by then; if the store will not write, until it does."""
        with watch.nap:
            await (anyio.sleep_forever() if seconds is None else self._clock.sleep(seconds))
        wait = FIRST_RETRY
        while self._watches.get(seat) is watch:
            try:
                if not await self._lapse(seat, watch):
                    await self._close(seat, watch.turn, watch.reason)
            except StaleLease:
                raise
            except Exception as error:  # noqa: BLE001 - one session's fault must not end the others
                log.warning("turn %s waits to be closed: %s", watch.turn, error)
                with anyio.CancelScope() as watch.nap:
                    await self._clock.sleep(wait)
                wait = min(wait * 2, LONGEST_RETRY)


def _is_theirs(asked: Sequence[PendingApproval], by: Principal) -> bool:
    return all(each.principal == by for each in asked)


def is_asked(turn: Turn) -> bool:
    """Whether it waits for a person's yes or no."""
    return turn.suspended is not None and turn.suspended.waiting_for == "approval"
