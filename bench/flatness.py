"""Does a series stay level? A straight line through its samples says by how much it rises."""

from collections.abc import Sequence
from dataclasses import dataclass

_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Series:
    """`values` at `times` (seconds). It is level if the line through it rises by `allowed` at most from its first to its last."""

    name: str
    unit: str
    times: tuple[float, ...]
    values: tuple[float, ...]
    allowed: float

    @property
    def rise(self) -> float:
        """By how much the line rises over the whole time."""
        return slope(self.times, self.values) * (self.times[-1] - self.times[0])

    @property
    def is_level(self) -> bool:
        return self.rise <= self.allowed

    @property
    def sketch(self) -> str:
        return sketch(self.values)


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """Of the line with the least squares. Raises ValueError for fewer than two moments."""
    if len(set(times)) < 2:
        raise ValueError("a line needs two moments")
    middle, level = sum(times) / len(times), sum(values) / len(values)
    covered = sum((time - middle) * (value - level) for time, value in zip(times, values, strict=True))
    return covered / sum((time - middle) ** 2 for time in times)


def sketch(values: Sequence[float], width: int = 60) -> str:
    """A line of blocks, from the lowest value to the highest."""
    step = max(1, -(-len(values) // width))
    shown = [max(values[place : place + step]) for place in range(0, len(values), step)]
    low, high = min(values), max(values)
    if high == low:
        return _BARS[0] * len(shown)
    return "".join(_BARS[round((value - low) / (high - low) * (len(_BARS) - 1))] for value in shown)


def as_svg(series: Sequence[Series]) -> str:
    """One small plot below the other, each from zero to a little above its highest value."""
    width, height, gap = 640, 110, 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 80} {len(series) * (height + gap) + 20}" '
        'font-family="sans-serif" font-size="12">'
    ]
    for number, each in enumerate(series):
        top = number * (height + gap) + 24
        high = max(*each.values, 1e-9) * 1.15
        span = max(each.times[-1] - each.times[0], 1e-9)
        points = " ".join(
            f"{40 + (time - each.times[0]) / span * width:.1f},{top + height - value / high * height:.1f}"
            for time, value in zip(each.times, each.values, strict=True)
        )
        parts.append(f'<text x="40" y="{top - 8}">{each.name}: at most {max(each.values):,.4g} {each.unit}</text>')
        parts.append(f'<rect x="40" y="{top}" width="{width}" height="{height}" fill="none" stroke="#bbb"/>')
        parts.append(f'<polyline points="{points}" fill="none" stroke="#2563eb" stroke-width="1.5"/>')
    return "\n".join([*parts, "</svg>", ""])
