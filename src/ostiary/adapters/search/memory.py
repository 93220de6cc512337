"""The live generation's segments, loaded at the first question and let go when nobody asks any more."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import apsw

from ostiary.adapters.search import database
from ostiary.adapters.search.rows import Row
from ostiary.adapters.store.paths import matches
from ostiary.contracts.search import Reach

if TYPE_CHECKING:
    from ostiary.adapters.search.entries import Array
    from ostiary.adapters.search.segments import Segment

_AT_ONCE = 2_000
_MASKS = 64


class Memory:
    """Changed by the writing thread alone; whoever reads takes `segments` once and works on that tuple."""

    def __init__(self) -> None:
        self.generation = 0
        self.segments: tuple[Segment, ...] | None = None
        self._dimensions = 0
        self._seen: dict[tuple[int, Reach], tuple[object, Array]] = {}

    def load(self, connection: apsw.Connection, generation: database.Generation) -> "tuple[Segment, ...]":
        """What is loaded already is not loaded again."""
        from ostiary.adapters.search.segments import segment

        if self.segments is not None and self.generation == generation.id:
            return self.segments
        self._dimensions = generation.dimensions
        parts: list[Row] = []
        while True:
            batch = database.rows(connection, generation.id, after=parts[-1].id if parts else 0, limit=_AT_ONCE)
            parts += batch
            if len(batch) < _AT_ONCE:
                break
        self.generation = generation.id
        self.segments = (segment(parts, self._dimensions),) if parts else ()
        self._seen.clear()
        return self.segments

    def change(self, generation: int, *, gone: Iterable[int], new: Sequence[Row]) -> None:
        """After a commit. Nothing happens to a generation that is not loaded."""
        if self.segments is None or self.generation != generation:
            return
        from ostiary.adapters.search.segments import added, segment, without

        try:
            left = without(self.segments, frozenset(gone))
            rows = [row for row in new if row.places]
            self.segments = added(left, segment(rows, self._dimensions)) if rows else left
        except BaseException:
            # Better loaded anew than behind what is committed.
            self.clear()
            raise

    def clear(self) -> None:
        self.generation = 0
        self.segments = None
        self._seen.clear()

    def visible(self, each: "Segment", reach: Reach) -> "Array":
        """Which units of the segment the reach lets be seen."""
        import numpy as np

        key = (id(each.documents), reach)
        known = self._seen.get(key)
        if known is None or known[0] is not each.documents:
            allowed = np.fromiter((_sees(reach, doc.collection, doc.path) for doc in each.documents), dtype=bool)
            if len(self._seen) >= _MASKS:
                self._seen.clear()
            known = (each.documents, allowed)
            self._seen[key] = known
        allowed = known[1]
        return each.alive if allowed.all() else each.alive & allowed[each.document]


def _sees(reach: Reach, collection: str, path: str) -> bool:
    return (
        collection in reach.collections
        and any(pattern == "**" or matches(pattern, path) for pattern in reach.include)
        and not any(matches(pattern, path) for pattern in reach.exclude)
    )
