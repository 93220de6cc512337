"""What happens by itself as time passes: a nap until the next thing is due, never a look round in between."""

import logging
from collections.abc import Awaitable, Callable

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import Busy, StaleLease, StoreError

log = logging.getLogger("ostiary.control")

FIRST_RETRY = 1.0
LONGEST_RETRY = 30.0


class Idleness:
    """How long nobody was heard. `after` gives the seconds until the house sleeps, 0 for never."""

    def __init__(self, clock: Clock, after: Callable[[], float]) -> None:
        self._clock = clock
        self._after = after
        self._touched = (clock.now(), clock.monotonic())

    def touch(self) -> None:
        self._touched = (self._clock.now(), self._clock.monotonic())

    def left(self) -> float | None:
        """Seconds until it should sleep; None if never. By whichever clock says so first: the wall's may be set back, the
        other one stands still while the machine sleeps."""
        after = self._after()
        if after <= 0:
            return None
        wall, steady = self._touched
        passed = max(self._clock.now() - wall, self._clock.monotonic() - steady)
        return max(0.0, after - passed)

    @property
    def is_over(self) -> bool:
        return self.left() == 0.0


class Timekeeper:
    """`due` gives the seconds until something is to be done, None for nothing. `act` does it and gives whether it has to be
    tried again; so it is if it raises StoreError or Busy, ever more slowly."""

    def __init__(self, clock: Clock, *, due: Callable[[], float | None], act: Callable[[], Awaitable[bool]]) -> None:
        self._clock = clock
        self._due = due
        self._act = act
        self._nap = anyio.CancelScope()

    def look_again(self) -> None:
        """Something changed: what is due may be due earlier."""
        self._nap.cancel()

    async def run(self) -> None:
        """Until cancelled. Raises StaleLease."""
        pause = 0.0
        while True:
            due = self._due()
            with anyio.CancelScope() as self._nap:
                await (anyio.sleep_forever() if due is None else self._clock.sleep(max(due, pause)))
            if self._nap.cancelled_caught:
                pause = 0.0
                continue
            pause = min(max(pause * 2, FIRST_RETRY), LONGEST_RETRY) if await self._is_to_try_again() else 0.0

    async def _is_to_try_again(self) -> bool:
        try:
            return await self._act()
        except StaleLease:
            raise
        except (StoreError, Busy) as error:
            log.warning("the state of the house waits to be written: %s", error)
            return True
