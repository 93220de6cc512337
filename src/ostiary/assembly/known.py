"""Every secret the house holds, for the guard that keeps them out of texts."""

import re
from collections.abc import Mapping

from ostiary.adapters.credentials import CredentialStore
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import OstiaryError

SECONDS = 0.5
_SHORTEST = 8
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


class KnownSecrets:
    """Call it. What the credential store and the environment hold, as it was within the last half second; what was known once
    stays known while the process lives, also when it was replaced since: it may still stand in some text."""

    def __init__(self, credentials: CredentialStore, environ: Mapping[str, str], clock: Clock) -> None:
        self._credentials = credentials
        self._clock = clock
        self._read_at = -SECONDS
        self._stamp: object = None
        named = (value for name, value in environ.items() if _SECRET_NAME.search(name))
        self._known: tuple[str, ...] = tuple(dict.fromkeys(value for value in named if _may_be_secret(value)))

    def __call__(self) -> tuple[str, ...]:
        now = self._clock.monotonic()
        if now - self._read_at >= SECONDS:
            self._read_at = now
            self._look()
        return self._known

    def _look(self) -> None:
        try:
            stamp = self._credentials.stamp()
            if stamp == self._stamp:
                return
            held = self._credentials.values()
        except OstiaryError:
            return
        self._stamp = stamp
        self._known = tuple(dict.fromkeys((*self._known, *(value for value in held if len(value) >= _SHORTEST))))


def _may_be_secret(value: str) -> bool:
    """Too short a value stands in every text, and a path names a secret without being one."""
    return len(value) >= _SHORTEST and not value.startswith(("/", "~", "./"))
