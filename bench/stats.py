"""The few figures a list of measurements is reduced to."""

import math
from collections.abc import Sequence


def median(values: Sequence[float]) -> float:
    """Raises ValueError if there are none."""
    return percentile(values, 50)


def percentile(values: Sequence[float], percent: float) -> float:
    """Between two measurements it is interpolated. Raises ValueError if there are none."""
    if not values:
        raise ValueError("a percentile of nothing")
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def growth(values: Sequence[float], *, first: int, last: int) -> float:
    """The median of the last measurements as a multiple of the median of the first. Raises ValueError if they overlap."""
    if first + last > len(values):
        raise ValueError(f"{len(values)} measurements hold no {first} and {last} apart")
    return median(values[-last:]) / median(values[:first])
