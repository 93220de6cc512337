"""The vault: collections of versioned documents, read, changed, compared, brought back and searched."""

from typing import Annotated, Literal

from msgspec import Meta

from ostiary.gateway.protocol.shape import Effect, Params, Payload

Collection = Annotated[str, Meta(pattern="^[a-z0-9_][a-z0-9_-]{0,63}$", description="Such as _workspace, _memory or notes.")]
Path = Annotated[str, Meta(min_length=1, max_length=1024)]
Folder = Annotated[str, Meta(max_length=1024)]
Version = Annotated[int, Meta(ge=0, le=10**15)]
Moment = Annotated[float, Meta(ge=0, le=10**11, description="UTC seconds.")]
Glob = Annotated[str, Meta(min_length=1, max_length=1024)]

MOST_TEXT = 512 * 1024


class CollectionLine(Payload):
    """Living documents and their bytes; `storedBytes` with every version, each content once."""

    name: str
    documents: int
    bytes: int
    stored_bytes: int


class CollectionList(Payload):
    collections: list[CollectionLine]


class ListDocuments(Params):
    """`folder` lists one level; without it, everything that matches `pattern`. `at` (0 now) lists what was there then.

    `after` is the `after` of the answer before."""

    collection: Collection
    folder: Folder | None = None
    pattern: Glob = "**"
    at: Moment = 0.0
    limit: Annotated[int, Meta(ge=1, le=2000)] = 500
    after: Annotated[str, Meta(max_length=1100)] = ""


class DocumentLine(Payload):
    """One version of a document. `digest` is empty where it says "deleted", `trust` where nobody vouched for it, `turn` and
    `session` where a person wrote it."""

    path: str
    version: int
    digest: str
    size: int
    at: float
    author: str
    turn: str
    session: str
    trust: str
    private: bool
    sources: list[str]
    executable: bool
    erased: bool


class DocumentList(Payload):
    """In path order. `folders` are names of the level below. `after` is empty when nothing follows."""

    documents: list[DocumentLine]
    folders: list[str]
    after: str


class GetDocument(Params):
    """The newest version, the version `version`, or the one of the moment `at`."""

    collection: Collection
    path: Path
    version: Version = 0
    at: Moment = 0.0


class Document(Payload):
    """`text` is there for text of at most 512 KB. Pictures and everything else are read by HTTP, as
    `/v1/vault/raw/<collection>/<path>?version=<version>`.

    `newest` is the number of the newest version, `living` whether that is one with content."""

    document: DocumentLine
    kind: Literal["text", "image", "binary", "big"]
    text: str | None
    newest: int
    living: bool


class PutDocument(Effect):
    """`version` is the one it was made from, 0 for a new document: if another is there now, it is CONFLICT and nothing is
    written."""

    collection: Collection
    path: Path
    text: Annotated[str, Meta(max_length=MOST_TEXT)]
    version: Version


class Written(Payload):
    """`undoAt` is the moment before: `vault.restore` to it takes this back."""

    path: str
    version: int
    undo_at: float


class OfDocument(Params):
    """`before` (0: the newest) pages back through the versions."""

    collection: Collection
    path: Path
    before: Version = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class DocumentHistory(Payload):
    """The newest first, tombstones included. `more`: older ones follow."""

    versions: list[DocumentLine]
    more: bool


class CompareVersions(Params):
    """`before` 0 is nothing at all, `after` 0 the newest."""

    collection: Collection
    path: Path
    before: Version
    after: Version = 0


class Difference(Payload):
    """`diff` is a unified one, or empty: `note` says why."""

    path: str
    before: int
    after: int
    diff: str
    added: int
    removed: int
    note: str


class PreviewRestore(Params):
    """Exactly one of `version` (with `path`), `at` and `turn` (to just before it). Without `path` the whole collection goes
    back."""

    collection: Collection
    path: Folder = ""
    version: Version = 0
    at: Moment = 0.0
    turn: Annotated[str, Meta(max_length=128)] = ""


class RestoreDocuments(Effect):
    """As in the preview; `digest` is the preview's. If it would be something else by now, it is CONFLICT."""

    collection: Collection
    digest: Annotated[str, Meta(min_length=1, max_length=64)]
    path: Folder = ""
    version: Version = 0
    at: Moment = 0.0
    turn: Annotated[str, Meta(max_length=128)] = ""


class RestoreLine(Payload):
    """Version `now` (0: there is none) becomes what `then` was (0: it goes)."""

    path: str
    change: Literal["back", "changed", "deleted"]
    now: int
    then: int


class Restored(Payload):
    """What changed, or would. At most 1,000 `changes` are listed, `count` is how many there are. `left` says what stays as it
    is, and why. `undoAt` is the moment before it, 0 in a preview."""

    changes: list[RestoreLine]
    count: int
    left: list[str]
    digest: str
    undo_at: float


class DeleteDocument(Effect):
    """Its versions stay and can be restored. `version` as in `vault.put`."""

    collection: Collection
    path: Path
    version: Version


class MoveDocument(Effect):
    collection: Collection
    path: Path
    to: Path
    version: Version


class SearchVault(Params):
    """Without `collections` everywhere but in conversations; those are searched by `sessions.search`."""

    text: Annotated[str, Meta(min_length=1, max_length=2000)]
    collections: Annotated[list[Collection], Meta(max_length=100)] = []  # noqa: RUF012 - msgspec copies it
    include: Annotated[list[Glob], Meta(max_length=20)] = []  # noqa: RUF012
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class Hit(Payload):
    """Lines `start` to `end` of a document. `why` says in words what matched; `score` lies in 0..1."""

    collection: str
    path: str
    version: int
    start: int
    end: int
    score: float
    snippet: str
    why: list[str]
    at: float
    trust: str
    sources: list[str]


class Hits(Payload):
    """Best first. `notices` are sentences for people."""

    hits: list[Hit]
    mode: str
    notices: list[str]


class SearchSessions(Params):
    text: Annotated[str, Meta(min_length=1, max_length=2000)]
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class SessionHit(Payload):
    """`turn` is empty where it cannot be told any more."""

    key: str
    title: str
    turn: str
    at: float
    snippet: str
    why: list[str]
    score: float


class SessionHits(Payload):
    hits: list[SessionHit]
    notices: list[str]
