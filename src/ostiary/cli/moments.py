"""Moments as people write them: "yesterday", "2h ago", "2026-11-15 09:00"."""

import re
from datetime import datetime, time, timedelta

from ostiary.contracts.errors import BadInput

_AGO = re.compile(r"(\d{1,6})\s*(s|sec|second|m|min|minute|h|hour|d|day|w|week)s?\s+ago")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_HINT = 'Write it like yesterday, "yesterday 09:00", "2h ago", 2026-11-15 or "2026-11-15 09:00".'


def parse_moment(text: str, now: float) -> float:
    """UTC seconds. A day alone means its end: how things stood when it was over. Times are this machine's unless they say
    otherwise. Raises BadInput for what is no moment, or lies in the future."""
    here = datetime.fromtimestamp(now).astimezone()
    found = _understood(text.strip().lower(), here)
    if found is None:
        raise BadInput(f"{text!r} is no moment that is understood", hint=_HINT)
    if found > now:
        raise BadInput(f"{text!r} lies in the future", hint=_HINT)
    return found


def shown(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _understood(text: str, here: datetime) -> float | None:
    if text == "now":
        return here.timestamp()
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return here.timestamp() - int(ago[1]) * _SECONDS[ago[2][0]]
    day, _, clock = text.partition(" ")
    if day in ("today", "yesterday"):
        return _on(here - timedelta(days=day == "yesterday"), clock.strip(), here)
    if _CLOCK.fullmatch(text):
        return _on(here, text, here)
    if re.fullmatch(r"\d{9,11}(\.\d+)?", text):
        return float(text)
    try:
        said = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    if _DAY.fullmatch(text):
        return _on(said, "", here)
    return (said if said.tzinfo is not None else said.astimezone()).timestamp()


def _on(day: datetime, clock: str, here: datetime) -> float | None:
    """A time of a day; of today, the last time it was so late."""
    if not clock:
        if day.date() == here.date():
            return here.timestamp()
        end = datetime.combine(day.date() + timedelta(days=1), time())
        return end.astimezone().timestamp() - 0.001
    found = _CLOCK.fullmatch(clock)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59 or int(found[3] or 0) > 59:
        return None
    at = datetime.combine(day.date(), time(int(found[1]), int(found[2]), int(found[3] or 0)))
    return at.astimezone().timestamp()
