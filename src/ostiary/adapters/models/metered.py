"""A ModelClient that writes the price on every answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from ostiary.adapters.models.prices import Prices
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput
from ostiary.contracts.model import Answered, ModelClient, ModelEvent, ModelRef, ModelRequest, Usage


class Metered:
    """Fills `Usage.cost` of answers from `prices`; a cost that the provider itself reported stays.

    What cannot be priced stays None: an answer whose tokens were not reported is not an answer that cost nothing.
    """

    def __init__(self, inner: ModelClient, prices: Prices, clock: Clock) -> None:
        self._inner = inner
        self._prices = prices
        self._clock = clock

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async with self._inner.stream(request) as events:
            yield self._priced(events)

    async def _priced(self, events: AsyncIterator[ModelEvent]) -> AsyncIterator[ModelEvent]:
        async for event in events:
            if isinstance(event, Answered) and event.usage.cost is None:
                cost = self._cost(event.model, event.usage)
                if cost is not None:
                    event = replace(event, usage=replace(event.usage, cost=cost))
            yield event

    def _cost(self, model: str, usage: Usage) -> float | None:
        if not (usage.input or usage.output or usage.cache_read or usage.cache_write):
            return None
        try:
            return self._prices.cost(ModelRef.parse(model), usage, self._clock.now())
        except BadInput:
            return None
