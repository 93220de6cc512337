"""How long a provider asks to wait, in every form one is known to say it."""

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST = 7 * 24 * 3600.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_IN_WORDS = re.compile(
    r"(?:try again|retry|wait)[^.\d]{0,40}?((?:\d+(?:\.\d+)?(?:ms|s|m|h))+(?![a-z])|\d+(?:\.\d+)? ?seconds?)", re.I
)
_EPOCH = 1_000_000_000.0
_EPOCH_MS = 1_000_000_000_000.0


def from_headers(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """`headers` has lower-case names. Retry-After comes first; reset headers count only for a limit that is used up."""
    now = time.time() if now is None else now
    if (wait := _number(headers.get("retry-after-ms"))) is not None:
        return _sane(wait / 1000)
    if (wait := _moment(headers.get("retry-after"), now)) is not None:
        return wait
    waits = []
    for name, value in headers.items():
        if "ratelimit" in name and "reset" in name and headers.get(name.replace("reset", "remaining"), "0") in ("0", ""):
            wait = _moment(value, now)
            if wait is not None:
                waits.append(wait)
    return max(waits, default=None)


def from_details(details: object) -> float | None:
    """Google's RetryInfo among the details of an error."""
    if not isinstance(details, list):
        return None
    for detail in details:
        if isinstance(detail, dict) and isinstance(delay := detail.get("retryDelay"), str):
            return _duration(delay)
    return None


def from_words(words: str) -> float | None:
    """ "Please try again in 1m2.5s." """
    found = _IN_WORDS.search(words)
    if found is None:
        return None
    return _duration(re.sub(r" ?seconds?", "s", found[1]))


def _moment(value: str | None, now: float) -> float | None:
    """Seconds from now: a number of seconds, a duration, a moment in epoch seconds or milliseconds, or a date."""
    if not value:
        return None
    number = _number(value)
    if number is not None:
        if number > _EPOCH_MS:
            return _sane(number / 1000 - now)
        return _sane(number - now if number > _EPOCH else number)
    return _duration(value) if _PIECE.match(value) and "T" not in value else _date(value, now)


def _date(value: str, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return _sane(moment.timestamp() - now)


def _duration(value: str) -> float | None:
    pieces = _PIECE.findall(value)
    return _sane(sum(float(number) * _UNITS[unit] for number, unit in pieces)) if pieces else None


def _number(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:
        return None


def _sane(seconds: float) -> float | None:
    """Nothing from the other side makes us wait for ever; a NaN says nothing."""
    return min(max(seconds, 0.0), _LONGEST) if seconds == seconds else None
