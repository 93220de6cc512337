"""How much each unit has to do with a question: words at three sizes, mixed with meaning.

A word counts in the unit that holds it, less in its neighbours, and a little in the whole document: an answer often stands a
line after the words of its question, in a conversation that was about them.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ostiary.adapters.search.entries import Array
from ostiary.adapters.search.segments import NEIGHBOURS, Segment
from ostiary.contracts.records import dataclass

# Up to this many units every cosine is computed; beyond it the nearest by sign and those that words found.
_ALL = 16_384
_NEAREST = 1_024
_AT_ONCE = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Measured on evals/memory; docs/decisions/0010-search.md has the table.

    `nearby` and `whole`: what a word counts around its unit and in its whole document; `meaning`: the share that is not words,
    `around` the part of it that neighbours have; `smoothing`: what a unit gets of what its neighbours scored; `sharpness`: the
    power that keeps many poor lines from outweighing one good one."""

    saturation: float = 1.5
    length: float = 0.25
    nearby: float = 0.5
    radius: int = 2
    fading: float = 0.6
    whole: float = 0.12
    meaning: float = 0.45
    around: float = 0.6
    smoothing: float = 0.25
    sharpness: float = 10.0


MEASURED = Weights()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scored:
    """Per unit of one segment: everything together, at most 1 and what the neighbours add, and meaning alone, 0..1."""

    total: Array
    meaning: Array


def scored(
    segments: Sequence[Segment],
    visible: Sequence[Array],
    terms: Mapping[int, float],
    vector: Array | None,
    weights: Weights = MEASURED,
) -> list[Scored]:
    """`visible` marks the units of each segment that may be seen; nothing else has a part in any number."""
    words = _words(segments, visible, terms, weights)
    _normalise(words)
    if vector is None:
        meanings = [np.zeros(each.size, dtype=np.float32) for each in segments]
    else:
        meanings = [
            _meaning(each, sees, vector, part, weights) for each, sees, part in zip(segments, visible, words, strict=True)
        ]
    _normalise(meanings)
    share = weights.meaning if any(part.any() for part in meanings) else 0.0
    if share and not any(part.any() for part in words):
        share = 1.0
    made = []
    for each, sees, by_words, by_meaning in zip(segments, visible, words, meanings, strict=True):
        total = (1.0 - share) * by_words + share * by_meaning
        total += weights.smoothing * _beside(each, total)
        total[~sees] = 0.0
        made.append(Scored(total=total, meaning=by_meaning))
    return made


def meaning_alone(each: Segment, score: Scored, weights: Weights) -> Array:
    """What a unit would score if no word of the question were known."""
    alone = weights.meaning * (score.meaning + weights.smoothing * _beside(each, score.meaning))
    alone[score.total <= 0] = 0.0
    return alone


def _normalise(parts: list[Array]) -> None:
    largest = max((float(part.max()) for part in parts if len(part)), default=0.0)
    if largest > 0:
        for part in parts:
            part /= largest


def _words(segments: Sequence[Segment], visible: Sequence[Array], terms: Mapping[int, float], weights: Weights) -> list[Array]:
    seen = sum(int(np.count_nonzero(sees)) for sees in visible)
    average = sum(float(each.lengths @ sees) for each, sees in zip(segments, visible, strict=True)) / max(1, seen)
    sums = [_Sums(each, weights, average) for each in segments]
    masks = [None if sees.all() else sees for sees in visible]
    for term, weight in terms.items():
        found = [_visible_postings(each, mask, term) for each, mask in zip(segments, masks, strict=True)]
        frequency = sum(len(units) for units, _ in found)
        if frequency:
            rarity = weight * math.log1p((seen - frequency + 0.5) / (frequency + 0.5))
            for total, (units, counts) in zip(sums, found, strict=True):
                if weight < 1.0:
                    total.add_related(units, counts, rarity)
                elif len(units):
                    total.add(units, counts, rarity)
    made = [total.finished() for total in sums]
    for part, sees in zip(made, visible, strict=True):
        part[~sees] = 0.0
    return made


def _visible_postings(each: Segment, mask: Array | None, term: int) -> tuple[Array, Array]:
    """`mask` is None if everything may be seen."""
    units, counts = each.postings(term)
    if mask is not None and len(units):
        keep = mask[units]
        units, counts = units[keep], counts[keep]
    return units, counts * np.float32(0.25)


class _Sums:
    """The words' part of one segment's scores, summed term by term.

    Arrays begin and end with a margin that belongs to no document, so that a step to the side never leaves them."""

    __slots__ = ("_average", "_documents", "_each", "_near", "_owner", "_related", "_units", "_weights")

    def __init__(self, each: Segment, weights: Weights, average: float) -> None:
        margin = np.full(weights.radius, -1, dtype=np.int32)
        self._each = each
        self._weights = weights
        self._average = max(average, 1e-6)
        self._owner = np.concatenate((margin, each.document, margin))
        self._units = np.zeros(len(self._owner), dtype=np.float32)
        self._near = np.zeros(len(self._owner), dtype=np.float32)
        self._documents = np.zeros(len(each.documents), dtype=np.float32)
        self._related: list[tuple[Array, Array, float]] = []

    def add(self, units: Array, counts: Array, rarity: float) -> None:
        weights, k = self._weights, self._weights.saturation
        worth = rarity * (k + 1)
        slack = k * (1 - weights.length + (weights.length / self._average) * self._each.lengths[units])
        places = units + np.int32(weights.radius)
        self._units[places] += worth * counts / (counts + slack)
        documents = self._each.document[units]
        if weights.nearby:
            self._add_nearby(places, counts, documents, weights.nearby * worth)
        if weights.whole:
            # Units come in order, so those of one document stand together.
            firsts = np.flatnonzero(np.concatenate(([True], documents[1:] != documents[:-1])))
            held = np.add.reduceat(counts, firsts)
            self._documents[documents[firsts]] += (weights.whole * worth) * held / (held + k)

    def _add_nearby(self, places: Array, counts: Array, documents: Array, worth: float) -> None:
        near, radius = self._near, self._weights.radius
        beside = [places + np.int32(step) for step in range(-radius, radius + 1)]
        for step, moved in enumerate(beside, -radius):
            faded = counts * np.float32(self._weights.fading ** abs(step))
            near[moved] += faded * (self._owner[moved] == documents)
        if 8 * len(places) > len(near):
            self._units += worth * near / (near + self._weights.saturation)
            near[:] = 0.0
            return
        for moved in beside:
            # Cleared as soon as it is counted, so that a place touched twice counts once.
            held = near[moved]
            near[moved] = 0.0
            self._units[moved] += worth * held / (held + self._weights.saturation)

    def add_related(self, units: Array, counts: Array, rarity: float) -> None:
        """For words that are only related to the question's: many, rare, and so summed in one go at the end."""
        self._related.append((units, counts, rarity))

    def _sum_related(self) -> None:
        weights, k = self._weights, self._weights.saturation
        units = np.concatenate([units for units, _, _ in self._related])
        counts = np.concatenate([counts for _, counts, _ in self._related])
        worth = np.repeat([(k + 1) * rarity for _, _, rarity in self._related], [len(each) for each, _, _ in self._related])
        slack = k * (1 - weights.length + (weights.length / self._average) * self._each.lengths[units])
        places = units + np.int32(weights.radius)
        documents = self._each.document[units]
        where, what = [places], [worth * counts / (counts + slack)]
        for step in range(-weights.radius, weights.radius + 1):
            faded = counts * np.float32(weights.fading ** abs(step))
            where.append(places + np.int32(step))
            what.append(weights.nearby * worth * faded / (faded + k) * (self._owner[where[-1]] == documents))
        self._units += np.bincount(np.concatenate(where), weights=np.concatenate(what), minlength=len(self._units))
        share = weights.whole * worth * counts / (counts + k)
        self._documents += np.bincount(documents, weights=share, minlength=len(self._documents))

    def finished(self) -> Array:
        if self._related:
            self._sum_related()
        radius = self._weights.radius
        made = self._units[radius : radius + self._each.size]
        if self._weights.whole:
            made += self._documents[self._each.document]
        return made


def _meaning(each: Segment, sees: Array, vector: Array, words: Array, weights: Weights) -> Array:
    """The cosine with a unit, mixed with that of the unit and its neighbours together; 0 for what is too far to matter."""
    near = np.zeros(each.size, dtype=np.float32)
    if each.vectors.shape[1] != len(vector):
        return near
    chosen: Array | None = None
    if each.size <= _ALL or each.bits is None:
        for start in range(0, each.size, _AT_ONCE):
            span = slice(start, start + _AT_ONCE)
            near[span] = each.vectors[span].astype(np.float32) @ vector
        near /= np.maximum(each.norms, 1e-6)
    else:
        chosen = _candidates(each, sees, vector, words)
        wider = _widened(chosen, each.size)
        near[wider] = (each.vectors[wider].astype(np.float32) @ vector) / np.maximum(each.norms[wider], 1e-6)
    near[~sees] = 0.0
    around = _around(each, near) / np.maximum(each.spans, 1e-6)
    mixed = np.maximum((1 - weights.around) * near + weights.around * around, 0.0)
    mixed[~sees] = 0.0
    if chosen is None:
        return mixed
    # The others miss some of their neighbours.
    made = np.zeros_like(mixed)
    made[chosen] = mixed[chosen]
    return made


def _around(each: Segment, near: Array) -> Array:
    """The sum over a unit and its neighbours: divided by the length of their sum it is the cosine with them together."""
    total = near.copy()
    for step in range(1, NEIGHBOURS + 1):
        same = each.document[step:] == each.document[:-step]
        total[step:] += near[:-step] * same
        total[:-step] += near[step:] * same
    return total


def _widened(chosen: Array, size: int) -> Array:
    marks = np.zeros(size, dtype=bool)
    for step in range(-NEIGHBOURS, NEIGHBOURS + 1):
        marks[np.clip(chosen + step, 0, size - 1)] = True
    return np.flatnonzero(marks)


def _candidates(each: Segment, sees: Array, vector: Array, words: Array) -> Array:
    """Units whose numbers have mostly the same signs as the question's, and those that words found."""
    signs = np.packbits(vector > 0).view(np.uint64)
    assert each.bits is not None
    apart = np.bitwise_count(each.bits[:, 0] ^ signs[0]).astype(np.uint16)
    for column in range(1, each.bits.shape[1]):
        apart += np.bitwise_count(each.bits[:, column] ^ signs[column])
    apart[~sees] = np.iinfo(np.uint16).max
    nearest = np.argpartition(apart, _NEAREST)[:_NEAREST]
    named = np.argpartition(words, each.size - _NEAREST)[each.size - _NEAREST :]
    return np.union1d(nearest, named)


def _beside(each: Segment, total: Array) -> Array:
    """What the neighbours on both sides score, within the document."""
    beside = np.zeros_like(total)
    same = each.document[1:] == each.document[:-1]
    beside[1:] += total[:-1] * same
    beside[:-1] += total[1:] * same
    return beside
