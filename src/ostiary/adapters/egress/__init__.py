"""The one way out: every HTTP request the house makes leaves through an `Egress` and one of its profiles.

`egress.configured(base_url)` is the profile for addresses the owner wrote down: that origin and path prefix, nothing else.
`egress.agent(rules)` is the profile for addresses a model chose: resolve, judge, pin, then connect.
`egress.proxy(rules, ...)` lets other processes (sandbox, browser) out by the same judge.
"""

from ostiary.adapters.egress.agent import AgentProfile, Fetched
from ostiary.adapters.egress.client import ConfiguredOrigin, Egress, Exchange
from ostiary.adapters.egress.errors import EgressFailed
from ostiary.adapters.egress.judge import EgressRules, Judge
from ostiary.adapters.egress.limits import FetchLimits, Limits
from ostiary.adapters.egress.own import is_own

__all__ = [
    "AgentProfile",
    "ConfiguredOrigin",
    "Egress",
    "EgressFailed",
    "EgressRules",
    "Exchange",
    "FetchLimits",
    "Fetched",
    "Judge",
    "Limits",
    "is_own",
]
