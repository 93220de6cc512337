"""What one request may cost. Every number is finite."""

from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes in bytes, times in seconds. `requests` counts those being served at once; more are told to come back later."""

    body_bytes: int = 20 * 1024 * 1024
    body_seconds: float = 30.0
    turn_seconds: float = 660.0
    keep_alive_seconds: float = 15.0
    requests: int = 1000
    image_bytes: int = 10 * 1024 * 1024
    images: int = 20
    messages: int = 5000
    failed_logins: int = 10
    failed_login_window: float = 60.0
