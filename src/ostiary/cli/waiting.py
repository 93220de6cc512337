"""Waiting for another command that holds the state directory."""

import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from ostiary.contracts.errors import StoreHeld

POLL_SECONDS = 0.1
_SECONDS = 60.0


class Patience:
    """Says once, on the terminal, what is waited for."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._deadline = time.monotonic() + seconds
        self._is_told = False

    def use(self, error: StoreHeld) -> None:
        """Raises the error itself, which names the holder, when it has waited long enough."""
        if time.monotonic() > self._deadline:
            raise error
        if not self._is_told:
            self._is_told = True
            print("Waiting for another ostiary command to finish …", file=sys.stderr, flush=True)


async def in_turn(home: Path, act: Callable[[], Awaitable[None]], seconds: float = _SECONDS) -> None:
    """Do what takes the state directory for long: a short command that has it is waited for, a gateway is not.

    Raises StoreHeld naming the holder, and as `act`."""
    import anyio

    patience = Patience(seconds)
    while True:
        try:
            await act()
            return
        except StoreHeld as error:
            # Loaded only when somebody is in the way: nearly every start finds nobody.
            from ostiary.cli.client import find_gateway

            if find_gateway(home) is not None:
                raise
            patience.use(error)
        await anyio.sleep(POLL_SECONDS)
