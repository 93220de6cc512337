"""When the typing sign is shown, how often, and what its failure means."""

import anyio
import pytest

from ostiary.contracts.errors import ChannelUnavailable
from ostiary.contracts.messages import Address, ChatKind
from ostiary.core.routing.typing_signs import TypingMode, TypingRules, typing_mode, typing_signs
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.clock import ManualClock

HERE = Address(channel="memory", account="default", chat="a")
RULES = TypingRules()


class Screen(MemoryChannel):
    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        self.signs: list[Address] = []
        self.fails = fails

    async def show_typing(self, address: Address) -> None:
        self.signs.append(address)
        if self.fails:
            raise ChannelUnavailable("gone")


@pytest.mark.parametrize(
    ("chat_kind", "mentions_us", "mode"),
    [
        (ChatKind.DIRECT, False, "instant"),
        (ChatKind.GROUP, True, "instant"),
        (ChatKind.GROUP, False, "message"),
        (ChatKind.CHANNEL, False, "message"),
    ],
)
def test_unset_it_is_shown_at_once_to_those_who_wait(chat_kind: ChatKind, mentions_us: bool, mode: TypingMode) -> None:
    assert typing_mode(None, chat_kind=chat_kind, mentions_us=mentions_us) == mode


@pytest.mark.parametrize("mode", [None, "message", "thinking", "instant"])
def test_a_heartbeat_never_types(mode: TypingMode | None) -> None:
    assert typing_mode(mode, chat_kind=ChatKind.DIRECT, mentions_us=True, heartbeat=True) == "never"


async def test_an_instant_sign_is_refreshed_every_six_seconds_until_the_turn_ends() -> None:
    screen, clock = Screen(), ManualClock()
    async with typing_signs(screen, HERE, "instant", RULES, clock):
        await anyio.wait_all_tasks_blocked()
        assert screen.signs == [HERE]
        await clock.advance(5.9)
        assert len(screen.signs) == 1
        await clock.advance(6.1)
        assert len(screen.signs) == 3
    await clock.advance(60)
    assert len(screen.signs) == 3


async def test_with_message_it_waits_for_visible_words() -> None:
    screen, clock = Screen(), ManualClock()
    async with typing_signs(screen, HERE, "message", RULES, clock) as signs:
        signs.thought()
        signs.wrote(" \n")
        await anyio.wait_all_tasks_blocked()
        assert screen.signs == []
        signs.wrote("Hello")
        await anyio.wait_all_tasks_blocked()
        assert screen.signs == [HERE]


async def test_with_thinking_the_first_thought_is_enough() -> None:
    screen, clock = Screen(), ManualClock()
    async with typing_signs(screen, HERE, "thinking", RULES, clock) as signs:
        await anyio.wait_all_tasks_blocked()
        assert screen.signs == []
        signs.thought()
        await anyio.wait_all_tasks_blocked()
        assert screen.signs == [HERE]


async def test_never_is_never() -> None:
    screen, clock = Screen(), ManualClock()
    async with typing_signs(screen, HERE, "never", RULES, clock) as signs:
        signs.thought()
        signs.wrote("Hello")
        await anyio.wait_all_tasks_blocked()
    assert screen.signs == []


async def test_a_channel_without_the_ability_is_left_alone() -> None:
    async with typing_signs(MemoryChannel(), HERE, "instant", RULES, ManualClock()) as signs:
        signs.wrote("Hello")


async def test_a_sign_that_fails_is_not_tried_again_and_harms_nothing() -> None:
    screen, clock = Screen(fails=True), ManualClock()
    async with typing_signs(screen, HERE, "instant", RULES, clock):
        await anyio.wait_all_tasks_blocked()
        await clock.advance(60)
    assert screen.signs == [HERE]


async def test_a_cancellation_that_escapes_from_the_channel_harms_nothing() -> None:
    class Leaky(Screen):
        async def show_typing(self, address: Address) -> None:
            raise anyio.get_cancelled_exc_class()

    async with typing_signs(Leaky(), HERE, "instant", RULES, ManualClock()) as signs:
        await anyio.wait_all_tasks_blocked()
    assert signs.shown.is_set()


async def test_a_turn_that_never_ends_stops_typing() -> None:
    screen, clock = Screen(), ManualClock()
    async with typing_signs(screen, HERE, "instant", TypingRules(every=6.0, longest=30.0), clock):
        await anyio.wait_all_tasks_blocked()
        await clock.advance(300)
    assert len(screen.signs) == 5


async def test_what_the_turn_raises_comes_out_unchanged() -> None:
    with pytest.raises(LookupError):
        async with typing_signs(Screen(), HERE, "instant", RULES, ManualClock()):
            raise LookupError("turn")


async def test_stopping_the_turn_stops_the_sign() -> None:
    screen, clock = Screen(), ManualClock()
    with anyio.CancelScope() as scope:
        async with typing_signs(screen, HERE, "instant", RULES, clock):
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            await anyio.sleep_forever()
    await clock.advance(60)
    assert screen.signs == [HERE]
