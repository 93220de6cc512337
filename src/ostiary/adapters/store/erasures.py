"""Notes for whoever holds copies of what the store erased: written with the erasure, taken away when the copies are gone too.

So an erased text leaves the search index even if the process ends between the two.
"""

import secrets
from collections.abc import Mapping

from ostiary.contracts.store import DeleteValue

SPACE = "search.erased"
SESSIONS = "_sessions"


def note(collection: str, path: str) -> tuple[str, bytes]:
    """Key and value of a new note. For `_sessions` the path is a session's key."""
    return secrets.token_hex(12), f"{collection}\0{path}".encode("utf-8", "surrogatepass")


def noted(values: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    """Collection and path of each, once."""
    found: dict[tuple[str, str], None] = {}
    for value in values.values():
        collection, _, path = value.decode("utf-8", "surrogatepass").partition("\0")
        found[collection, path] = None
    return tuple(found)


def settled(values: Mapping[str, bytes]) -> list[DeleteValue]:
    """These notes and no later one about the same path."""
    return [DeleteValue(space=SPACE, key=key) for key in values]
