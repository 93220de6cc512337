"""What a call can come to besides its result."""

from collections.abc import Mapping
from typing import Any

from ostiary.contracts.errors import OstiaryError


class CallRefused(OstiaryError):
    """The gateway said no. `code` is one of the protocol's error codes, `details` what it said besides."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message", "The gateway refused.")), hint=str(error.get("hint", "")))
        self.code = str(error.get("code", "INTERNAL"))
        self.details: Mapping[str, Any] = error.get("details") or {}
        self.retry_after = float(error.get("retryAfterMs", 0)) / 1000


class Unreachable(OstiaryError):
    """There is no gateway there, or not in time."""
