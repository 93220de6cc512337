"""Telling a cancellation that was meant for us from one that a library made inside and let escape.

The second kind, left alone, makes a task group believe that its child was cancelled, and everything in the group ends.
"""

import math

import anyio

Cancelled = anyio.get_cancelled_exc_class


def is_wanted(error: BaseException) -> bool:
    """Whether `error` is a cancellation that a scope around this task asked for: it must go on. Others are plain errors."""
    return isinstance(error, Cancelled()) and anyio.current_effective_deadline() == -math.inf
