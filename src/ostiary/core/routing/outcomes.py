"""Who waits for which message's turn, and how the newest ones ended."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import anyio

from ostiary.contracts.content import ToolCall
from ostiary.contracts.engine import Outcome
from ostiary.contracts.identity import SessionKey
from ostiary.core.sessions.session import Turn

REMEMBERED = 2000


def outcome_of(key: SessionKey, turn: Turn) -> Outcome:
    """How a folded turn stands."""
    model, stop = (turn.answer.model, turn.answer.stop) if turn.answer else ("", "")
    if turn.ended is None:
        waiting = turn.suspended.call_ids if turn.suspended else ()
        calls: tuple[ToolCall, ...] = tuple(call for call in turn.open_calls if call.id in waiting)
        text = turn.texts[-1] if turn.texts else ""
        return Outcome(
            turn=turn.id, session=key, status="waiting", text=text, calls=calls, usage=turn.usage, model=model, stop=stop
        )
    ended = turn.ended
    return Outcome(
        turn=turn.id,
        session=key,
        status=ended.status,
        text=ended.reply,
        usage=turn.usage,
        model=model,
        stop=stop,
        reason=ended.reason,
        error_kind=ended.error_kind,
        retry_after=ended.retry_after,
    )


class Outcomes:
    """Items still under way have an event; the newest settled ones are remembered, older ones are in the journal."""

    def __init__(self) -> None:
        self._open: dict[int, anyio.Event] = {}
        self._settled: OrderedDict[int, Outcome] = OrderedDict()
        self._turns: dict[str, set[anyio.Event]] = {}

    def expect(self, item: int) -> None:
        self._settled.pop(item, None)
        if item not in self._open:
            self._open[item] = anyio.Event()

    def settle(self, items: Iterable[int], outcome: Outcome) -> None:
        for item in items:
            self._settled[item] = outcome
            waiting = self._open.pop(item, None)
            if waiting is not None:
                waiting.set()
        while len(self._settled) > REMEMBERED:
            self._settled.popitem(last=False)
        for event in self._turns.get(outcome.turn, ()):
            event.set()

    async def wait(self, item: int) -> Outcome | None:
        """None if nothing is known of it here: ask the journal."""
        while True:
            outcome = self._settled.get(item)
            if outcome is not None:
                return outcome
            event = self._open.get(item)
            if event is None:
                return None
            await event.wait()

    @contextmanager
    def ended(self, turn: str) -> Iterator[anyio.Event]:
        """An event that is set when that turn settles."""
        event = anyio.Event()
        group = self._turns.setdefault(turn, set())
        group.add(event)
        try:
            yield event
        finally:
            group.discard(event)
            if not group:
                self._turns.pop(turn, None)
