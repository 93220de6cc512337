"""The engine as doors see it: it owns the turns, takes them up again after a crash, and stops in good order."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup, TaskStatus

from ostiary.contracts.channel import Accepted, Channel, Receive
from ostiary.contracts.clock import Clock
from ostiary.contracts.content import ToolOutcome
from ostiary.contracts.engine import Outcome, SessionView, Stopped, Submission
from ostiary.contracts.errors import (
    BadInput,
    Busy,
    ChannelMisconfigured,
    ChannelUnavailable,
    StaleLease,
    StoreError,
    UnknownSession,
)
from ostiary.contracts.events import Reset, SettingChanged, Shown, ToolResulted, TurnResumed
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import InboundMessage
from ostiary.contracts.store import InboxItem, Lease, MarkTurn, Pending, SaveSession, SessionRecord, Store
from ostiary.core.agent.context import estimate
from ostiary.core.approvals.desk import Approvals
from ostiary.core.cancellation import Cancelled, is_wanted
from ostiary.core.control.control import Control
from ostiary.core.routing.delivery import Delivery
from ostiary.core.routing.feed import Feed, Watcher
from ostiary.core.routing.intake import COMMAND_REPLIES, Intake
from ostiary.core.routing.lanes import Lanes
from ostiary.core.routing.outcomes import outcome_of
from ostiary.core.sessions.pen import Sessions
from ostiary.core.sessions.session import Turn, fold

log = logging.getLogger("ostiary.engine")

LEASE_SECONDS = 60.0
RENEW_SECONDS = 15.0
HOUSEKEEPING_SECONDS = 3600.0
LONGEST_BACKOFF = 300.0
SEND_SECONDS = 5.0


async def _sheltered(*, task_status: TaskStatus[TaskGroup]) -> None:
    """A group that no cancellation from outside reaches: who stops the house wants the turns drained first."""
    async with anyio.create_task_group() as group:
        group.cancel_scope.shield = True
        task_status.started(group)
        await anyio.sleep_forever()


class Supervisor:
    """Implements contracts.engine.Engine. Use it inside `async with supervisor.running()`."""

    def __init__(
        self,
        *,
        store: Store,
        sessions: Sessions,
        lanes: Lanes,
        delivery: Delivery,
        feed: Feed,
        clock: Clock,
        channels: Mapping[str, Channel],
        drain_seconds: float = 30.0,
        owner: str = "local",
        approvals: Approvals | None = None,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._lanes = lanes
        self._delivery = delivery
        self._feed = feed
        self._clock = clock
        self._channels = channels
        self.drain_seconds = drain_seconds
        self._has_drained = False
        self._owner = owner
        self.intake: Intake | None = None
        self.approvals = approvals
        self.control: Control | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Supervisor"]:
        """Take the lease, take up what was under way, serve; on leaving drain, then leave the rest to the journal."""
        lease = await self._store.claim("engine", owner=self._owner, seconds=LEASE_SECONDS)
        self._sessions.lease = lease
        assert self.intake is not None
        pending = await self._store.pending()
        self._delivery.recover(pending.outbox)
        self._lanes.recover(replace(pending, inbox=()))
        if self.approvals is not None:
            self.approvals.resume = self._lanes.unpark
            await self.approvals.load([turn.turn for turn in pending.turns])
        if self.control is not None:
            self._lanes.may_begin = lambda: self.control is None or self.control.may_begin
            await self.control.load()
        unfinished = await self._take_up(pending)
        async with anyio.create_task_group() as outer:
            group: TaskGroup = await outer.start(_sheltered)
            if self.control is not None:
                await self.control.finish_kill()
                self.control.start(group)
            self._lanes.start(group)
            self._delivery.start(group)
            group.start_soon(self._keep_lease, lease)
            self.intake.try_later = lambda item: group.start_soon(self._finish_command, item)
            for item in unfinished:
                self.intake.try_later(item)
            for channel in self._channels.values():
                group.start_soon(self._listen, channel)
            try:
                yield self
            finally:
                with anyio.CancelScope(shield=True):
                    left = await self.drain()
                    await self._close_control()
                if left:
                    log.warning("%d turns go on after the next start", left)
                group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._store.release(self._sessions.lease or lease)

    async def _close_control(self) -> None:
        if self.control is None:
            return
        try:
            await self.control.close()
        except (StoreError, Busy) as error:
            log.warning("the next start will count as one after a crash: %s", error)

    async def drain(self) -> int:
        """Begin no more turns and let the running ones finish; gives how many do not in time. A second call does not wait."""
        seconds, self._has_drained = 0.0 if self._has_drained else self.drain_seconds, True
        left = await self._lanes.drain(seconds)
        await self._delivery.drain(min(seconds, SEND_SECONDS))
        return left

    async def _take_up(self, pending: Pending) -> list[InboxItem]:
        """The inbox in the order it was filled: a command acts on what came before it and on nothing later.

        Gives the commands that the store would not let finish."""
        assert self.intake is not None
        unfinished = []
        for item in pending.inbox:
            if not self.intake.is_unfinished_command(item):
                self._lanes.recover(Pending(inbox=(item,), turns=(), outbox=()))
                continue
            try:
                await self.intake.run_command(item)
            except (StoreError, Busy) as error:
                log.warning("command %d waits: %s", item.id, error)
                unfinished.append(item)
        return unfinished

    async def _finish_command(self, item: InboxItem) -> None:
        assert self.intake is not None
        wait = 1.0
        while True:
            await self._clock.sleep(wait)
            try:
                await self.intake.run_command(item)
                return
            except StaleLease:
                raise
            except (StoreError, Busy) as error:
                log.warning("command %d waits: %s", item.id, error)
                wait = min(wait * 2, LONGEST_BACKOFF)

    async def _keep_lease(self, lease: Lease) -> None:
        while True:
            await self._clock.sleep(RENEW_SECONDS)
            try:
                lease = self._sessions.lease = await self._store.renew(lease, seconds=LEASE_SECONDS)
            except StaleLease:
                log.error("another process took over; stopping")
                raise
            except (StoreError, Busy) as error:
                log.warning("the lease could not be renewed: %s", error)

    async def _listen(self, channel: Channel) -> None:
        """Restart a channel that fails, ever more slowly; one that is misconfigured stays off until its settings change."""
        assert self.intake is not None
        receive: Receive = self.receive
        backoff = 1.0
        while True:
            began = self._clock.monotonic()
            try:
                await channel.listen(receive)
                return
            except ChannelMisconfigured as error:
                log.error("channel %s is off: %s %s", channel.name, error, error.hint)
                return
            except ChannelUnavailable as error:
                log.warning("channel %s: %s", channel.name, error)
                wait = error.retry_after or backoff
            except (Exception, Cancelled()) as error:
                # One broken channel must not take the house down.
                if is_wanted(error):
                    raise
                log.exception("channel %s failed", channel.name)
                wait = backoff
            backoff = 1.0 if self._clock.monotonic() - began > LONGEST_BACKOFF else min(backoff * 2, LONGEST_BACKOFF)
            await self._clock.sleep(wait)

    async def receive(self, message: InboundMessage) -> Accepted:
        """The way in for channels: the sender is whoever the registry says, never what the message claims.

        A message nobody could take is dropped: raised, it would end the channel, which would then be given it again."""
        try:
            return await self.submit(Submission(message=message))
        except BadInput as error:
            log.info("dropped a message on %s: %s", message.address.channel, error)
            return Accepted(status="dropped")

    async def submit(self, submission: Submission) -> Accepted:
        assert self.intake is not None
        return await self.intake.submit(submission)

    async def outcome(self, item: int) -> Outcome:
        known = await self._lanes.outcomes.wait(item)
        if known is not None:
            return known
        row = await self._store.inbox_item(item)
        if row is None:
            raise UnknownSession(f"there is no message {item}")
        if not row.turn:
            return await self._without_turn(row)
        turn_events = fold(row.session, await self._store.read(row.session, turn=row.turn))
        turn = turn_events.last_turn or turn_events.turn
        if turn is None:
            return Outcome(turn=row.turn, session=row.session, status="failed", reason="its record was erased")
        return outcome_of(row.session, turn)

    async def _without_turn(self, row: InboxItem) -> Outcome:
        """A command was answered at the desk; anything else left the queue before a turn took it."""
        reply = await self._store.value(COMMAND_REPLIES, str(row.id))
        if reply is not None:
            return Outcome(turn="", session=row.session, status="completed", text=reply.decode())
        reason = "no turn took it: it was stopped or dropped while it waited, or it was a command whose reply is no longer kept"
        return Outcome(turn="", session=row.session, status="aborted", reason=reason)

    @asynccontextmanager
    async def watch(self, session: SessionKey) -> AsyncIterator[AsyncIterator[Shown]]:
        with self._feed.watch(str(session)) as watcher:
            yield watcher.__aiter__()

    @asynccontextmanager
    async def watcher(self, session: str, *, deltas: bool = True) -> AsyncIterator[Watcher]:
        """Like `watch`, for doors that join what is ready into one write; an empty name watches everything."""
        with self._feed.watch(session, deltas=deltas) as watcher:
            yield watcher

    async def answer_calls(self, session: SessionKey, outcomes: Sequence[ToolOutcome], *, by: Principal) -> int | None:
        assert self.intake is not None
        answers, redact = {outcome.call_id: outcome for outcome in outcomes}, self.intake.redact
        async with self._sessions.pen(session) as pen:
            turn = pen.session.turn
            if turn is None or turn.suspended is None:
                return self._answered_before(turn or pen.session.last_turn, answers, by)
            if turn.suspended.waiting_for != "client_tool" or turn.started.principal != by:
                return None
            waiting = turn.suspended.call_ids
            if set(answers) != set(waiting):
                return None
            for call_id in waiting:
                answer, name = answers[call_id], turn.calls[call_id].name
                result = ToolResulted(
                    call_id=call_id,
                    name=name,
                    text=redact(answer.text),
                    is_error=answer.is_error,
                    fate="done",
                    label=answer.label,
                )
                pen.add(result, turn=turn.id)
            pen.add(TurnResumed(reason="the client answered"), turn=turn.id)
            lane = turn.started.lane
            pen.also(MarkTurn(turn=turn.id, session=session, lane=lane, state="running"))
            self._lanes.outcomes.expect(turn.items[0])
            await pen.commit()
            item = turn.items[0]
        self._lanes.unpark(session, turn.id)
        return item

    def _answered_before(self, turn: Turn | None, answers: Mapping[str, ToolOutcome], by: Principal) -> int | None:
        """The same answers sent twice lead to the same outcome."""
        if turn is None or not answers or turn.started.principal != by or not turn.answered_by_client >= set(answers):
            return None
        return turn.items[0]

    async def view(self, session: SessionKey) -> SessionView:
        state = await self._sessions.get(session)
        seat = self._lanes.seat_of(session)
        turn = state.turn
        report = dict(state.prefix.report) if state.prefix is not None else {}
        tokens = estimate(state.characters)
        report["history"] = {
            "messages": len(state.messages),
            "tokens": tokens,
            "compactions": state.compactions,
            "summary": estimate(len(state.summary)) if state.summary else 0,
        }
        return SessionView(
            key=session,
            settings=dict(state.settings),
            usage=state.usage,
            turns=state.turns,
            messages=len(state.messages),
            model=state.model,
            running_turn=turn.id if turn is not None and turn.suspended is None else "",
            waiting_for=turn.suspended.waiting_for if turn is not None and turn.suspended is not None else "",
            queued=len(seat.waiting) if seat is not None else 0,
            created_at=state.created_at,
            updated_at=state.updated_at,
            context_tokens=tokens,
            context_report=report,
        )

    async def change_setting(self, session: SessionKey, name: str, value: str, *, by: Principal) -> None:
        async with self._sessions.pen(session) as pen:
            pen.add(SettingChanged(name=name, value=value, by=str(by.user)))
            await pen.commit()

    async def reset(self, session: SessionKey, *, reason: str, by: Principal) -> None:
        await self.stop(session, by=by, reason=reason)
        async with self._sessions.pen(session) as pen:
            pen.add(Reset(reason=reason))
            await pen.commit()

    async def stop(self, session: SessionKey, *, by: Principal, reason: str = "stopped") -> Stopped:
        return await self._lanes.stop(session, reason)

    def status(self) -> Mapping[str, object]:
        return {
            "running": self._lanes.running,
            "queued": self._lanes.queued,
            "waiting": self._lanes.parked,
            "sessions": len(self._sessions),
            "outbox": self._delivery.waiting,
        }

    async def save_record(self, record: SessionRecord) -> None:
        await self._sessions.write([SaveSession(record=replace(record, updated_at=self._clock.now()))])
