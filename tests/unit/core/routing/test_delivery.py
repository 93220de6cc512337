"""The outbox: in order per place, once, marked when it may be twice, given up only after a day."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from ostiary.contracts.channel import Capabilities
from ostiary.contracts.errors import Busy, ChannelMisconfigured, ChannelUnavailable, StaleLease, StoreUnavailable
from ostiary.contracts.messages import Address, OutboundMessage, Receipt
from ostiary.contracts.store import Lease, MarkOutbox, OutboxItem, Store, Write
from ostiary.core.routing.delivery import Delivery, DeliveryRules
from ostiary.core.routing.feed import Feed
from ostiary.core.sessions.pen import Sessions
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.clock import ManualClock

HERE = Address(channel="memory", account="default", chat="owner")
PLAIN = Capabilities(idempotent_send=False)


class Marks:
    """As much of a store as delivery writes to; `refusals` are raised by the next commits, one each."""

    def __init__(self) -> None:
        self.written: list[MarkOutbox] = []
        self.refusals: list[Exception] = []

    async def commit(
        self, writes: Sequence[Write], *, fence: Lease | None = None, expect: Mapping[str, int] | None = None
    ) -> tuple[int, ...]:
        await anyio.lowlevel.checkpoint()
        if self.refusals:
            raise self.refusals.pop(0)
        self.written.extend(write for write in writes if isinstance(write, MarkOutbox))
        return tuple(0 for _ in writes)

    @property
    def states(self) -> list[str]:
        return [mark.state for mark in self.written]


def row(text: str, number: int = 0, address: Address = HERE, **more: Any) -> OutboxItem:
    message = OutboundMessage(key=f"turn_1:1:{number}", address=address, text=text)
    return OutboxItem(message=message, session="agent:main:main", turn="turn_1", **more)


class Post:
    def __init__(self, *channels: MemoryChannel, rules: DeliveryRules | None = None) -> None:
        self.clock = ManualClock()
        self.marks = Marks()
        sessions = Sessions(store=cast(Store, self.marks), feed=Feed(), clock=self.clock)
        self.delivery = Delivery(
            sessions=sessions, channels={each.name: each for each in channels}, clock=self.clock, rules=rules
        )

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Delivery]:
        async with anyio.create_task_group() as group:
            self.delivery.start(group)
            yield self.delivery
            group.cancel_scope.cancel()

    async def serve(self) -> None:
        async with self.open():
            await anyio.sleep_forever()

    async def until_empty(self) -> None:
        with anyio.fail_after(10):
            while self.delivery.waiting:
                await self.clock.advance(60.0)


async def test_replies_to_one_place_keep_their_order_even_when_the_first_must_be_repeated() -> None:
    channel = MemoryChannel(errors=[ChannelUnavailable("away"), ChannelUnavailable("away")])
    post = Post(channel)
    async with post.open() as delivery:
        delivery.send([row("one", 0), row("two", 1)])
        await post.until_empty()
    assert [each.text for each in channel.sent] == ["one", "two"]


async def test_a_place_that_fails_does_not_hold_up_another() -> None:
    other = Address(channel="other", account="default", chat="owner")
    stuck = MemoryChannel(errors=[ChannelUnavailable("away", retry_after=1000)])
    fine = MemoryChannel("other")
    post = Post(stuck, fine)
    async with post.open() as delivery:
        delivery.send([row("stuck", 0), row("fine", 1, other)])
        await fine.until_sent(1)
        assert stuck.sent == []


async def test_an_attempt_is_recorded_before_it_is_made_where_the_channel_cannot_deduplicate() -> None:
    post = Post(MemoryChannel(capabilities=PLAIN))
    async with post.open() as delivery:
        delivery.send([row("hi")])
        await post.until_empty()
    assert post.marks.states == ["sending", "sent"]


async def test_a_reply_that_was_being_sent_when_the_process_died_is_marked() -> None:
    channel = MemoryChannel(capabilities=PLAIN)
    post = Post(channel)
    post.delivery.recover((row("half", 0, state="sending", attempts=1), row("whole", 1)))
    async with post.open():
        await post.until_empty()
    assert [(each.text, each.possible_duplicate) for each in channel.sent] == [("half", True), ("whole", False)]


async def test_a_channel_that_is_away_after_a_restart_does_not_cost_the_reply() -> None:
    channel = MemoryChannel(capabilities=PLAIN, errors=[ChannelUnavailable("the network is not up yet")])
    post = Post(channel)
    post.delivery.recover((row("half", 0, state="sending", attempts=1),))
    async with post.open():
        await post.until_empty()
    assert [each.text for each in channel.sent] == ["half"]
    assert post.marks.states[-1] == "sent"


async def test_a_refusal_that_surely_did_not_arrive_is_not_marked_as_a_duplicate() -> None:
    channel = MemoryChannel(capabilities=PLAIN, errors=[ChannelUnavailable("away")])
    post = Post(channel)
    async with post.open() as delivery:
        delivery.send([row("hi")])
        await post.until_empty()
    assert [each.possible_duplicate for each in channel.sent] == [False]


async def test_a_send_whose_attempt_could_not_be_recorded_is_not_made() -> None:
    channel = MemoryChannel(capabilities=PLAIN)
    post = Post(channel)
    async with post.open() as delivery:
        post.marks.refusals = [StoreUnavailable("full")]
        delivery.send([row("hi")])
        await anyio.wait_all_tasks_blocked()
        assert channel.sent == []
        await post.until_empty()
    assert [(each.text, each.possible_duplicate) for each in channel.sent] == [("hi", False)]


@pytest.mark.parametrize("refusal", [StoreUnavailable("full"), Busy("too much to do")])
async def test_a_store_that_will_not_record_a_send_only_delays(refusal: Exception) -> None:
    channel = MemoryChannel()
    post = Post(channel)
    async with post.open() as delivery:
        post.marks.refusals = [refusal]
        delivery.send([row("hi")])
        await post.until_empty()
        sent = list(channel.sent)
    assert [each.text for each in sent] == ["hi"]
    assert [each.possible_duplicate for each in channel.attempts] == [False, True]
    assert post.marks.states == ["sent"]


async def test_a_lease_that_was_lost_stops_the_sending() -> None:
    post = Post(MemoryChannel())
    post.marks.refusals = [StaleLease("another process")]
    post.delivery.send([row("hi")])
    with pytest.raises(ExceptionGroup) as raised:
        await post.serve()
    assert raised.group_contains(StaleLease)


async def test_a_misconfigured_channel_fails_the_reply_at_once_and_says_why() -> None:
    post = Post(MemoryChannel(errors=[ChannelMisconfigured("the token is wrong")]))
    async with post.open() as delivery:
        delivery.send([row("hi")])
        await post.until_empty()
    assert [(mark.state, mark.error) for mark in post.marks.written] == [("failed", "the token is wrong")]


@pytest.mark.parametrize("error", [RuntimeError("bug"), KeyError("bug")])
async def test_a_channel_that_breaks_inside_fails_its_reply_and_nothing_else(error: Exception) -> None:
    channel = MemoryChannel(errors=[error])
    post = Post(channel)
    async with post.open() as delivery:
        delivery.send([row("one", 0), row("two", 1)])
        await post.until_empty()
    assert post.marks.states == ["failed", "sent"]


async def test_a_channel_that_cancels_itself_takes_nobody_along() -> None:
    channel = MemoryChannel(errors=[cast(Exception, asyncio.CancelledError())])
    post = Post(channel)
    async with post.open() as delivery:
        delivery.send([row("one", 0), row("two", 1)])
        await post.until_empty()
    assert post.marks.states == ["failed", "sent"]


async def test_a_send_that_never_returns_is_repeated_as_a_possible_duplicate() -> None:
    class Slow(MemoryChannel):
        async def send(self, message: OutboundMessage) -> Receipt:
            if not self.attempts:
                self.attempts.append(message)
                await anyio.sleep_forever()
            return await super().send(message)

    channel = Slow(capabilities=PLAIN)
    post = Post(channel, rules=DeliveryRules(send_seconds=0.01))
    async with post.open() as delivery:
        delivery.send([row("hi")])
        with anyio.fail_after(5):
            while not channel.sent:
                await post.clock.advance(1.0)
                await anyio.sleep(0.002)
    assert [each.possible_duplicate for each in channel.sent] == [True]


async def test_a_reply_is_given_up_after_a_day_and_no_sooner() -> None:
    errors: list[Exception] = [ChannelUnavailable("away") for _ in range(400)]
    channel = MemoryChannel(errors=errors)
    post = Post(channel)
    async with post.open() as delivery:
        delivery.send([row("hi")])
        await anyio.wait_all_tasks_blocked()
        await post.clock.advance(86_000)
        assert post.delivery.waiting == 1
        await post.clock.advance(2_000)
        assert post.delivery.waiting == 0
    assert post.marks.states == ["failed"]


async def test_waits_double_and_a_channel_may_ask_for_longer() -> None:
    channel = MemoryChannel(
        errors=[ChannelUnavailable("away"), ChannelUnavailable("away", retry_after=90), ChannelUnavailable("")]
    )
    post = Post(channel)
    async with post.open() as delivery:
        delivery.send([row("hi")])
        await anyio.wait_all_tasks_blocked()
        seen = []
        for seconds in (0.4, 0.1, 89.0, 1.0, 3.9, 0.1):
            await post.clock.advance(seconds)
            seen.append(len(channel.attempts))
    assert seen == [1, 2, 2, 3, 3, 4]


async def test_a_channel_that_is_gone_fails_its_rows() -> None:
    post = Post()
    post.delivery.recover((row("hi"),))
    async with post.open():
        await post.until_empty()
    assert [(mark.state, "no channel" in mark.error) for mark in post.marks.written] == [("failed", True)]


async def test_nothing_is_kept_of_places_that_have_been_served() -> None:
    post = Post(MemoryChannel())
    async with post.open() as delivery:
        delivery.send(
            [row(str(number), number, Address(channel="memory", account="a", chat=str(number))) for number in range(50)]
        )
        await post.until_empty()
        assert delivery._queues == {}


async def test_a_platform_that_limits_the_rate_is_never_asked_sooner() -> None:
    channel = MemoryChannel("discord", errors=[ChannelUnavailable("slow down", retry_after=40)])
    post = Post(channel)
    async with post.open() as delivery:
        delivery.send([row("hi", 0, Address(channel="discord", account="default", chat="owner"))])
        await anyio.wait_all_tasks_blocked()
        await post.clock.advance(39.9)
        assert len(channel.attempts) == 1
        await post.clock.advance(0.2)
    assert len(channel.sent) == 1


async def test_where_only_limits_are_tried_again_soon_another_failure_waits_longer() -> None:
    channel = MemoryChannel("discord", errors=[ChannelUnavailable("away")])
    post = Post(channel)
    async with post.open() as delivery:
        delivery.send([row("hi", 0, Address(channel="discord", account="default", chat="owner"))])
        await anyio.wait_all_tasks_blocked()
        await post.clock.advance(0.9)
        assert len(channel.attempts) == 1
        await post.clock.advance(0.1)
    assert len(channel.sent) == 1


async def test_draining_waits_for_what_can_be_sent_and_not_for_what_must_wait() -> None:
    other = Address(channel="other", account="default", chat="owner")
    stuck, fine = MemoryChannel(errors=[ChannelUnavailable("away", retry_after=1000)]), MemoryChannel("other")
    post = Post(stuck, fine)
    async with post.open() as delivery:
        delivery.send([row("stuck", 0), row("one", 1, other), row("two", 2, other)])
        with anyio.fail_after(5):
            await delivery.drain(60)
        assert post.marks.states == ["sent", "sent"]
        assert delivery.waiting == 1
    assert [each.text for each in fine.sent] == ["one", "two"]


async def test_draining_gives_up_in_time_on_a_send_that_hangs() -> None:
    class Hanging(MemoryChannel):
        async def send(self, message: OutboundMessage) -> Receipt:
            await anyio.sleep_forever()
            raise AssertionError

    post = Post(Hanging())
    async with post.open() as delivery:
        delivery.send([row("hi")])
        with anyio.fail_after(5):
            await delivery.drain(0.01)
        assert delivery.waiting == 1


async def test_draining_with_nothing_to_send_does_not_wait() -> None:
    post = Post(MemoryChannel())
    async with post.open() as delivery:
        with anyio.fail_after(1):
            await delivery.drain(60)
