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


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """For one page with all its redirects. `response_bytes` counts what comes out of unpacking; with `cuts` a longer body is cut
    there, without it is a failure."""

    name_seconds: float = 5.0
    connect_seconds: float = 10.0
    idle_seconds: float = 15.0
    total_seconds: float = 30.0
    response_bytes: int = 10 * 1024 * 1024
    cuts: bool = False
    redirects: int = 5
    headers: int = 100
