"""How much and how long one exchange may take."""

from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`idle_seconds` is the longest silence, before the first byte or between two; a slow drip is caught by `total_seconds`."""

    connect_seconds: float = 10.0
    idle_seconds: float = 180.0
    total_seconds: float = 600.0
    response_bytes: int = 128 * 1024 * 1024
    error_bytes: int = 16 * 1024
