"""How soon a failed send is tried again."""

from typing import Literal

from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Up to `attempts` sends in quick succession; the wait doubles from `first` to `longest` seconds, lengthened by up to the
    share `jitter` by chance. `retries` says which failures are tried again so soon: all transient ones, or only a rate limit."""

    attempts: int = 3
    first: float = 0.5
    longest: float = 30.0
    jitter: float = 0.1
    retries: Literal["transient", "rate_limit"] = "transient"


DEFAULT = RetryPolicy()
POLICIES = {
    "telegram": RetryPolicy(first=0.4),
    "discord": RetryPolicy(first=0.5, retries="rate_limit"),
}


def retry_policy(channel: str) -> RetryPolicy:
    return POLICIES.get(channel, DEFAULT)


def quick_wait(policy: RetryPolicy, failed: int, *, retry_after: float | None, chance: float) -> float | None:
    """Seconds until the next quick attempt after `failed` of them; None: leave it to the slow schedule.

    `retry_after` is what the platform asked for, and means that it limits the rate: it is never undercut, also when it is
    longer than the policy's longest wait. `chance` is between 0 and 1."""
    if failed >= policy.attempts or (policy.retries == "rate_limit" and retry_after is None):
        return None
    wait = min(policy.first * float(2 ** min(max(failed - 1, 0), 16)), policy.longest)
    return max(wait, retry_after or 0.0) * (1 + policy.jitter * min(max(chance, 0.0), 1.0))
