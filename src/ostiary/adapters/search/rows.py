"""A document of the index, as the database keeps it and as results name it."""

from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A document as the database keeps it. `vectors` is None until it has been embedded."""

    id: int
    collection: str
    path: str
    version: int
    at: float
    label: bytes | None
    places: bytes
    sizes: bytes
    terms: bytes
    counts: bytes
    vectors: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a result needs to say about its document."""

    id: int
    collection: str
    path: str
    version: int
    at: float
    label: bytes | None
