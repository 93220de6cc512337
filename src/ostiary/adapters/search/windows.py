"""Which runs of lines to show: the set of windows that together hold most of what scored."""

from collections.abc import Sequence

import numpy as np

from ostiary.adapters.search.entries import Array
from ostiary.adapters.search.ranking import MEASURED, Scored, Weights, meaning_alone
from ostiary.adapters.search.segments import Segment
from ostiary.contracts.records import dataclass

WINDOW = 1_600
_SEEDS = 256
# For the few windows that meaning alone chooses.
_FEW_SEEDS = 48
# Further apart than any two characters of one document.
_APART = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Units `first` to `last` of a segment, both included; `best` is the unit that scored most."""

    segment: int
    first: int
    last: int
    best: int
    score: float


def windows(
    segments: Sequence[Segment],
    scores: Sequence[Scored],
    limit: int,
    weights: Weights = MEASURED,
    size: int = WINDOW,
    *,
    by_meaning: int = 0,
) -> list[Window]:
    """At most `limit`, best first, none overlapping another, each as long as `size` characters allow. The last `by_meaning`
    of them are chosen by meaning alone."""
    alone = [meaning_alone(each, score, weights) for each, score in zip(segments, scores, strict=True)] if by_meaning else []
    field = _Field(segments, scores, alone, weights, size)
    chosen = [taken for _ in range(limit - by_meaning) if (taken := field.take()) is not None]
    if by_meaning:
        field.turn_to_meaning()
        chosen += [taken for _ in range(limit - len(chosen)) if (taken := field.take()) is not None]
    return [field.window(*one) for one in _stretched(field, chosen, size)]


class _Field:
    """The units of all documents that scored, in a row, while windows are taken from them.

    `begins` and `ends` are characters, moved so far apart for each document that no window reaches over its end."""

    def __init__(
        self, segments: Sequence[Segment], scores: Sequence[Scored], alone: Sequence[Array], weights: Weights, size: int
    ) -> None:
        by_each = [(score.total, *alone[number : number + 1]) for number, score in enumerate(scores)]
        parts = [_units(each, totals) for each, totals in zip(segments, by_each, strict=True)]
        self.units = np.concatenate([np.empty(0, dtype=np.int64), *parts])
        self.segment = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        joined = list(zip(segments, scores, parts, strict=True))
        self.scores = _joined([score.total[part] for _, score, part in joined], np.float64)
        document = _joined([each.document[part].astype(np.int64) for each, _, part in joined], np.int64)
        breaks = (np.diff(document) != 0) | (np.diff(self.segment) != 0)
        shift = np.concatenate(([0], np.cumsum(breaks)))[: len(document)] * _APART
        self.begins = _joined([each.places[part, 0].astype(np.int64) for each, _, part in joined], np.int64) + shift
        self.ends = _joined([each.places[part, 1].astype(np.int64) for each, _, part in joined], np.int64) + shift
        # A unit is never longer than a window, so each window holds at least the unit it begins with.
        self._reach = np.searchsorted(self.ends, self.begins + size, side="right")
        self._reach = np.maximum(self._reach, np.arange(1, len(self.ends) + 1))
        self._sharpness = weights.sharpness
        self._mass = self.scores**weights.sharpness
        self._alone = _joined([total[part] for total, part in zip(alone, parts, strict=False)], np.float64)
        self._is_taken = np.zeros(len(self.units), dtype=bool)

    def turn_to_meaning(self) -> None:
        """From here on windows are weighed by meaning alone."""
        self.scores = np.where(self._is_taken, self.scores, self._alone)
        self._mass = np.where(self._is_taken, 0.0, self._alone**self._sharpness)

    def take(self) -> tuple[int, int, int] | None:
        """First, last and best unit of the heaviest window, whose mass is then gone. None if nothing is left."""
        if not len(self._mass):
            return None
        sums = np.concatenate(([0.0], np.cumsum(self._mass)))
        held = sums[self._reach] - sums[:-1]
        first = int(held.argmax())
        if held[first] <= 0:
            return None
        last = int(self._reach[first]) - 1
        full = np.flatnonzero(self._mass[first : last + 1] > 0)
        if not len(full):
            return None
        first, last = first + int(full[0]), first + int(full[-1])
        best = first + int(self._mass[first : last + 1].argmax())
        self._mass[first : last + 1] = 0.0
        self._is_taken[first : last + 1] = True
        # No window that begins before this one may run into it.
        self._reach[:first] = np.minimum(self._reach[:first], first)
        return first, last, best

    def window(self, first: int, last: int, best: int) -> Window:
        return Window(
            segment=int(self.segment[first]),
            first=int(self.units[first]),
            last=int(self.units[last]),
            best=int(self.units[best]),
            score=float(self.scores[best]),
        )


def _joined(parts: list[Array], kind: type) -> Array:
    return np.concatenate([np.empty(0, dtype=kind), *parts])


def _units(each: Segment, totals: Sequence[Array]) -> Array:
    """All units of those documents that hold the units which score most, by any of these."""
    if not each.size:
        return np.empty(0, dtype=np.int64)
    tops = [_top(total, min(seeds, each.size)) for total, seeds in zip(totals, (_SEEDS, _FEW_SEEDS), strict=False)]
    documents = np.unique(each.document[np.concatenate(tops)])
    spans = each.bounds[documents + 1] - each.bounds[documents]
    starts = np.repeat(each.bounds[documents] - np.concatenate(([0], np.cumsum(spans)))[:-1], spans)
    return starts + np.arange(int(spans.sum()))


def _top(total: Array, count: int) -> Array:
    top = np.argpartition(total, len(total) - count)[len(total) - count :]
    return top[total[top] > 0]


def _stretched(field: _Field, chosen: list[tuple[int, int, int]], size: int) -> list[tuple[int, int, int]]:
    """Each made longer into what no other window holds, towards the better neighbour."""
    used = {unit for first, last, _ in chosen for unit in range(first, last + 1)}
    made = []
    for first, last, best in chosen:
        while True:
            steps = []
            # Over the end of a document the distance is far beyond any size.
            if first > 0 and first - 1 not in used and field.ends[last] - field.begins[first - 1] <= size:
                steps.append((float(field.scores[first - 1]), first - 1))
            if last + 1 < len(field.ends) and last + 1 not in used and field.ends[last + 1] - field.begins[first] <= size:
                steps.append((float(field.scores[last + 1]), last + 1))
            if not steps:
                break
            _, unit = max(steps)
            used.add(unit)
            first, last = min(first, unit), max(last, unit)
        made.append((first, last, best))
    return made
