"""What the configuration says about coming in. Asked anew each time, so an edit counts at once."""

from typing import Literal

from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRules:
    """`attempts` wrong secrets of one address within `window` seconds close it for `lockout` seconds.

    `attempts_of_all` is the same for all addresses together; `addresses` is how many are remembered at once."""

    attempts: int = 10
    window: float = 60.0
    lockout: float = 300.0
    attempts_of_all: int = 200
    addresses: int = 2048


def failure_rules(*, max_attempts: int, window_ms: int, lockout_ms: int) -> FailureRules:
    """From `gateway.auth.rateLimit`. All addresses together may try twenty times as often as one."""
    return FailureRules(
        attempts=max_attempts, window=window_ms / 1000, lockout=lockout_ms / 1000, attempts_of_all=20 * max_attempts
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """`hosts`: names and addresses, in lower case and without a port, that a Host header may carry besides loopback and the
    address a connection came in at. `trusted_proxies`: addresses or networks whose X-Forwarded-For and -Proto are believed.
    """

    mode: Literal["token", "password"] = "token"
    hosts: frozenset[str] = frozenset()
    base_path: str = "/"
    trusted_proxies: tuple[str, ...] = ()
    session_seconds: float = 30 * 24 * 3600.0
    link_seconds: float = 600.0
    pairing_seconds: float = 3600.0
    poll_seconds: float = 0.5
