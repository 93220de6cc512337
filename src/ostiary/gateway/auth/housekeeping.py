"""What goes on behind the gate: who was seen, who may not stay, what has expired."""

from collections.abc import AsyncIterator, Callable

import anyio

from ostiary.contracts.errors import StoreError
from ostiary.gateway.auth.callers import Caller, device_caller
from ostiary.gateway.auth.ports import Books
from ostiary.gateway.auth.rules import AccessRules

_WRITE_SECONDS = 30.0
_SWEEP_SECONDS = 3600.0
_MOST_SEEN = 4096
_PATIENCE = 10


class Housekeeping:
    """`secret` gives a mark that changes with the owner's secret: whoever came in by the old one may not stay."""

    def __init__(
        self, books: Books | None, *, now: Callable[[], float], rules: Callable[[], AccessRules], secret: Callable[[], bytes]
    ) -> None:
        self._books = books
        self._now = now
        self._rules = rules
        self._secret = secret
        self._seen: dict[str, float] = {}
        self._news = anyio.Event()

    def saw(self, caller: Caller) -> None:
        """Written down later, all at once; beyond a bound nobody new is noted until then."""
        if caller.device and (caller.device in self._seen or len(self._seen) < _MOST_SEEN):
            self._seen[caller.device] = self._now()

    def wake(self) -> None:
        """Something was revoked in this process: do not wait for the next look."""
        self._news.set()
        self._news = anyio.Event()

    async def watch(self) -> AsyncIterator[str]:
        """Looks into the books twice a second: another process may write there, too. Raises StoreError if it cannot for long."""
        after = self._books.reads.devices.newest_revocation() if self._books else 0
        mark = self._secret()
        failures = 0
        while True:
            # Taken before looking: what comes in between is seen at once.
            news = self._news
            try:
                rows = self._books.reads.devices.revocations(after) if self._books else ()
                latest = self._secret()
                failures = 0
            except StoreError:
                failures += 1
                if failures > _PATIENCE:
                    raise
                rows, latest = (), mark
            for seq, device, kind in rows:
                after = seq
                yield f"browser:{device}" if kind == "browser" else device_caller(device)
            if latest != mark:
                mark = latest
                yield "token"
                yield "password"
            with anyio.move_on_after(self._rules().poll_seconds):
                await news.wait()

    async def run(self) -> None:
        """Until cancelled. What cannot be written now is written later; only times of seeing are at stake."""
        if self._books is None:
            return
        swept = self._now() - _SWEEP_SECONDS
        try:
            while True:
                is_due = self._now() - swept >= _SWEEP_SECONDS
                if is_due:
                    swept = self._now()
                await self.write(sweep=is_due)
                await anyio.sleep(_WRITE_SECONDS)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(5):
                await self.write(sweep=False)

    async def write(self, *, sweep: bool = False) -> None:
        """What was seen since the last time, and a sweep. Does not raise."""
        if self._books is None:
            return
        seen, self._seen = self._seen, {}
        now, kept = self._now(), self._rules().session_seconds
        try:
            if seen:
                await self._books.write(lambda ledger: ledger.devices.touch(seen, kept))
            if sweep:
                await self._books.write(lambda ledger: ledger.sweep(now))
        except StoreError:
            self._seen = {**seen, **self._seen}
