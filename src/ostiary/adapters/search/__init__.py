"""Finding text by words and by meaning: an index of its own beside the store, derived from it and as well encrypted."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ostiary.adapters.search.embedders.embedded import Embedded
    from ostiary.adapters.search.index import SearchIndex, SearchOptions
    from ostiary.adapters.search.opening import open_search

# numpy's linear algebra would start a thread per core, which costs memory and is slower for products as small as ours.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__all__ = ["Embedded", "SearchIndex", "SearchOptions", "open_search"]

_PLACES = {
    "Embedded": "ostiary.adapters.search.embedders.embedded",
    "SearchIndex": "ostiary.adapters.search.index",
    "SearchOptions": "ostiary.adapters.search.index",
    "open_search": "ostiary.adapters.search.opening",
}


def __getattr__(name: str) -> Any:
    """Imported when asked for: a house that never searches pays nothing."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(name)
    return getattr(import_module(_PLACES[name]), name)
