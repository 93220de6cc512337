"""The port to finding text by words and by meaning."""

from collections.abc import Sequence
from typing import Literal, Protocol

from ostiary.contracts.content import Label
from ostiary.contracts.records import dataclass

Mode = Literal["hybrid", "words", "meaning"]
EmbedKind = Literal["query", "passage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a query may see: nothing else enters its ranking. Globs as in `Documents.list`; `exclude` wins.

    No collection means nothing is seen."""

    collections: tuple[str, ...]
    include: tuple[str, ...] = ("**",)
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Whole lines `start` to `end` (1-based, both included) of a document version, at most 1,600 characters in `text`.

    `snippet` (at most 700) is the best part of it. `score` lies in 0..1. `why` says in words what matched."""

    collection: str
    path: str
    version: int
    start: int
    end: int
    score: float
    text: str
    snippet: str
    why: tuple[str, ...]
    at: float
    label: Label | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Best first. `notices` are sentences for people: a failed embedder, an index still being built."""

    passages: tuple[Passage, ...]
    mode: Mode
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """`waiting` documents have changed and are not indexed yet. `rebuilding` is 0..1 while a new index is made, else None."""

    documents: int
    chunks: int
    waiting: int
    embedder: str
    rebuilding: float | None = None
    problem: str = ""


class Search(Protocol):
    """Committed text is found: a query first takes in what changed, for a bounded time, and says so if some is left.

    Raises BadInput (empty or overlong query), StoreError."""

    async def query(self, text: str, *, reach: Reach, limit: int = 6) -> Found: ...

    async def status(self) -> IndexStatus: ...

    async def forget(self, collection: str, path: str) -> None:
        """Drop everything indexed of the path and index it again from what is stored now."""
        ...


class Index(Search, Protocol):
    """A search that keeps itself up to date while `run` runs, here or in another process."""

    async def run(self) -> None:
        """Until cancelled."""
        ...

    async def ask_reindex(self) -> None:
        """Begin a new index, without waiting; the old one answers until it is whole. Raises StoreError."""
        ...


class Embedder(Protocol):
    """Raises EmbedderUnavailable (after its own retries and limits) and nothing else.

    `name` identifies the vectors: another name means another index. Vectors are little-endian float32, of length 1."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]: ...
