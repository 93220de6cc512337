"""The sign that somebody is typing, while a turn runs.

It is a courtesy: it never delays the turn, and a channel that cannot show it is not asked again in this turn.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import anyio

from ostiary.contracts.channel import TypingChannel
from ostiary.contracts.clock import Clock
from ostiary.contracts.messages import Address, ChatKind
from ostiary.contracts.records import dataclass
from ostiary.core.cancellation import Cancelled, is_wanted

log = logging.getLogger("ostiary.typing")

TypingMode = Literal["never", "message", "thinking", "instant"]
_ONE_CALL = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TypingRules:
    """`mode` None: at once in direct chats and where we were mentioned, else with the first words."""

    mode: TypingMode | None = None
    every: float = 6.0
    longest: float = 600.0


def typing_mode(mode: TypingMode | None, *, chat_kind: ChatKind, mentions_us: bool, heartbeat: bool = False) -> TypingMode:
    """A heartbeat never shows anything: nobody is waiting for it."""
    if heartbeat:
        return "never"
    if mode is not None:
        return mode
    return "instant" if chat_kind is ChatKind.DIRECT or mentions_us else "message"


class TypingSigns:
    """Tell it what the model does; it knows from when on that is shown."""

    def __init__(self, mode: TypingMode) -> None:
        self._mode = mode
        self.shown = anyio.Event()
        if mode == "instant":
            self.shown.set()

    def thought(self) -> None:
        if self._mode == "thinking":
            self.shown.set()

    def wrote(self, text: str) -> None:
        """`text` is what people will see of a delta: a reply of silence never gets here."""
        if text.strip() and self._mode in ("message", "thinking"):
            self.shown.set()


@asynccontextmanager
async def typing_signs(
    channel: object, address: Address, mode: TypingMode, rules: TypingRules, clock: Clock
) -> AsyncIterator[TypingSigns]:
    """Around a turn. What the body raises comes out unchanged."""
    signs = TypingSigns(mode)
    if mode == "never" or not isinstance(channel, TypingChannel):
        yield signs
        return
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_show, channel, address, signs, rules, clock)
        try:
            yield signs
        except Exception as error:  # noqa: BLE001 - raised below, as itself rather than in a group
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _show(channel: TypingChannel, address: Address, signs: TypingSigns, rules: TypingRules, clock: Clock) -> None:
    await signs.shown.wait()
    until = clock.monotonic() + rules.longest
    while clock.monotonic() < until:
        try:
            with anyio.fail_after(_ONE_CALL):
                await channel.show_typing(address)
        except (Exception, Cancelled()) as error:
            # A courtesy that fails must not end the turn.
            if is_wanted(error):
                raise
            log.debug("no typing sign on %s", address.channel, exc_info=True)
            return
        await clock.sleep(rules.every)
