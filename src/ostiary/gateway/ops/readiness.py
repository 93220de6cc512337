"""`/readyz`: may traffic be sent here? Open to all, so it names the part that is missing and nothing more."""

from collections.abc import Callable
from typing import Protocol

import anyio

from ostiary.contracts.errors import OstiaryError
from ostiary.gateway.asgi import Receive, Scope, Send, respond

_STORE_SECONDS = 2.0
# Strangers may ask as often as they like; the store is asked this often.
_REMEMBERED_SECONDS = 1.0


class Values(Protocol):
    async def value(self, space: str, key: str) -> bytes | None: ...


class Readiness:
    """Ready from `started` until `stopping`, while the store answers and `has_engine` holds."""

    def __init__(self, *, store: Values, has_engine: Callable[[], bool], monotonic: Callable[[], float]) -> None:
        self._store = store
        self._has_engine = has_engine
        self._monotonic = monotonic
        self._is_serving = False
        self._has_store = False
        self._asked_at: float | None = None
        self._asking = anyio.Lock()

    def started(self) -> None:
        self._is_serving = True

    def stopping(self) -> None:
        self._is_serving = False

    async def missing(self) -> list[str]:
        """Of `serving`, `engine` and `store`, those that are not there."""
        async with self._asking:
            if self._asked_at is None or self._monotonic() - self._asked_at >= _REMEMBERED_SECONDS:
                self._has_store = await self._store_answers()
                self._asked_at = self._monotonic()
        parts = {"serving": self._is_serving, "engine": self._has_engine(), "store": self._has_store}
        return [name for name, is_there in parts.items() if not is_there]

    async def page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """200, or 503 with the names of the missing parts."""
        missing = await self.missing()
        if missing:
            await respond(send, 503, {"status": "not ready", "missing": missing}, [(b"retry-after", b"1")])
        else:
            await respond(send, 200, {"status": "ready"})

    async def _store_answers(self) -> bool:
        with anyio.move_on_after(_STORE_SECONDS):
            try:
                await self._store.value("ops", "ready")
            except OstiaryError:
                return False
            return True
        return False
