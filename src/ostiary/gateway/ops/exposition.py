"""Prometheus' text format, written by hand: counters, gauges and histograms with a bounded number of label values."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"
_SERIES = 200

Labels = tuple[str, ...]


class Counter:
    """Only rises. Beyond 200 different label values the rest is counted together, as `other`."""

    kind = "counter"

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.help = help
        self._labels = tuple(labels)
        self._values: dict[Labels, float] = {}

    def add(self, *labels: str, amount: float = 1.0) -> None:
        key = _bounded(self._values, labels)
        self._values[key] = self._values.get(key, 0.0) + amount

    def lines(self) -> Iterator[str]:
        for labels, value in self._values.items():
            yield _line(self.name, self._labels, labels, value)


class Histogram:
    """How long things took. `bounds` are upper limits in seconds, rising; what is longer counts in +Inf."""

    kind = "histogram"

    def __init__(self, name: str, help: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        self.name = name
        self.help = help
        self._bounds = tuple(bounds)
        self._labels = tuple(labels)
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def add(self, *labels: str, seconds: float) -> None:
        key = _bounded(self._counts, labels)
        counts = self._counts.setdefault(key, [0] * (len(self._bounds) + 1))
        counts[bisect_left(self._bounds, seconds)] += 1
        self._sums[key] = self._sums.get(key, 0.0) + seconds

    def lines(self) -> Iterator[str]:
        names = (*self._labels, "le")
        for labels, counts in self._counts.items():
            total = 0
            for bound, count in zip((*self._bounds, None), counts, strict=True):
                total += count
                limit = "+Inf" if bound is None else f"{bound:g}"
                yield _line(f"{self.name}_bucket", names, (*labels, limit), total)
            yield _line(f"{self.name}_sum", self._labels, labels, self._sums[labels])
            yield _line(f"{self.name}_count", self._labels, labels, total)


class Gauge:
    """A figure as it is at this moment."""

    kind = "gauge"

    def __init__(
        self, name: str, help: str, value: float, *, kind: str = "gauge", labels: Iterable[tuple[str, str]] = ()
    ) -> None:
        self.name = name
        self.help = help
        self.kind = kind
        self._value = value
        self._labels = tuple(labels)

    def lines(self) -> Iterator[str]:
        yield _line(self.name, [name for name, _ in self._labels], [value for _, value in self._labels], self._value)


def exposed(families: Iterable[Counter | Histogram | Gauge]) -> bytes:
    """The page that Prometheus reads."""
    lines: list[str] = []
    for family in families:
        lines += (f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}", *family.lines())
    return "\n".join([*lines, ""]).encode()


def _bounded(known: dict[Labels, float] | dict[Labels, list[int]], labels: Labels) -> Labels:
    if not labels or labels in known or len(known) < _SERIES:
        return labels
    return (OTHER,) * len(labels)


def _line(name: str, names: Sequence[str], values: Sequence[str], value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in zip(names, values, strict=True))
    shown = f"{{{pairs}}}" if pairs else ""
    return f"{name}{shown} {_number(value)}"


def _escaped(text: str) -> str:
    return text[:200].replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
