"""Secrets as they were a moment ago: reading one opens the credential store, which every request would have to wait for."""

from collections.abc import Callable

from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import OstiaryError

SECONDS = 0.5


class RecentSecrets:
    """Each is read again after `SECONDS`, and at once under another generation of the configuration."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[int, float, str]] = {}

    def get(self, name: str, generation: int, read: Callable[[], str]) -> str:
        """What `read` gave. Empty, which fits nobody, if it could not."""
        now = self._clock.monotonic()
        known = self._known.get(name)
        if known is not None and known[0] == generation and now - known[1] < SECONDS:
            return known[2]
        try:
            secret = read()
        except OstiaryError:
            secret = ""
        self._known[name] = (generation, now, secret)
        return secret
