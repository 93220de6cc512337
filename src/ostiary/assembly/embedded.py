"""The embedded model, not even imported before somebody speaks to it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from ostiary.contracts.model import ModelEvent, ModelRef, ModelRequest

if TYPE_CHECKING:
    from ostiary.adapters.models.embedded.client import Embedded
    from ostiary.adapters.models.embedded.weights import Report


class LazyEmbedded:
    """A wire. `hold` owns the model's child process and runs beside the engine until cancelled."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._wanted = anyio.Event()
        self._ready = anyio.Event()
        self._embedded: Embedded | None = None

    async def hold(self) -> None:
        await self._wanted.wait()
        from ostiary.adapters.models.embedded.client import Embedded
        from ostiary.adapters.models.embedded.weights import weights_directory

        async with Embedded(weights_directory(self._environ)) as embedded:
            self._embedded = embedded
            self._ready.set()
            await anyio.sleep_forever()

    @asynccontextmanager
    async def stream(self, request: ModelRequest, ref: ModelRef, secret: str = "") -> AsyncIterator[AsyncIterator[ModelEvent]]:
        embedded = await self._get()
        async with embedded.stream(request, ref, secret) as events:
            yield events

    async def ensure_weights(self, report: "Report") -> None:
        """Fetch them now rather than with the first message. Raises ModelUnavailable."""
        embedded = await self._get()
        await embedded.ensure_weights(report)

    async def _get(self) -> "Embedded":
        self._wanted.set()
        await self._ready.wait()
        assert self._embedded is not None
        return self._embedded
