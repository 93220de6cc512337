"""The one way out: every HTTP request the house makes leaves through an `Egress` and one of its profiles.

`egress.configured(base_url)` is the profile for addresses the owner wrote down: that origin and path prefix, nothing else.
A profile for addresses a model chose (resolve, judge, pin, then connect) is another class that hands the address
it has judged to the same `Transport`.
"""

from ostiary.adapters.egress.client import ConfiguredOrigin, Egress, Exchange, preload
from ostiary.adapters.egress.errors import EgressFailed
from ostiary.adapters.egress.limits import Limits

__all__ = ["ConfiguredOrigin", "Egress", "EgressFailed", "Exchange", "Limits", "preload"]
