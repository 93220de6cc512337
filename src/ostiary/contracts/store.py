"""The port to durable state. `Store.commit` is the one way to write.

Plain data in, plain data out: no cursor, callback or open transaction crosses this contract. A unit is written whole or
not at all, durably, before `commit` returns. Readers never block and see only committed units.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from ostiary.contracts.content import Label, Message
from ostiary.contracts.events import Event, Recorded
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address, InboundMessage, OutboundMessage
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.records import dataclass

InboxState = Literal["waiting", "claimed", "dropped", "done"]
OutboxState = Literal["pending", "sending", "sent", "failed", "cancelled"]
TurnState = Literal["running", "waiting", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """An accepted message. `ready_at` is the debounce deadline (UTC). `id` is 0 until the store gives one.

    `mode` is the queue mode decided at intake; `extras` carries what a stateless or tool-bringing caller sent along.
    """

    message: InboundMessage
    session: SessionKey
    principal: Principal
    reply_to: Address
    lane: str
    mode: str
    accepted_at: float
    ready_at: float
    id: int = 0
    state: InboxState = "waiting"
    turn: str = ""
    instructions: str = ""
    context: tuple[Message, ...] = ()
    client_tools: tuple[ToolSchema, ...] = ()
    untrusted_source: str = ""
    directives: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxItem:
    """A reply, rendered and chunked. `message.key` is unique for ever. `place` orders the chunks of one address."""

    message: OutboundMessage
    session: str
    turn: str
    state: OutboxState = "pending"
    attempts: int = 0
    next_at: float = 0.0
    error: str = ""
    receipt: str = ""
    place: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A line in the list of sessions. `origin` is where it was first spoken to from."""

    key: SessionKey
    created_at: float
    updated_at: float
    title: str = ""
    origin: Address | None = None
    last_seq: int = 0
    ephemeral: bool = False
    parent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentVersion:
    """`version` counts from 1. `digest` is empty for a tombstone. An `erased` version is known by its digest alone."""

    collection: str
    path: str
    version: int
    digest: str
    size: int
    at: float
    author: str
    turn: str = ""
    label: Label | None = None
    executable: bool = False
    erased: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionUse:
    """What one collection holds: living documents and their bytes, and the bytes of all versions, each content once."""

    collection: str
    documents: int
    bytes: int
    stored_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """Insert into the inbox. Raises AlreadyAccepted if (channel, account, chat, thread, message id) is known.

    Gives the row's id."""

    item: InboxItem


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkInbox:
    """A row that is `done` gives up its payload and keeps its key. `ready_at` moves a debounce deadline.

    Raises Conflict for a row that is not there or is done already."""

    ids: tuple[int, ...]
    state: InboxState | None = None
    turn: str | None = None
    ready_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Append to a session's journal. Gives the event's seq."""

    session: SessionKey
    turn: str
    at: float
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkTurn:
    """Upsert. Open turns are found by this after a crash. `deadline` (UTC, 0 none) is when a waiting turn gives up."""

    turn: str
    session: SessionKey
    lane: str
    state: TurnState
    deadline: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueue:
    """Insert into the outbox; a key that is already there changes nothing (the reply was queued before)."""

    item: OutboxItem


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkOutbox:
    key: str
    state: OutboxState
    attempts: int
    next_at: float = 0.0
    error: str = ""
    receipt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveSession:
    record: SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSession:
    """Journal, payloads, snapshots and record are gone. Raises Conflict while a turn of it is open."""

    key: SessionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasePayload:
    """The payload of one event is gone for ever; envelope and digest stay. Delivered replies of its turn lose their words."""

    session: SessionKey
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetValue:
    """`expires_at` (UTC, 0 never): an expired value reads as absent and is swept later."""

    space: str
    key: str
    value: bytes
    expires_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteValue:
    space: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBlob:
    """Content-addressed: writing the same bytes twice stores them once. `digest` must be their SHA-256 in hex."""

    digest: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseBlob:
    """The bytes are gone for ever, unless a document version holds the same. Gives how many blobs went."""

    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A new version. `expect_version` (0: must not exist) makes it compare-and-swap; Conflict otherwise. Gives the version.

    `executable` None keeps what the version before it was. Raises QuotaExceeded, BadInput (path, size)."""

    collection: str
    path: str
    content: bytes
    at: float
    author: str
    turn: str = ""
    label: Label | None = None
    expect_version: int | None = None
    executable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extend:
    """A new version: the newest content with `content` behind it (alone if there is none). Nobody's text is lost, whoever
    writes at the same time. Its label joins that of the version before. Gives the version."""

    collection: str
    path: str
    content: bytes
    at: float
    author: str
    turn: str = ""
    label: Label | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The content goes on under `to` (its version 1, or after what was deleted there); `path` gets a tombstone.

    Raises Conflict if something lives at `to`, BadInput if nothing lives at `path`. Gives the new version at `to`."""

    collection: str
    path: str
    to: str
    at: float
    author: str
    turn: str = ""
    expect_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """An older version's content, label and mode as a new version. Raises BadInput if it is not there, a tombstone or
    erased; Conflict. Gives the new version."""

    collection: str
    path: str
    version: int
    at: float
    author: str
    turn: str = ""
    expect_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseVersions:
    """The content of these versions is gone for ever (of every version if `versions` is empty); their digests stay.

    Content that a living or kept version elsewhere shares stays there. Gives how many were erased."""

    collection: str
    path: str
    versions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """A version that says "deleted"; earlier ones stay and can be restored. Gives the version."""

    collection: str
    path: str
    at: float
    author: str
    turn: str = ""
    expect_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """An entry of the audit log (contracts.audit), in the unit of what it tells about. `detail` is plain data without
    secrets. Gives its seq."""

    at: float
    kind: str
    actor: str
    subject: str
    outcome: str
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveSnapshot:
    """A cached fold up to `seq`; throwing it away loses nothing. `schema` names the fold's own version."""

    session: SessionKey
    seq: int
    schema: str
    state: bytes


Write = (
    Accept
    | MarkInbox
    | Append
    | MarkTurn
    | Enqueue
    | MarkOutbox
    | SaveSession
    | DeleteSession
    | ErasePayload
    | SetValue
    | DeleteValue
    | PutBlob
    | EraseBlob
    | Put
    | Extend
    | Move
    | Restore
    | EraseVersions
    | Tombstone
    | Audit
    | SaveSnapshot
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write a lane of work. Every commit carries its token; an older token is refused (StaleLease)."""

    lane: str
    token: int
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    turn: str
    session: SessionKey
    lane: str
    state: TurnState
    deadline: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Everything that was under way, in the order it was accepted: what a restart takes up again."""

    inbox: tuple[InboxItem, ...]
    turns: tuple[OpenTurn, ...]
    outbox: tuple[OutboxItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    seq: int
    schema: str
    state: bytes


class Store(Protocol):
    """One bot's durable state. Raises StoreError; after StoreUnavailable nothing of the unit was written.

    One exception: a store in another process that went away in the middle of a commit and stayed away. Whether that unit was
    written is seen by reading again; it is never written twice."""

    async def commit(
        self, writes: Sequence[Write], *, fence: Lease | None = None, expect: Mapping[str, int] | None = None
    ) -> tuple[int, ...]:
        """Write all or nothing. One number per write: the id, seq or version it gave, else 0.

        `expect` maps a session key to the seq its journal must end with (Conflict otherwise).

        A cancellation that comes while it is under way does not tear it: it finishes and returns or raises as if there were
        none, so the caller always learns what was written, and the cancellation strikes at the caller's next wait. A caller
        cancelled while still waiting for room has written nothing."""
        ...

    async def claim(self, lane: str, *, owner: str, seconds: float) -> Lease:
        """Take the lane if it is free, expired or already the owner's. Raises Conflict naming the holder."""
        ...

    async def renew(self, lease: Lease, *, seconds: float) -> Lease: ...

    async def release(self, lease: Lease) -> None: ...

    async def pending(self) -> Pending: ...

    async def inbox_item(self, item: int) -> InboxItem | None:
        """Also done rows (their message text is empty then); `turn` tells what became of them."""
        ...

    async def read(self, session: SessionKey, *, after: int = 0, turn: str = "", limit: int = 0) -> tuple[Recorded, ...]:
        """The journal in order; `turn` keeps one turn's events; `limit` 0 is everything."""
        ...

    async def events_after(self, after: int, *, limit: int = 1000) -> tuple[tuple[int, Recorded], ...]:
        """Events of all sessions in the order they were committed, each with its place; places only grow."""
        ...

    async def session_of(self, turn: str) -> SessionKey | None:
        """The session a turn belongs to."""
        ...

    async def verify(self, session: SessionKey) -> str:
        """Check the session's hash chain. Empty if it holds, else one sentence naming the first broken seq."""
        ...

    async def snapshot(self, session: SessionKey) -> Snapshot | None: ...

    async def session(self, key: SessionKey) -> SessionRecord | None: ...

    async def sessions(self, *, limit: int = 200, prefix: str = "", include_ephemeral: bool = False) -> tuple[SessionRecord, ...]:
        """Most recently used first."""
        ...

    async def value(self, space: str, key: str) -> bytes | None: ...

    async def values(self, space: str) -> Mapping[str, bytes]: ...

    async def blob(self, digest: str) -> bytes | None:
        """What `PutBlob` wrote. None for bytes that only documents hold: those are read at their place."""
        ...

    async def outbox_item(self, key: str) -> OutboxItem | None: ...

    async def sweep(self, now: float) -> int:
        """Remove what has expired (old keys of finished messages, values), a bounded amount per call; gives how many rows."""
        ...


class Documents(Protocol):
    """Reading versioned documents; they are written through `Store.commit` (Put, Extend, Move, Restore, Tombstone)."""

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None:
        """None if there is none, it was erased, or the newest version is a tombstone and no version was named."""
        ...

    async def list(
        self, collection: str, *, pattern: str = "**", at: float | None = None, limit: int = 0, after: str = ""
    ) -> tuple[DocumentVersion, ...]:
        """Newest living versions whose path matches the glob (`**` crosses folders), in path order; `at` (UTC) lists them as
        they were at that moment. `limit` (0 all) and `after` (a path) page through them."""
        ...

    async def collections(self) -> tuple[CollectionUse, ...]: ...

    async def changes(self, after: int, *, limit: int = 1000) -> tuple[tuple[int, DocumentVersion], ...]:
        """Versions of all collections in the order they were committed, each with its place; places only grow."""
        ...

    async def history(self, collection: str, path: str) -> tuple[DocumentVersion, ...]:
        """Oldest first, tombstones included."""
        ...

    async def changed_by(self, turn: str) -> tuple[DocumentVersion, ...]:
        """Every version that this turn wrote, oldest first, tombstones included."""
        ...

    async def restore(self, collection: str, path: str, version: int, *, at: float, author: str) -> DocumentVersion:
        """Write an older version's content as a new version. Raises BadInput if there is no such version."""
        ...
