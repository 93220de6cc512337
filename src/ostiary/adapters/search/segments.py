"""The index in memory: documents, units, postings and vectors as arrays that never change once they are made.

A segment is a batch of documents. New documents come as new segments, which are merged when they are many; a document that is
gone is marked dead and leaves with the next merge. A query works on one tuple of segments and sees no change while it runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ostiary.adapters.search.entries import PLACES, Array
from ostiary.adapters.search.rows import Known, Row
from ostiary.contracts.records import dataclass

NEIGHBOURS = 2
_AT_ONCE = 4_096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segment:
    """Per unit: `document` (its place in `documents`), `places`, `lengths` (all counts), `alive`, and `vectors` with `norms`
    (0: none yet), their signs as `bits`, and `spans`: how long the sum of a unit's and its neighbours' vectors is.
    Postings of term `vocabulary[i]` are `units` and `counts` from `starts[i]` to `starts[i + 1]`.
    `bounds[i]` is the first unit of document i."""

    documents: tuple[Known, ...]
    bounds: Array
    document: Array
    places: Array
    lengths: Array
    alive: Array
    vocabulary: Array
    starts: Array
    units: Array
    counts: Array
    vectors: Array
    norms: Array
    bits: Array | None
    spans: Array

    @property
    def size(self) -> int:
        return len(self.document)

    def postings(self, term: int) -> tuple[Array, Array]:
        # A plain integer would make numpy convert the whole vocabulary to compare it.
        place = int(np.searchsorted(self.vocabulary, np.uint32(term)))
        if place == len(self.vocabulary) or int(self.vocabulary[place]) != term:
            return self.units[:0], self.counts[:0]
        span = slice(int(self.starts[place]), int(self.starts[place + 1]))
        return self.units[span], self.counts[span]


def segment(rows: Sequence[Row], dimensions: int) -> Segment:
    places = np.frombuffer(b"".join(row.places for row in rows), dtype="<i4").reshape(-1, PLACES)
    sizes = np.frombuffer(b"".join(row.sizes for row in rows), dtype="<u2")
    per_document = np.array([len(row.places) // (4 * PLACES) for row in rows], dtype=np.int64)
    of_posting = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return _made(
        documents=tuple(
            Known(id=row.id, collection=row.collection, path=row.path, version=row.version, at=row.at, label=row.label)
            for row in rows
        ),
        per_document=per_document,
        places=places,
        alive=np.ones(len(places), dtype=bool),
        terms=np.frombuffer(b"".join(row.terms for row in rows), dtype="<u4"),
        units=of_posting,
        counts=np.frombuffer(b"".join(row.counts for row in rows), dtype="u1"),
        vectors=_vectors(rows, per_document, dimensions),
    )


def _vectors(rows: Sequence[Row], per_document: Array, dimensions: int) -> Array:
    filled = [
        row.vectors if row.vectors is not None and len(row.vectors) == count * dimensions else bytes(int(count) * dimensions)
        for row, count in zip(rows, per_document, strict=True)
    ]
    return np.frombuffer(b"".join(filled), dtype=np.int8).reshape(int(per_document.sum()), dimensions)


def _made(
    *,
    documents: tuple[Known, ...],
    per_document: Array,
    places: Array,
    alive: Array,
    terms: Array,
    units: Array,
    counts: Array,
    vectors: Array,
) -> Segment:
    order = np.argsort(terms, kind="stable")
    document = np.repeat(np.arange(len(documents), dtype=np.int32), per_document)
    norms = _norms(vectors)
    vocabulary, starts = np.unique(terms[order], return_index=True)
    return Segment(
        documents=documents,
        bounds=np.concatenate(([0], np.cumsum(per_document))).astype(np.int64),
        document=document,
        places=places,
        lengths=np.bincount(units, weights=counts, minlength=len(places)).astype(np.float32),
        alive=alive,
        vocabulary=vocabulary,
        starts=np.append(starts, len(terms)).astype(np.int64),
        units=units[order],
        counts=counts[order],
        vectors=vectors,
        norms=norms,
        bits=_bits(vectors),
        spans=_spans(vectors, norms, document),
    )


def _norms(vectors: Array) -> Array:
    norms = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _AT_ONCE):
        part = vectors[start : start + _AT_ONCE].astype(np.float32)
        norms[start : start + _AT_ONCE] = np.sqrt(np.einsum("ij,ij->i", part, part))
    return norms


def _spans(vectors: Array, norms: Array, document: Array) -> Array:
    spans = np.zeros(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors) if vectors.shape[1] else 0, _AT_ONCE):
        low, high = max(0, start - NEIGHBOURS), min(len(vectors), start + _AT_ONCE + NEIGHBOURS)
        part = vectors[low:high].astype(np.float32) / np.maximum(norms[low:high], 1e-6)[:, None]
        total = part.copy()
        for step in range(1, NEIGHBOURS + 1):
            same = (document[low + step : high] == document[low : high - step])[:, None]
            total[step:] += part[:-step] * same
            total[:-step] += part[step:] * same
        stop = min(len(vectors), start + _AT_ONCE)
        spans[start:stop] = np.sqrt(np.einsum("ij,ij->i", total, total))[start - low : stop - low]
    return spans


def _bits(vectors: Array) -> Array | None:
    """Eight bytes at a time; None if there are no vectors or they do not divide so."""
    if not vectors.shape[1] or vectors.shape[1] % 64:
        return None
    return np.packbits(vectors > 0, axis=1).view(np.uint64)


def without(segments: Iterable[Segment], ids: frozenset[int]) -> tuple[Segment, ...]:
    """The same segments with these documents dead."""
    return tuple(_marked(each, ids) for each in segments)


def _marked(each: Segment, ids: frozenset[int]) -> Segment:
    gone = [place for place, known in enumerate(each.documents) if known.id in ids]
    if not gone:
        return each
    alive = each.alive.copy()
    for place in gone:
        alive[each.bounds[place] : each.bounds[place + 1]] = False
    return replace(each, alive=alive)


def added(segments: tuple[Segment, ...], new: Segment) -> tuple[Segment, ...]:
    """With one more, merged so that each is at least twice as large as the next: few segments, little work per document."""
    kept = [*segments, new]
    while len(kept) > 1 and kept[-2].size < 2 * kept[-1].size + 256:
        after, before = kept.pop(), kept.pop()
        kept.append(merged(before, after))
    return tuple(kept)


def merged(first: Segment, second: Segment) -> Segment:
    """One segment of the living documents of both."""
    parts = [_living(first), _living(second)]
    shift = len(parts[0][2])
    units = np.concatenate((parts[0][4], parts[1][4] + np.int32(shift)))
    return _made(
        documents=parts[0][0] + parts[1][0],
        per_document=np.concatenate((parts[0][1], parts[1][1])),
        places=np.concatenate((parts[0][2], parts[1][2])),
        alive=np.ones(shift + len(parts[1][2]), dtype=bool),
        terms=np.concatenate((parts[0][3], parts[1][3])),
        units=units,
        counts=np.concatenate((parts[0][5], parts[1][5])),
        vectors=np.concatenate((parts[0][6], parts[1][6])),
    )


def _living(each: Segment) -> tuple[tuple[Known, ...], Array, Array, Array, Array, Array, Array]:
    """Documents, units per document, places, and (terms, units, counts) of the postings, vectors: without what is dead."""
    spans = np.diff(each.bounds)
    # A document without a unit is alive: it says that the path was looked at.
    lives = np.array([not spans[i] or bool(each.alive[each.bounds[i]]) for i in range(len(each.documents))], dtype=bool)
    numbers = np.cumsum(each.alive) - 1
    keep = each.alive[each.units]
    terms = np.repeat(each.vocabulary, np.diff(each.starts))
    return (
        tuple(known for known, living in zip(each.documents, lives, strict=True) if living),
        spans[lives],
        each.places[each.alive],
        terms[keep],
        numbers[each.units[keep]].astype(np.int32),
        each.counts[keep],
        each.vectors[each.alive],
    )
