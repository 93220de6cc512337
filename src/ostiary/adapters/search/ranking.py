"""How much each unit has to do with a question: words at three sizes, mixed with meaning.

A word counts in the unit that holds it, less in its neighbours, and a little in the whole document: an answer often stands a
line after the words of its question, in a conversation that was about them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ostiary.adapters.search.entries import Array
from ostiary.adapters.search.segments import Segment
from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Measured on evals/memory; docs/decisions/0010-search.md has the table."""

    saturation: float = 1.2
    length: float = 0.5
    nearby: float = 0.5
    whole: float = 0.25
    radius: int = 2
    fading: float = 0.6
    meaning: float = 0.35
    smoothing: float = 0.3
    sharpness: float = 2.0
    again: float = 1.0


MEASURED = Weights()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scored:
    """Per unit of one segment, 0..1: everything together, and meaning alone."""

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
    meanings = [_meaning(each, sees, vector) for each, sees in zip(segments, visible, strict=True)]
    _normalise(words)
    _normalise(meanings)
    share = weights.meaning if vector is not None and any(part.any() for part in meanings) else 0.0
    if not any(part.any() for part in words):
        share = 1.0 if share else 0.0
    made = []
    for each, sees, by_words, by_meaning in zip(segments, visible, words, meanings, strict=True):
        total = (1.0 - share) * by_words + share * by_meaning
        total += weights.smoothing * _beside(each, total)
        made.append(Scored(total=np.where(sees, total, 0.0), meaning=by_meaning))
    return made


def _normalise(parts: list[Array]) -> None:
    largest = max((float(part.max()) for part in parts if len(part)), default=0.0)
    if largest > 0:
        for part in parts:
            part /= largest


def _words(segments: Sequence[Segment], visible: Sequence[Array], terms: Mapping[int, float], weights: Weights) -> list[Array]:
    seen = sum(int(sees.sum()) for sees in visible)
    average = sum(float(each.lengths[sees].sum()) for each, sees in zip(segments, visible, strict=True)) / max(1, seen)
    sums = [np.zeros(each.size, dtype=np.float32) for each in segments]
    for term, weight in terms.items():
        found = [_visible_postings(each, sees, term) for each, sees in zip(segments, visible, strict=True)]
        frequency = sum(len(units) for units, _ in found)
        if frequency:
            rarity = weight * float(np.log1p((seen - frequency + 0.5) / (frequency + 0.5)))
            for each, total, (units, counts) in zip(segments, sums, found, strict=True):
                _add_term(each, total, units, counts, average, rarity, weights)
    return sums


def _visible_postings(each: Segment, sees: Array, term: int) -> tuple[Array, Array]:
    units, counts = each.postings(term)
    keep = sees[units]
    return units[keep], counts[keep].astype(np.float32) * np.float32(0.25)


def _add_term(each: Segment, total: Array, units: Array, counts: Array, average: float, rarity: float, weights: Weights) -> None:
    if not len(units):
        return
    k = weights.saturation
    slack = k * (1 - weights.length + weights.length * each.lengths[units] / max(average, 1e-6))
    total[units] += rarity * (k + 1) * counts / (counts + slack)
    documents = each.document[units]
    if weights.nearby:
        near = np.zeros(each.size, dtype=np.float32)
        for step in range(-weights.radius, weights.radius + 1):
            places = units + step
            inside = (places >= 0) & (places < each.size)
            inside[inside] = each.document[places[inside]] == documents[inside]
            near[places[inside]] += counts[inside] * weights.fading ** abs(step)
        total += (weights.nearby * rarity * (k + 1)) * near / (near + k)
    if weights.whole:
        in_document = np.bincount(documents, weights=counts, minlength=len(each.documents))
        share = (weights.whole * rarity * (k + 1)) * in_document / (in_document + k)
        total += share[each.document].astype(np.float32)


def _meaning(each: Segment, sees: Array, vector: Array | None) -> Array:
    """The cosine, not below 0."""
    near = np.zeros(each.size, dtype=np.float32)
    if vector is None or each.vectors.shape[1] != len(vector):
        return near
    for start in range(0, each.size, 4096):
        span = slice(start, start + 4096)
        near[span] = each.vectors[span].astype(np.float32) @ vector
    near /= np.maximum(each.norms, 1e-6)
    near[~sees] = 0.0
    return np.maximum(near, 0.0)


def _beside(each: Segment, total: Array) -> Array:
    """What the neighbours on both sides score, within the document."""
    beside = np.zeros_like(total)
    same = each.document[1:] == each.document[:-1]
    beside[1:] += np.where(same, total[:-1], 0.0)
    beside[:-1] += np.where(same, total[1:], 0.0)
    return beside
