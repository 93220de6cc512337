"""Which runs of lines to show: the set of windows that together hold most of what scored."""

from collections.abc import Sequence

import numpy as np

from ostiary.adapters.search.entries import Array
from ostiary.adapters.search.ranking import MEASURED, Scored, Weights
from ostiary.adapters.search.segments import Segment
from ostiary.contracts.records import dataclass

WINDOW = 1_600
_SEEDS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Units `first` to `last` of a segment, both included; `best` is the unit that scored most."""

    segment: int
    first: int
    last: int
    best: int
    score: float


def windows(
    segments: Sequence[Segment], scores: Sequence[Scored], limit: int, weights: Weights = MEASURED, size: int = WINDOW
) -> list[Window]:
    """At most `limit`, best first, none overlapping another, each as long as `size` characters allow."""
    fields = [
        _Field(number, each, score.total, place, weights, size)
        for number, (each, score) in enumerate(zip(segments, scores, strict=True))
        for place in _documents(each, score.total)
    ]
    chosen: list[tuple[_Field, int, int, int]] = []
    while len(chosen) < limit and fields:
        field = max(fields, key=lambda one: one.top)
        if field.top <= 0:
            break
        chosen.append((field, *field.take()))
    return [
        Window(
            segment=field.segment,
            first=field.offset + first,
            last=field.offset + last,
            best=field.offset + best,
            score=float(field.scores[best]),
        )
        for field, first, last, best in _stretched(chosen, size)
    ]


def _documents(each: Segment, total: Array) -> list[int]:
    """Those that hold the units which score most."""
    if not each.size:
        return []
    count = min(_SEEDS, each.size)
    top = np.argpartition(total, each.size - count)[each.size - count :]
    return [int(place) for place in np.unique(each.document[top[total[top] > 0]])]


class _Field:
    """One document's units while windows are taken from it."""

    __slots__ = ("begins", "ends", "mass", "offset", "reach", "scores", "segment", "sums", "top", "weights")

    def __init__(self, segment: int, each: Segment, total: Array, document: int, weights: Weights, size: int) -> None:
        span = slice(int(each.bounds[document]), int(each.bounds[document + 1]))
        self.segment = segment
        self.offset = span.start
        self.weights = weights
        self.scores = total[span]
        self.begins = each.places[span, 0]
        self.ends = each.places[span, 1]
        # A unit is never longer than a window, so each window holds at least the unit it begins with.
        self.reach = np.maximum(np.searchsorted(self.ends, self.begins + size, side="right"), np.arange(1, len(self.ends) + 1))
        self.mass = self.scores.astype(np.float64) ** weights.sharpness
        self._weigh()

    def _weigh(self) -> None:
        sums = np.concatenate(([0.0], np.cumsum(self.mass)))
        self.sums = sums[self.reach] - sums[:-1]
        self.top = float(self.sums.max())

    def take(self) -> tuple[int, int, int]:
        """First, last and best unit of the heaviest window, whose mass is then gone."""
        first = int(self.sums.argmax())
        last = int(self.reach[first]) - 1
        held = np.flatnonzero(self.mass[first : last + 1] > 0)
        first, last = first + int(held[0]), first + int(held[-1])
        best = first + int(self.mass[first : last + 1].argmax())
        self.mass *= self.weights.again
        self.mass[first : last + 1] = 0.0
        # No window that begins before this one may run into it.
        self.reach[:first] = np.minimum(self.reach[:first], first)
        self._weigh()
        return first, last, best


def _stretched(chosen: list[tuple[_Field, int, int, int]], size: int) -> list[tuple[_Field, int, int, int]]:
    """Each made longer into what no other window holds, towards the better neighbour."""
    taken: dict[int, set[int]] = {}
    for field, first, last, _ in chosen:
        taken.setdefault(id(field), set()).update(range(first, last + 1))
    made = []
    for field, first, last, best in chosen:
        used = taken[id(field)]
        while True:
            steps = []
            if first > 0 and first - 1 not in used and field.ends[last] - field.begins[first - 1] <= size:
                steps.append((float(field.scores[first - 1]), -1))
            if last + 1 < len(field.ends) and last + 1 not in used and field.ends[last + 1] - field.begins[first] <= size:
                steps.append((float(field.scores[last + 1]), 1))
            if not steps:
                break
            _, step = max(steps)
            first, last = (first - 1, last) if step < 0 else (first, last + 1)
            used.add(first if step < 0 else last)
        made.append((field, first, last, best))
    return made
