"""When a conversation starts afresh by itself: daily at an hour, after idle minutes, or whichever comes first.

Judged when the next message comes, so nothing runs while nobody speaks.
"""

import math
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

from ostiary.contracts.errors import BadInput
from ostiary.contracts.messages import ChatKind, InboundMessage
from ostiary.contracts.records import dataclass

SessionType = Literal["direct", "group", "channel", "thread"]
ResetReason = Literal["daily", "idle"]

DEFAULT_HOUR = 4
DEFAULT_IDLE_MINUTES = 60
_YEAR_9000 = 221_845_392_000.0
_MOST_WINDOWS = 256
_TYPES: Mapping[ChatKind, SessionType] = {ChatKind.DIRECT: "direct", ChatKind.GROUP: "group", ChatKind.CHANNEL: "channel"}
# Calendar arithmetic costs more than the rest of a message's way in; every moment between two resets has the same next one.
_windows: dict[tuple[int, tzinfo], tuple[float, float]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetPolicy:
    """None switches a rule off. Raises BadInput for an hour or a number of minutes that cannot be."""

    at_hour: int | None = DEFAULT_HOUR
    idle_minutes: int | None = None

    def __post_init__(self) -> None:
        if self.at_hour is not None and not 0 <= self.at_hour <= 23:
            raise BadInput(f"a daily reset at hour {self.at_hour} cannot be", hint="Use 0 to 23.")
        if self.idle_minutes is not None and self.idle_minutes < 1:
            raise BadInput(f"an idle reset after {self.idle_minutes} minutes cannot be", hint="Use 1 or more.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetRules:
    """A channel's policy beats a type's, which beats the general one. They replace each other whole.

    A room (`channel`) without a policy of its own has that of groups."""

    general: ResetPolicy = field(default_factory=ResetPolicy)
    by_type: Mapping[SessionType, ResetPolicy] = field(default_factory=dict)
    by_channel: Mapping[str, ResetPolicy] = field(default_factory=dict)

    def policy_for(self, session_type: SessionType, channel: str) -> ResetPolicy:
        of_type = self.by_type.get(session_type)
        if of_type is None and session_type == "channel":
            of_type = self.by_type.get("group")
        return self.by_channel.get(channel) or of_type or self.general


def policy_from(mode: str | None, at_hour: int | None, idle_minutes: int | None) -> ResetPolicy:
    """As configuration writes it. `daily` may have idle minutes besides; `idle` has no hour; `off` has neither.

    Without a mode, idle minutes alone mean `idle`. Raises BadInput for an unknown mode."""
    if mode is None:
        mode = "idle" if at_hour is None and idle_minutes is not None else "daily"
    if mode == "off":
        return ResetPolicy(at_hour=None)
    if mode == "idle":
        return ResetPolicy(at_hour=None, idle_minutes=DEFAULT_IDLE_MINUTES if idle_minutes is None else idle_minutes)
    if mode == "daily":
        return ResetPolicy(at_hour=DEFAULT_HOUR if at_hour is None else at_hour, idle_minutes=idle_minutes)
    raise BadInput(f"{mode[:40]!r} is not a reset mode", hint="Use daily, idle or off.")


def type_of(message: InboundMessage) -> SessionType:
    if message.address.thread:
        return "thread"
    return _TYPES[message.chat_kind]


def expired(last_activity: float, now: float, policy: ResetPolicy, zone: tzinfo) -> ResetReason | None:
    """Which rule ended the conversation, the earlier one if both did. Times are UTC seconds.

    A clock that went back, or a time that cannot be, ends nothing: better one conversation too long than one lost.
    """
    if not (0 < last_activity <= now < _YEAR_9000) or not math.isfinite(now):
        return None
    ends: list[tuple[float, ResetReason]] = []
    if policy.at_hour is not None:
        ends.append((next_daily(last_activity, policy.at_hour, zone), "daily"))
    if policy.idle_minutes is not None:
        ends.append((last_activity + policy.idle_minutes * 60, "idle"))
    due = [end for end in ends if end[0] <= now]
    return min(due)[1] if due else None


def next_daily(after: float, hour: int, zone: tzinfo) -> float:
    """The first moment later than `after` at which the local clock shows `hour`:00.

    An hour that summer time skips counts from the moment of the change; one that comes twice counts the first time.
    """
    known = _windows.get((hour, zone))
    if known is not None and known[0] <= after < known[1]:
        return known[1]
    found = _next_daily(after, hour, zone)
    if len(_windows) >= _MOST_WINDOWS:
        _windows.clear()
    _windows[hour, zone] = (after, found)
    return found


def _next_daily(after: float, hour: int, zone: tzinfo) -> float:
    today = datetime.fromtimestamp(after, zone).date()
    for days in range(3):
        day = today + timedelta(days=days)
        moment = datetime(day.year, day.month, day.day, hour, tzinfo=zone).astimezone(UTC).timestamp()
        if moment > after:
            return moment
    return after + 86_400
