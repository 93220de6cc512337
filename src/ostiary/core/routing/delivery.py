"""The outbox: every reply is sent, in order per place, once; a send that may have happened twice says so.

A channel that deduplicates by key is simply sent to again after a crash. For the others the attempt is recorded before it
is made, so that a repeat can be marked as a possible duplicate.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup

from ostiary.contracts.channel import Channel
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import Busy, ChannelMisconfigured, ChannelUnavailable, StaleLease, StoreError
from ostiary.contracts.messages import Address, OutboundMessage
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import MarkOutbox, OutboxItem, OutboxState
from ostiary.core.cancellation import Cancelled, is_wanted
from ostiary.core.routing.chunks import split_text
from ostiary.core.sessions.pen import Sessions
from ostiary.core.sessions.session import Session, Turn

log = logging.getLogger("ostiary.delivery")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRules:
    """Waits between attempts double from `first_wait` to `longest_wait`; after `give_up` seconds it has failed."""

    first_wait: float = 1.0
    longest_wait: float = 300.0
    give_up: float = 86_400.0
    send_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Try once more, not before `wait` seconds."""

    wait: float
    may_have_arrived: bool


class Delivery:
    def __init__(
        self,
        *,
        sessions: Sessions,
        channels: Mapping[str, Channel],
        clock: Clock,
        rules: DeliveryRules | None = None,
        may_send: Callable[[Session, Address], bool] = lambda session, address: True,
        prefix: Callable[[], str] = str,
        jitter: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._sessions = sessions
        self._channels = channels
        self._clock = clock
        self._rules = rules or DeliveryRules()
        self._jitter = jitter
        self._may_send = may_send
        self._prefix = prefix
        self._queues: dict[Address, deque[OutboxItem]] = {}
        self._group: TaskGroup | None = None

    @property
    def waiting(self) -> int:
        return sum(len(queue) for queue in self._queues.values())

    def rows_for(self, session: Session, turn: Turn, reply: str) -> list[OutboxItem]:
        """The reply to a turn, chunked for its origin; nothing if the origin fetches its answers."""
        channel = self._channels.get(turn.started.reply_to.channel)
        address = turn.started.reply_to
        if channel is None or not channel.capabilities.pushes or not reply or not self._may_send(session, address):
            return []
        return self.rows(session.name, turn.id, f"{turn.id}:{turn.step}", address, self._prefix() + reply)

    def rows(self, session: str, turn: str, key: str, address: Address, text: str) -> list[OutboxItem]:
        channel = self._channels[address.channel]
        chunks = split_text(text, channel.capabilities.max_chars)
        return [
            OutboxItem(
                message=OutboundMessage(key=f"{key}:{place}", address=address, text=chunk),
                session=session,
                turn=turn,
            )
            for place, chunk in enumerate(chunks)
        ]

    def start(self, group: TaskGroup) -> None:
        self._group = group
        for address in list(self._queues):
            group.start_soon(self._drain, address)

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
                self._group.start_soon(self._drain, address)

    async def _drain(self, address: Address) -> None:
        queue = self._queues[address]
        while queue:
            again = await self._deliver(queue[0])
            if again is None:
                queue.popleft()
            else:
                queue[0] = await self._later(queue[0], again)
        del self._queues[address]

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
            wait = getattr(error, "retry_after", None) or 0.0
            return Again(wait=wait, may_have_arrived=isinstance(error, TimeoutError))
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
            return Again(wait=0.0, may_have_arrived=True)
        return None

    async def _later(self, item: OutboxItem, again: Again) -> OutboxItem:
        wait = min(self._rules.first_wait * 2 ** min(item.attempts, 16), self._rules.longest_wait)
        await self._clock.sleep(max(again.wait, wait * (1 + self._jitter())))
        message = item.message
        if again.may_have_arrived and not message.possible_duplicate:
            message = replace(message, possible_duplicate=True)
        return replace(item, message=message, attempts=item.attempts + 1, next_at=item.next_at or self._clock.now())
