"""The outbox: every reply is sent, in order per place, once; a send that may have happened twice says so.

Rows hold a reply as its channel writes it, cut to what one message holds.

A channel that deduplicates by key is simply sent to again after a crash. For the others the attempt is recorded before it
is made, so that a repeat can be marked as a possible duplicate.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field, replace

import anyio
from anyio.abc import TaskGroup

from ostiary.contracts.channel import Channel, TypingChannel
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import Busy, ChannelMisconfigured, ChannelUnavailable, StaleLease, StoreError
from ostiary.contracts.messages import Address, OutboundMessage
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import InboxItem, MarkOutbox, OutboxItem, OutboxState
from ostiary.contracts.text import Rendered
from ostiary.core.cancellation import Cancelled, is_wanted
from ostiary.core.routing.chunks import split_text
from ostiary.core.routing.reply_tags import ReplyToMode, reply_targets
from ostiary.core.routing.retries import RetryPolicy, quick_wait, retry_policy
from ostiary.core.routing.streaming import BlockStream, Progress, StreamRules
from ostiary.core.routing.typing_signs import TypingRules, TypingSigns, typing_mode, typing_signs
from ostiary.core.sessions.pen import Sessions
from ostiary.core.sessions.session import Session, Turn

log = logging.getLogger("ostiary.delivery")

CUT_OFF_SECONDS = 0.3

# Channel and Markdown to the messages of that channel; None: it takes Markdown as it is.
Render = Callable[[str, str], list[Rendered] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How replies leave on one channel. `prefix` stands before each of them; `reply_to` says which of its messages are marked
    as answers."""

    prefix: str = ""
    reply_to: ReplyToMode = "off"
    stream: StreamRules = field(default_factory=StreamRules)
    typing: TypingRules = field(default_factory=TypingRules)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRules:
    """Waits between attempts double from `first_wait` to `longest_wait`; after `give_up` seconds it has failed."""

    first_wait: float = 1.0
    longest_wait: float = 300.0
    give_up: float = 86_400.0
    send_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Try once more, not before `retry_after` seconds if the platform named them."""

    retry_after: float | None
    may_have_arrived: bool


@dataclass(slots=True, eq=False)
class Worker:
    """Whoever sends the messages of one address."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    gone: anyio.Event = field(default_factory=anyio.Event)


class Delivery:
    def __init__(
        self,
        *,
        sessions: Sessions,
        channels: Mapping[str, Channel],
        clock: Clock,
        rules: DeliveryRules | None = None,
        may_send: Callable[[Session, Address], bool] = lambda session, address: True,
        manner: Callable[[str], Manner] = lambda channel: Manner(),
        render: Render = lambda channel, text: None,
        retry: Callable[[str], RetryPolicy] = retry_policy,
        chance: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._sessions = sessions
        self._channels = channels
        self._clock = clock
        self._rules = rules or DeliveryRules()
        self._chance = chance
        self._may_send = may_send
        self._manner = manner
        self._render = render
        self._retry = retry
        self._queues: dict[Address, deque[OutboxItem]] = {}
        self._sending: set[Address] = set()
        self._quiet = anyio.Event()
        self._workers: dict[Address, Worker] = {}
        self._group: TaskGroup | None = None

    @property
    def waiting(self) -> int:
        return sum(len(queue) for queue in self._queues.values())

    def pushes(self, address: Address) -> bool:
        channel = self._channels.get(address.channel)
        return channel is not None and channel.capabilities.pushes

    def rows_for(
        self, session: Session, turn: Turn, reply: str, *, answers: str = "", tagged: str = "", block: int | None = None
    ) -> list[OutboxItem]:
        """The reply to a turn, as its origin writes it; nothing if the origin fetches its answers.

        `answers` is the message being answered, `tagged` what the reply names instead. `block` is the place of a block in a
        reply that leaves bit by bit: only the first carries the prefix."""
        address = turn.started.reply_to
        if not reply or not self.pushes(address) or not self._may_send(session, address):
            return []
        manner, key = self._manner(address.channel), f"{turn.id}:{turn.step}"
        if not block:
            reply = manner.prefix + reply
        rows = self.rows(session.name, turn.id, key if block is None else f"{key}:{block}", address, reply)
        if block and manner.reply_to != "all":
            return rows
        targets = reply_targets(manner.reply_to, tagged, answers, len(rows))
        return [
            replace(row, message=replace(row.message, reply_to=target)) if target else row
            for row, target in zip(rows, targets, strict=True)
        ]

    def rows(self, session: str, turn: str, key: str, address: Address, text: str) -> list[OutboxItem]:
        pieces = self._render(address.channel, text)
        if pieces is None:
            limit = self._channels[address.channel].capabilities.max_chars
            pieces = [Rendered(chunk) for chunk in split_text(text, limit)]
        return [
            OutboxItem(
                message=OutboundMessage(key=f"{key}:{place}", address=address, text=piece.text, ranges=piece.ranges),
                session=session,
                turn=turn,
            )
            for place, piece in enumerate(pieces)
        ]

    def stream(self, session: Session, turn: Turn, progress: Progress) -> BlockStream | None:
        """The blocks of one answer to a turn; None where it leaves when it is complete."""
        address = turn.started.reply_to
        if not self.pushes(address):
            return None
        rules = self._manner(address.channel).stream
        if not rules.enabled or rules.break_at == "message_end" or not self._may_send(session, address):
            return None
        return BlockStream(rules, limit=self._channels[address.channel].capabilities.max_chars, progress=progress)

    def typing(self, item: InboxItem) -> AbstractAsyncContextManager[TypingSigns] | None:
        """Around the turn that answers `item`; None where nobody would see it."""
        address, message = item.reply_to, item.message
        channel: object = self._channels.get(address.channel)
        if not isinstance(channel, TypingChannel):
            return None
        rules = self._manner(address.channel).typing
        nobody_waits = item.lane != "main"
        mode = typing_mode(rules.mode, chat_kind=message.chat_kind, mentions_us=message.mentions_us, heartbeat=nobody_waits)
        return None if mode == "never" else typing_signs(channel, address, mode, rules, self._clock)

    def start(self, group: TaskGroup) -> None:
        self._group = group
        for address in list(self._queues):
            self._sending.add(address)
            group.start_soon(self._work_off, address)

    async def drain(self, seconds: float) -> None:
        """Let what can be sent now be sent and marked; what waits for another attempt stays in the outbox."""
        with anyio.move_on_after(seconds):
            while self._sending:
                self._quiet = anyio.Event()
                await self._quiet.wait()

    def recover(self, outbox: tuple[OutboxItem, ...]) -> None:
        """What was being sent when the process died may have arrived."""
        for item in outbox:
            if item.state == "sending":
                item = replace(item, message=replace(item.message, possible_duplicate=True))
            self._queues.setdefault(item.message.address, deque()).append(item)

    def send(self, rows: list[OutboxItem]) -> None:
        """Rows that were just committed: off they go."""
        for row in rows:
            address = row.message.address
            queue = self._queues.get(address)
            if queue is not None:
                queue.append(row)
                continue
            self._queues[address] = deque((row,))
            if self._group is not None:
                self._sending.add(address)
                self._group.start_soon(self._work_off, address)

    async def _work_off(self, address: Address) -> None:
        queue = self._queues[address]
        worker = self._workers[address] = Worker()
        try:
            with worker.scope:
                while queue:
                    self._sending.add(address)
                    again = await self._deliver(queue[0])
                    if self._queues.get(address) is not queue:
                        # Called off, by a send that could not be cut off.
                        return
                    if again is None:
                        queue.popleft()
                    else:
                        self._rest(address)
                        queue[0] = await self._later(queue[0], again)
                del self._queues[address]
        finally:
            if self._workers.get(address) is worker:
                del self._workers[address]
            worker.gone.set()
            self._rest(address)

    async def cancel_all(self, reason: str) -> int:
        """Nothing that waits here leaves any more, durably; gives how many messages that were. What is being sent this
        moment is cut off and may have arrived. Raises StoreError, Busy: then everything waits as before."""
        queues, workers = list(self._queues.items()), list(self._workers.values())
        self._queues = {}
        for worker in workers:
            worker.scope.cancel()
        # One that takes no notice does not keep the others' messages from being called off.
        with anyio.move_on_after(CUT_OFF_SECONDS):
            for worker in workers:
                await worker.gone.wait()
        rows = [row for _, queue in queues for row in queue]
        marks = [
            MarkOutbox(key=row.message.key, state="cancelled", attempts=row.attempts, next_at=row.next_at, error=reason[:500])
            for row in rows
        ]
        try:
            if marks:
                await self._sessions.write(marks)
        except BaseException:
            self.send(rows)
            raise
        return len(rows)

    def _rest(self, address: Address) -> None:
        self._sending.discard(address)
        if not self._sending:
            self._quiet.set()

    async def _deliver(self, item: OutboxItem) -> Again | None:
        """None when there is nothing left to do for it."""
        channel = self._channels.get(item.message.address.channel)
        if channel is None:
            return await self._settle(item, "failed", error=f"there is no channel {item.message.address.channel}")
        if not channel.capabilities.idempotent_send:
            begun = await self._settle(item, "sending")
            if begun is not None:
                return replace(begun, may_have_arrived=False)
        try:
            with anyio.fail_after(self._rules.send_seconds):
                receipt = await channel.send(item.message)
        except (ChannelUnavailable, TimeoutError) as error:
            if item.next_at and self._clock.now() - item.next_at > self._rules.give_up:
                return await self._settle(item, "failed", error=str(error) or "time-out")
            return Again(retry_after=getattr(error, "retry_after", None), may_have_arrived=isinstance(error, TimeoutError))
        except ChannelMisconfigured as error:
            return await self._settle(item, "failed", error=str(error))
        except (Exception, Cancelled()) as error:
            # A broken channel must not stop the others; what it could not send is recorded as failed.
            if is_wanted(error):
                raise
            log.exception("channel %s failed", channel.name)
            return await self._settle(item, "failed", error=type(error).__name__)
        return await self._settle(item, "sent", receipt=receipt.message_id)

    async def _settle(self, item: OutboxItem, state: OutboxState, *, error: str = "", receipt: str = "") -> Again | None:
        """Record it. If the store will not write, the send is tried again, and by then it may have arrived once."""
        mark = MarkOutbox(
            key=item.message.key,
            state=state,
            attempts=item.attempts + 1,
            next_at=item.next_at,
            error=error[:500],
            receipt=receipt,
        )
        try:
            await self._sessions.write([mark])
        except StaleLease:
            raise
        except (StoreError, Busy) as refused:
            log.warning("delivery of %s waits: %s", item.message.key, refused)
            return Again(retry_after=None, may_have_arrived=True)
        return None

    async def _later(self, item: OutboxItem, again: Again) -> OutboxItem:
        policy = self._retry(item.message.address.channel)
        wait = quick_wait(policy, item.attempts + 1, retry_after=again.retry_after, chance=self._chance())
        if wait is None:
            slow = min(self._rules.first_wait * 2 ** min(item.attempts, 16), self._rules.longest_wait)
            wait = max(again.retry_after or 0.0, slow * (1 + policy.jitter * self._chance()))
        await self._clock.sleep(wait)
        message = item.message
        if again.may_have_arrived and not message.possible_duplicate:
            message = replace(message, possible_duplicate=True)
        return replace(item, message=message, attempts=item.attempts + 1, next_at=item.next_at or self._clock.now())
