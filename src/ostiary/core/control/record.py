"""The state of the house in memory and in the store: one value, always written together with what the audit log tells of it."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio

from ostiary.contracts.errors import BadInput, Busy
from ostiary.contracts.store import Audit, SetValue, Write
from ostiary.core.control.state import Kept, decode, encode, unreadable

log = logging.getLogger("ostiary.control")

SPACE = "control"
KEY = "state"

Commit = Callable[[Sequence[Write]], Awaitable[tuple[int, ...]]]
Value = Callable[[str, str], Awaitable[bytes | None]]


class Record:
    """`kept` is in force. Who writes holds `lock`, so that the store gets the states in the order they came.

    `commit` carries the engine's lease: a house that another process took over writes nothing any more. `on_change` is told
    of every state that comes into force."""

    def __init__(self, kept: Kept, *, commit: Commit, value: Value, on_change: Callable[[Kept], None]) -> None:
        self.kept = kept
        self._written = kept
        self._commit = commit
        self._value = value
        self._on_change = on_change
        self.lock = anyio.Lock()

    @property
    def is_unwritten(self) -> bool:
        """Something was put in force that the store would not take; whoever is writing right now may yet bring it there."""
        return self._written is not self.kept and not self.lock.locked()

    @property
    def is_killed_in_store(self) -> bool:
        """A restart would find the house shut down."""
        return self._written.state == "shutdown"

    async def load(self, at: float) -> Kept | None:
        """None if there never was one. One that cannot be read counts as a kill. Raises StoreError."""
        stored = await self._value(SPACE, KEY)
        if stored is None:
            return None
        try:
            return decode(stored)
        except BadInput as error:
            log.error("%s; the house stays shut down until it is woken", error)
            return unreadable(at)

    def put(self, kept: Kept) -> None:
        """Into force at once: for what narrows. It is to be written next."""
        self.kept = kept
        self._on_change(kept)

    async def widen(self, old: Kept, kept: Kept, audits: Sequence[Audit]) -> None:
        """Write it, and only then put it into force in place of `old`. With the lock in hand. Raises StoreError, Busy."""
        with anyio.CancelScope(shield=True):
            await self._save(kept, audits)
            if self.kept is not old:
                # What was put into force meanwhile is narrower; who did that writes it next.
                raise Busy("something else was decided meanwhile", hint="Look at /status, then try again.")
            self.put(kept)

    async def write(self, audits: Sequence[Audit] = (), *, kept: Kept | None = None) -> None:
        """What is in force, or `kept` in its place. With the lock in hand. Raises StoreError, Busy: nothing was written."""
        await self._save(kept or self.kept, audits)

    async def _save(self, kept: Kept, audits: Sequence[Audit]) -> None:
        await self._commit([SetValue(space=SPACE, key=KEY, value=encode(kept)), *audits])
        self._written = kept


def entry(
    act: str, *, at: float, by: str, subject: str = "house", outcome: str = "ok", detail: Mapping[str, object] | None = None
) -> Audit:
    """`act` is wake, sleep, kill, enable or disable."""
    return Audit(at=at, kind=f"control.{act}", actor=by, subject=subject, outcome=outcome, detail=detail or {})
