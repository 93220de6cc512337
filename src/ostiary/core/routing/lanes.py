"""Lanes: one turn at a time per session, a bounded number at once, fair between sessions, nothing accepted ever lost.

The inbox in the store is the queue; what is here is its picture in memory, made again from the store after a crash.
"""

import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup

from ostiary.contracts.clock import Clock, Ids
from ostiary.contracts.content import UserPart
from ostiary.contracts.engine import Outcome, Stopped
from ostiary.contracts.errors import Busy, OstiaryError, StaleLease, StoreError
from ostiary.contracts.events import TurnInput
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Accept, InboxItem, MarkInbox, Pending, Write
from ostiary.core.agent.job import Batch, Job, is_one_call
from ostiary.core.agent.run import Runner
from ostiary.core.cancellation import Cancelled, is_wanted
from ostiary.core.routing.closing import FIRST_RETRY, INSTEAD, LONGEST_RETRY, Closing
from ostiary.core.routing.outcomes import Outcomes
from ostiary.core.routing.queue import QueueFull, QueueRules, Seat, input_of, next_batch, outside_of, own_of, summarise
from ostiary.core.sessions.pen import Sessions

log = logging.getLogger("ostiary.lanes")

LONGEST_DEBOUNCE = 600.0
SUMMARISED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCaps:
    """How many turns of a lane run at once. A lane that is not named gets one."""

    caps: Mapping[str, int]

    def of(self, lane: str) -> int:
        return self.caps.get(lane, 1)


class Lanes:
    """`attach` adds to a message what its words point to, when its turn begins; it bounds its own time and does not raise."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        runner: Runner,
        clock: Clock,
        ids: Ids,
        caps: Callable[[], LaneCaps],
        reset_reason: Callable[[InboxItem, float], str],
        generation: Callable[[], int] = lambda: 0,
        words: Callable[[InboxItem, float], str] = lambda item, previous_at: item.message.text,
        attach: Callable[[InboxItem], Awaitable[tuple[UserPart, ...]]] | None = None,
    ) -> None:
        self._sessions = sessions
        self._runner = runner
        self._clock = clock
        self._ids = ids
        self._caps = caps
        self._reset_reason = reset_reason
        self._generation = generation
        self._words = words
        self._attach = attach
        self._seats: dict[SessionKey, Seat] = {}
        self._line: OrderedDict[str, deque[Seat]] = OrderedDict()
        self._running: dict[str, int] = {}
        self._group: TaskGroup | None = None
        self._draining = False
        self._idle = anyio.Event()
        self.outcomes = Outcomes()
        self.closing = Closing(
            sessions=sessions, runner=runner, clock=clock, outcomes=self.outcomes, line_up=lambda seat: self._line_up(seat)
        )
        self.broken: BaseException | None = None
        self.may_begin: Callable[[], bool] = lambda: True

    @property
    def running(self) -> int:
        return sum(self._running.values())

    @property
    def queued(self) -> int:
        return sum(len(seat.waiting) for seat in self._seats.values())

    @property
    def parked(self) -> int:
        return sum(1 for seat in self._seats.values() if seat.parked)

    def seats(self) -> tuple[Seat, ...]:
        """Of every session that is at something."""
        return tuple(self._seats.values())

    def seat_of(self, key: SessionKey) -> Seat | None:
        return self._seats.get(key)

    def start(self, group: TaskGroup) -> None:
        self._group = group
        self.closing.start(group)
        for seat in list(self._seats.values()):
            if seat.parked:
                self.closing.park(seat, seat.parked, seat.deadline)
            self._line_up(seat)

    async def drain(self, seconds: float) -> int:
        """Begin no more turns and let the running ones finish; gives how many are still running when time is up."""
        self._draining = True
        with anyio.move_on_after(seconds):
            while self.running:
                self._idle = anyio.Event()
                await self._idle.wait()
        return self.running

    def recover(self, pending: Pending) -> None:
        """Take up what the store says was under way."""
        for item in pending.inbox:
            seat = self._seat(item.session)
            match item.state:
                case "waiting":
                    self._queue(seat, item)
                    self.outcomes.expect(item.id)
                case "dropped":
                    seat.dropped.append(item)
                case _:
                    self.outcomes.expect(item.id)
        for turn in pending.turns:
            seat = self._seat(turn.session)
            seat.lane = turn.lane
            if turn.state == "waiting":
                seat.parked, seat.deadline = turn.turn, turn.deadline
            else:
                seat.resume = turn.turn

    async def admit(self, item: InboxItem, rules: QueueRules, also: Sequence[Write] = ()) -> InboxItem:
        """Make it durable together with `also`, then give it its seat; an item with an id is in the inbox already.

        Raises Busy, AlreadyAccepted, StoreError."""
        if self._draining and not item.id:
            raise Busy("the gateway is stopping", hint="Send it again in a moment.")
        if not self.may_begin() and not item.id:
            raise Busy("everything was stopped by /kill", hint="/wake starts it again.")
        seat = self._seat(item.session)
        writes = list(also)
        victim = self._victim(seat, rules)
        is_summarised = rules.drop == "summarize" and len(seat.dropped) < SUMMARISED
        if victim is not None:
            # Out of the line before it is written: meanwhile no turn may begin with it and nobody drop it again.
            seat.waiting.remove(victim)
            writes.append(MarkInbox(ids=(victim.id,), state="dropped" if is_summarised else "done"))
        writes.append(MarkInbox(ids=(item.id,), state="waiting") if item.id else Accept(item=item))
        seat.arriving += 1
        try:
            numbers = await self._sessions.write(writes)
        except BaseException:
            seat.arriving -= 1
            if victim is not None:
                seat.waiting.appendleft(victim)
            self._line_up(seat)
            raise
        seat.arriving -= 1
        if victim is not None:
            self._drop(seat, victim, is_summarised)
        item = replace(item, id=item.id or numbers[-1])
        seat = self._seat(item.session)
        self.outcomes.expect(item.id)
        self._arrived(seat, item)
        self.closing.give_up(seat, INSTEAD, item.principal)
        return item

    def _victim(self, seat: Seat, rules: QueueRules) -> InboxItem | None:
        waiting = len(seat.waiting) + seat.arriving
        if waiting < rules.cap:
            return None
        if rules.drop == "new" or not seat.waiting:
            raise QueueFull(f"{waiting} messages already wait in this conversation", hint="Wait for an answer, or send /stop.")
        return seat.waiting[0]

    def _drop(self, seat: Seat, victim: InboxItem, is_summarised: bool) -> None:
        seat.due.pop(victim.id, None)
        if is_summarised:
            seat.dropped.append(victim)
        self.outcomes.settle(
            (victim.id,), Outcome(turn="", session=victim.session, status="aborted", reason="dropped: the queue was full")
        )

    def _arrived(self, seat: Seat, item: InboxItem) -> None:
        self._queue(seat, item)
        if item.mode == "interrupt" and self._may_interrupt(seat, item):
            seat.waiting.rotate(1)
            if seat.job is not None:
                seat.job.stop("interrupted by a newer message")
        self._line_up(seat)

    def _may_interrupt(self, seat: Seat, item: InboxItem) -> bool:
        """Only who began what runs or waits may cut it short; others follow up."""
        session = self._sessions.peek(seat.key)
        turn = session.turn if session is not None else None
        begun = seat.job.batch.items[:1] if seat.job is not None and seat.job.batch is not None else ()
        running = [turn.started.principal] if turn is not None else [each.principal for each in begun]
        return all(principal == item.principal for principal in (*running, *(each.principal for each in seat.waiting)))

    def _queue(self, seat: Seat, item: InboxItem) -> None:
        # The stored deadline is wall time; the wait is not, or a clock that jumps back would hold the message for hours.
        wait = min(max(0.0, item.ready_at - self._clock.now()), LONGEST_DEBOUNCE)
        seat.due[item.id] = self._clock.monotonic() + wait
        seat.waiting.append(item)

    def _line_up(self, seat: Seat) -> None:
        """Put the seat in line for a slot if it has something to run and nothing holds it back."""
        if self._group is None or seat.lined_up or seat.job is not None or self._draining:
            return
        if not self.may_begin():
            self._let_go(seat)
            return
        if seat.parked or not (seat.resume or seat.waiting):
            seat.since = None
            self._let_go(seat)
            return
        now = self._clock.monotonic()
        seat.since = now if seat.since is None else seat.since
        due = max(seat.not_before, 0.0 if seat.resume else seat.ready_at())
        seat.lined_up = True
        wait = due - now
        if wait > 0:
            self._group.start_soon(self._line_up_later, seat, wait)
            return
        self._enter(seat)

    async def _line_up_later(self, seat: Seat, seconds: float) -> None:
        await self._clock.sleep(seconds)
        seat.lined_up = False
        self._line_up(seat)

    def _enter(self, seat: Seat) -> None:
        lane = seat.lane if seat.resume else seat.waiting[0].lane
        seat.lane = lane
        self._line.setdefault(lane, deque()).append(seat)
        self._pump(lane)

    def _pump(self, lane: str) -> None:
        line = self._line.get(lane)
        if not self.may_begin():
            # Nobody stands in line in a house that is shut down; who speaks after its waking lines up anew.
            while line:
                seat = line.popleft()
                seat.lined_up = False
                self._let_go(seat)
        cap = self._caps().of(lane)
        while line and self._running.get(lane, 0) < cap and self._group is not None and not self._draining:
            seat = line.popleft()
            seat.lined_up = False
            if seat.resume or seat.waiting:
                self._running[lane] = self._running.get(lane, 0) + 1
                job = self._job(seat)
                job.stop_reason, seat.stop_reason = seat.stop_reason, ""
                seat.job = job
                self._group.start_soon(self._run, seat, job)
            else:
                self._let_go(seat)

    def _job(self, seat: Seat) -> Job:
        turn, seat.resume, batch = seat.resume, "", None
        seat.since = None
        if not turn:
            turn, batch = self._ids.new("turn"), self._batch(seat)
        return Job(
            key=seat.key,
            turn=turn,
            lane=seat.lane,
            batch=batch,
            steer=lambda: self._steering(seat),
            unsteer=lambda items: self._unsteer(seat, items),
            generation=self._generation(),
        )

    def _batch(self, seat: Seat) -> Batch:
        items = next_batch(seat.waiting)
        for item in items:
            seat.waiting.popleft()
            seat.due.pop(item.id, None)
        # What others wrote into the full queue waits for a turn of theirs: a turn speaks with one authority.
        dropped = tuple(each for each in seat.dropped if each.principal == items[0].principal)
        seat.dropped = [each for each in seat.dropped if each.principal != items[0].principal]
        inputs = (*(input_of(item) for item in items), *outside_of(dropped))
        return Batch(items=tuple(items), inputs=inputs, dropped=dropped, summary_of_dropped=summarise(own_of(dropped)))

    def _steering(self, seat: Seat) -> list[tuple[InboxItem, TurnInput]]:
        """Messages that may join the running turn: only from its own principal, at its own place."""
        session = self._sessions.peek(seat.key)
        turn = session.turn if session is not None else None
        if turn is None:
            return []
        joined: list[tuple[InboxItem, TurnInput]] = []
        for item in list(seat.waiting):
            if item.mode not in ("steer", "steer-backlog") or item.principal != turn.started.principal:
                continue
            if item.reply_to != turn.started.reply_to:
                continue
            if item.mode == "steer":
                seat.waiting.remove(item)
                joined.append((item, input_of(item, self._words(item, turn.started_at))))
            else:
                # It steers now and still gets a turn of its own: it counts as a plain follow-up from here on.
                seat.waiting[seat.waiting.index(item)] = replace(item, mode="followup")
                joined.append((item, replace(input_of(item, self._words(item, turn.started_at)), item=0)))
        return joined

    def _unsteer(self, seat: Seat, items: Sequence[InboxItem]) -> None:
        """The steering could not be written: everything waits again as it did."""
        back = {item.id: item for item in items if item.mode == "steer-backlog"}
        steers = [item for item in items if item.mode == "steer"]
        seat.waiting = deque([*steers, *(back.get(item.id, item) for item in seat.waiting)])

    async def _run(self, seat: Seat, job: Job) -> None:
        try:
            with self._sessions.kept(seat.key):
                await self._begin(seat, job)
                verdict = await self._runner.run(job)
                await self.closing.finished(seat, job, verdict)
            seat.failures = 0
        except StaleLease as error:
            self.broken = error
            raise
        except (StoreError, Busy) as error:
            self._put_back(seat, job, error)
        except OstiaryError as error:
            await self._end_broken(seat, job, str(error))
        except (Exception, Cancelled()) as error:
            # An exception ends its own turn only.
            if is_wanted(error):
                raise
            log.exception("turn %s failed inside", job.turn)
            await self._end_broken(seat, job, "something inside failed; the log has the details")
        finally:
            seat.job = None
            self._running[job.lane] -= 1
            if not self.running:
                self._idle.set()
        self._line_up(seat)
        self._pump(job.lane)

    async def _begin(self, seat: Seat, job: Job) -> None:
        """Messages get their envelopes and the batch its reset only now that it is their turn."""
        batch = job.batch
        if batch is None:
            return
        session = await self._sessions.get(seat.key)
        inputs, previous = [], session.last_input_at
        for item in batch.items:
            made = input_of(item, self._words(item, previous))
            attached = await self._attach(item) if self._attach is not None else ()
            if attached:
                made = replace(made, parts=(*made.parts, *attached))
            inputs.append(made)
            previous = item.accepted_at
        reason = self._reset_reason(batch.items[0], session.last_input_at)
        job.batch = replace(batch, inputs=(*inputs, *outside_of(batch.dropped)), reset_reason=reason)

    def _put_back(self, seat: Seat, job: Job, error: Exception) -> None:
        """The store would not write: what was accepted stays accepted and is tried again, ever more slowly."""
        self._sessions.forget(seat.key)
        seat.failures += 1
        wait = min(FIRST_RETRY * 2 ** (seat.failures - 1), LONGEST_RETRY)
        seat.not_before = self._clock.monotonic() + wait
        log.warning("turn %s waits %.1f s: %s", job.turn, wait, error)
        seat.stop_reason = job.stop_reason
        if job.batch is not None:
            seat.waiting.extendleft(reversed(job.batch.items))
            seat.dropped = [*job.batch.dropped, *seat.dropped]
        else:
            seat.resume = job.turn

    async def _end_broken(self, seat: Seat, job: Job, reason: str) -> None:
        try:
            await self._runner.end_early(job, "failed", reason)
            await self.closing.finished(seat, job, "ended")
        except StaleLease:
            raise
        except Exception as error:
            # Whatever is wrong with this session, the others go on.
            log.exception("turn %s could not be ended", job.turn)
            self._put_back(seat, job, error)

    async def stop(self, key: SessionKey, reason: str) -> Stopped:
        """End what runs, clear what waits; durable when it returns."""
        seat = self._seats.get(key)
        return await self.closing.stop(seat, reason) if seat is not None else Stopped(turns=0, queued=0)

    def unpark(self, key: SessionKey, turn: str) -> None:
        """The answer to a waiting turn is committed: it goes on as soon as there is a slot."""
        seat = self._seat(key)
        if seat.parked == turn:
            self.closing.unpark(seat, turn)
            seat.resume = turn
        self._line_up(seat)

    def _seat(self, key: SessionKey) -> Seat:
        seat = self._seats.get(key)
        if seat is None:
            seat = self._seats[key] = Seat(key=key)
        return seat

    def _let_go(self, seat: Seat) -> None:
        if seat.is_empty and self._seats.get(seat.key) is seat:
            del self._seats[seat.key]
            if is_one_call(seat.key):
                self._sessions.forget(seat.key)
