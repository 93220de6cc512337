"""What is kept of one document: where its units lie, which terms they hold and how often, in packed bytes.

Counts are in quarters, so that a word of a heading or of a path may weigh less than one of the line itself.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ostiary.adapters.search.chunking import Unit, units
from ostiary.adapters.search.words import terms
from ostiary.contracts.records import dataclass

PLACES = 4
_IN_LINE = 4
_IN_HEADING = 2
_IN_PATH = 2
_MOST = 255
_LABEL = re.compile(r"\s*(\S[^:\n]{0,39}):\s")
_SPOKEN = 3

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`places`: begin, end, first, last of each unit. `sizes`: how many terms each holds. `terms`, `counts`: those, in a row."""

    places: bytes
    sizes: bytes
    terms: bytes
    counts: bytes
    texts: tuple[str, ...]


def entry(path: str, text: str) -> Entry:
    """`texts` is what is to be embedded, one per unit. Whoever changes what they are gives `CHUNKING` another name."""
    found = list(units(text))
    places = np.array([(unit.begin, unit.end, unit.first, unit.last) for unit in found], dtype="<i4")
    bags = [_bag(unit, path if place == 0 else "") for place, unit in enumerate(found)]
    counts = np.array([count for bag in bags for count in bag.values()], dtype=np.int64)
    return Entry(
        places=places.tobytes(),
        sizes=np.array([len(bag) for bag in bags], dtype="<u2").tobytes(),
        terms=np.array([term for bag in bags for term in bag], dtype="<u4").tobytes(),
        counts=np.minimum(counts, _MOST).astype("u1").tobytes(),
        texts=_embedded(found),
    )


def are_numbers(vectors: Sequence[bytes]) -> bool:
    """Whether every one is finite."""
    return all(bool(np.isfinite(np.frombuffer(vector, dtype="<f4")).all()) for vector in vectors)


def pack_vectors(vectors: Sequence[bytes], dimensions: int) -> bytes:
    """Rows of float32 as signed bytes; a row's length is restored when it is read."""
    rows = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), dimensions)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    largest[largest == 0] = 1.0
    packed: bytes = np.rint(rows * (127.0 / largest)).astype(np.int8).tobytes()
    return packed


def _bag(unit: Unit, path: str) -> dict[int, int]:
    bag = {term: _IN_LINE * count for term, count in Counter(terms(unit.text)).items()}
    for weight, text in ((_IN_HEADING, unit.heading), (_IN_PATH, path.replace("_", " "))):
        for term in terms(text) if text else ():
            bag[term] = bag.get(term, 0) + weight
    return bag


def _embedded(found: Sequence[Unit]) -> tuple[str, ...]:
    """Without who says it: in a conversation the speakers' names would make half of all lines alike. They count as words.

    A label that stands before few lines is no speaker, but what the line is about."""
    labels = [_LABEL.match(unit.text) for unit in found]
    often = Counter(label[1] for label in labels if label is not None)
    return tuple(
        _under(unit, unit.text[label.end() :] if label is not None and often[label[1]] >= _SPOKEN else unit.text)
        for unit, label in zip(found, labels, strict=True)
    )


def _under(unit: Unit, text: str) -> str:
    return f"{unit.heading}: {text}" if unit.heading else text
