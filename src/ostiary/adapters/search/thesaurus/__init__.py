"""Words related to a word, for questions that do not use the words of their answer. Made from WordNet 3.0 (see LICENSE)."""

from functools import lru_cache
from importlib.resources import files
from typing import Any

from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Table:
    keys: Any
    starts: Any
    terms: Any
    weights: Any


def related(term: int) -> dict[int, float]:
    """Terms as words.py numbers them, each with a weight above 0 and below 1. Empty for a word that is not known."""
    import numpy as np

    table = _table()
    # A plain integer would make numpy convert the whole table to compare it.
    place = int(np.searchsorted(table.keys, np.uint32(term)))
    if place == len(table.keys) or int(table.keys[place]) != term:
        return {}
    span = slice(int(table.starts[place]), int(table.starts[place + 1]))
    return {int(other): int(weight) / 255 for other, weight in zip(table.terms[span], table.weights[span], strict=True)}


@lru_cache(maxsize=1)
def _table() -> _Table:
    """Stays on disk and is paged in by use."""
    import numpy as np

    folder = files(__name__)
    keys, starts, terms, weights = (
        np.load(str(folder / f"{name}.npy"), mmap_mode="r") for name in ("keys", "starts", "terms", "weights")
    )
    return _Table(keys=keys, starts=starts, terms=terms, weights=weights)
