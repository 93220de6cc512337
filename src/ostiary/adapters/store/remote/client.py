"""The store as a client of the vault's process. While that is away every call says so; nothing is read or written elsewhere."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio

from ostiary.adapters.store.remote.calls import FORMAT, PATH, call_of
from ostiary.adapters.store.remote.faults import error_of
from ostiary.adapters.store.remote.link import CONNECTIONS, Broken, Link, place_of
from ostiary.adapters.store.remote.search import RemoteEmbedder, RemoteSearch
from ostiary.adapters.store.remote.shapes import pack, plain_writes, unpack
from ostiary.contracts.audit import AuditEntry, AuditHead
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import StoreRefused, StoreUnavailable
from ostiary.contracts.events import Recorded
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import (
    Audit,
    CollectionUse,
    DocumentVersion,
    InboxItem,
    Lease,
    OutboxItem,
    Pending,
    Restore,
    SessionRecord,
    Snapshot,
    Write,
)

IN_DOUBT_SECONDS = 30.0
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


class Caller:
    """Makes calls over the link. A call that changes nothing is simply made again when its connection broke."""

    def __init__(self, link: Link) -> None:
        self.link = link

    async def call(self, name: str, /, **given: object) -> Any:
        """Raises StoreUnavailable, Busy, and whatever the call raises at the vault."""
        body = pack(
            {"call": name, "with": {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}}
        )
        await self.link.take_room()
        try:
            given_back = await self._asked_again(body)
        finally:
            self.link.give_room()
        call = call_of(name)
        return given_back if call is None else _read(call.result, given_back)

    async def _asked_again(self, body: bytes) -> Any:
        # Each kept connection may have ended meanwhile; behind them a new one tells the truth.
        for _ in range(CONNECTIONS + 1):
            try:
                return answered(await self.link.exchange(body))
            except Broken:
                continue
        raise self.link.away()


def answered(body: bytes) -> Any:
    """What the vault gave. Raises what it raised."""
    try:
        answer = unpack(body)
    except ValueError as error:
        raise StoreRefused(f"the vault's answer cannot be read: {error}") from None
    if "error" in answer:
        raise error_of(answer)
    return answer["given"]


def _read(reader: Callable[[Any], Any], given: Any) -> Any:
    try:
        return reader(given)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        hint = "Run the same release on both sides."
        raise StoreRefused(f"the vault's answer does not fit this release: {error}", hint=hint) from None


class RemoteDocuments:
    """`contracts.store.Documents`."""

    def __init__(self, caller: Caller, commit: Callable[[Sequence[Write]], Any]) -> None:
        self._call = caller.call
        self._commit = commit

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None:
        found: tuple[DocumentVersion, bytes] | None = await self._call(
            "documents.get", collection=collection, path=path, version=version
        )
        return found

    async def list(
        self, collection: str, *, pattern: str = "**", at: float | None = None, limit: int = 0, after: str = ""
    ) -> tuple[DocumentVersion, ...]:
        found: tuple[DocumentVersion, ...] = await self._call(
            "documents.list", collection=collection, pattern=pattern, at=at, limit=limit, after=after
        )
        return found

    async def collections(self) -> tuple[CollectionUse, ...]:
        found: tuple[CollectionUse, ...] = await self._call("documents.collections")
        return found

    async def changes(self, after: int, *, limit: int = 1000) -> tuple[tuple[int, DocumentVersion], ...]:
        found: tuple[tuple[int, DocumentVersion], ...] = await self._call("documents.changes", after=after, limit=limit)
        return found

    async def history(self, collection: str, path: str) -> tuple[DocumentVersion, ...]:
        found: tuple[DocumentVersion, ...] = await self._call("documents.history", collection=collection, path=path)
        return found

    async def changed_by(self, turn: str) -> tuple[DocumentVersion, ...]:
        found: tuple[DocumentVersion, ...] = await self._call("documents.changed_by", turn=turn)
        return found

    async def restore(self, collection: str, path: str, version: int, *, at: float, author: str) -> DocumentVersion:
        write = Restore(collection=collection, path=path, version=version, at=at, author=author)
        (given,) = await self._commit([write])
        found = await self.get(collection, path, version=given)
        if found is None:
            raise StoreUnavailable(f"Version {given} of {path!r} was written and cannot be read")
        return found[0]


class RemoteAudit:
    """`contracts.audit.AuditLog`."""

    def __init__(self, caller: Caller, heads: tuple[AuditHead, ...]) -> None:
        self._call = caller.call
        self._heads = heads

    async def entries(
        self, *, after: int = 0, limit: int = 100, kind: str = "", turn: str = "", newest: bool = False
    ) -> tuple[AuditEntry, ...]:
        asked = {"after": after, "limit": limit, "kind": kind, "turn": turn, "newest": newest}
        found: tuple[AuditEntry, ...] = await self._call("audit.entries", **asked)
        return found

    async def head(self) -> AuditHead:
        head: AuditHead = await self._call("audit.head")
        return head

    async def verify(self) -> str:
        said: str = await self._call("audit.verify", heads=self._heads)
        return said


class RemoteStore:
    """`contracts.store.Store`, with the attributes of the embedded one."""

    def __init__(self, caller: Caller, clock: Clock) -> None:
        self._caller = caller
        self._call = caller.call
        self._clock = clock
        # Each commit holds a slot until its fate is known; the vault remembers the last commit of every slot.
        self._client = secrets.token_hex(8)
        self._slots = list(range(CONNECTIONS))
        self._numbers = [0] * CONNECTIONS
        self.documents = RemoteDocuments(caller, self.commit)
        self.on_audit: Callable[[int], None] | None = None
        """Told the seq of the newest audit entry after each commit that wrote one."""

    @property
    def connections(self) -> int:
        """None of this process."""
        return 0

    @property
    def is_down(self) -> bool:
        """Whether the vault was away when it was last asked."""
        return self._caller.link.is_down

    def audit(self, heads: tuple[AuditHead, ...] = ()) -> RemoteAudit:
        return RemoteAudit(self._caller, heads)

    async def commit(
        self, writes: Sequence[Write], *, fence: Lease | None = None, expect: Mapping[str, int] | None = None
    ) -> tuple[int, ...]:
        """A commit whose answer was lost is asked for again under its number until the vault tells what became of it, for up
        to half a minute."""
        sent = plain_writes(writes)
        await self._caller.link.take_room()
        slot = self._slots.pop()
        self._numbers[slot] += 1
        try:
            body = pack(
                {
                    "call": "commit",
                    "with": {
                        "slot": f"{self._client}:{slot}",
                        "number": self._numbers[slot],
                        "writes": sent,
                        "fence": fence,
                        "expect": dict(expect or {}),
                    },
                }
            )
            given = tuple(await self._certain(body))
        finally:
            self._slots.append(slot)
            self._caller.link.give_room()
        if self.on_audit is not None:
            newest = max((seq for write, seq in zip(writes, given, strict=True) if type(write) is Audit), default=0)
            if newest:
                self.on_audit(newest)
        return given

    async def _certain(self, body: bytes) -> list[int]:
        """In spite of a cancellation, which strikes at the caller's next wait. A bare `task.cancel()` passes every shield and
        tears the exchange; then it is made again, and the cancellation asked for again."""
        is_torn = False
        try:
            while True:
                try:
                    with anyio.CancelScope(shield=True):
                        return await self._settled(body, is_in_doubt=is_torn)
                except asyncio.CancelledError:
                    is_torn = True
        finally:
            task = asyncio.current_task()
            if is_torn and task is not None:
                task.cancel()

    async def _settled(self, body: bytes, *, is_in_doubt: bool) -> list[int]:
        """A request that never went out whole is given up at once: nothing was written. Any other is asked again until the
        vault tells what became of it."""
        until, pause = self._clock.monotonic() + IN_DOUBT_SECONDS, _FIRST_PAUSE
        while True:
            try:
                answer = await self._caller.link.exchange(body)
            except Broken as broken:
                is_in_doubt = is_in_doubt or broken.is_sent
                if self._clock.monotonic() >= until:
                    raise self._caller.link.away() from None
            except StoreUnavailable:
                if not is_in_doubt or self._clock.monotonic() >= until:
                    raise
            else:
                given: list[int] = answered(answer)
                return given
            await self._clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def claim(self, lane: str, *, owner: str, seconds: float) -> Lease:
        lease: Lease = await self._call("store.claim", lane=lane, owner=owner, seconds=seconds)
        return lease

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        renewed: Lease = await self._call("store.renew", lease=lease, seconds=seconds)
        return renewed

    async def release(self, lease: Lease) -> None:
        await self._call("store.release", lease=lease)

    async def pending(self) -> Pending:
        pending: Pending = await self._call("store.pending")
        return pending

    async def inbox_item(self, item: int) -> InboxItem | None:
        found: InboxItem | None = await self._call("store.inbox_item", item=item)
        return found

    async def read(self, session: SessionKey, *, after: int = 0, turn: str = "", limit: int = 0) -> tuple[Recorded, ...]:
        events: tuple[Recorded, ...] = await self._call("store.read", session=session, after=after, turn=turn, limit=limit)
        return events

    async def events_after(self, after: int, *, limit: int = 1000) -> tuple[tuple[int, Recorded], ...]:
        events: tuple[tuple[int, Recorded], ...] = await self._call("store.events_after", after=after, limit=limit)
        return events

    async def session_of(self, turn: str) -> SessionKey | None:
        key: SessionKey | None = await self._call("store.session_of", turn=turn)
        return key

    async def verify(self, session: SessionKey) -> str:
        said: str = await self._call("store.verify", session=session)
        return said

    async def snapshot(self, session: SessionKey) -> Snapshot | None:
        found: Snapshot | None = await self._call("store.snapshot", session=session)
        return found

    async def session(self, key: SessionKey) -> SessionRecord | None:
        found: SessionRecord | None = await self._call("store.session", key=key)
        return found

    async def sessions(self, *, limit: int = 200, prefix: str = "", include_ephemeral: bool = False) -> tuple[SessionRecord, ...]:
        found: tuple[SessionRecord, ...] = await self._call(
            "store.sessions", limit=limit, prefix=prefix, include_ephemeral=include_ephemeral
        )
        return found

    async def value(self, space: str, key: str) -> bytes | None:
        found: bytes | None = await self._call("store.value", space=space, key=key)
        return found

    async def values(self, space: str) -> Mapping[str, bytes]:
        found: Mapping[str, bytes] = await self._call("store.values", space=space)
        return found

    async def blob(self, digest: str) -> bytes | None:
        found: bytes | None = await self._call("store.blob", digest=digest)
        return found

    async def outbox_item(self, key: str) -> OutboxItem | None:
        found: OutboxItem | None = await self._call("store.outbox_item", key=key)
        return found

    async def sweep(self, now: float, **bounds: float) -> int:
        """`keep_keys` and `limit` as the embedded store takes them."""
        swept: int = await self._call("store.sweep", now=now, **bounds)
        return swept


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteVault:
    """`embedder` is None where the vault finds by words alone."""

    store: RemoteStore
    search: RemoteSearch
    embedder: RemoteEmbedder | None


@asynccontextmanager
async def open_remote_vault(
    url: str, token: Callable[[], str], *, clock: Clock, patience: float = 0.0
) -> AsyncIterator[RemoteVault]:
    """Waits up to `patience` seconds for the vault to be there. Raises StoreUnavailable, StoreRefused (another token, no
    vault, another format), BadInput for the address."""
    link = Link(place_of(url), token, PATH, clock.monotonic)
    caller = Caller(link)
    try:
        hello = await _hello(caller, clock, patience)
        if hello.get("format") != FORMAT:
            raise StoreRefused(
                f"the vault at {url} speaks format {hello.get('format')}, this release {FORMAT}",
                hint="Run the same release on both sides.",
            )
        known = hello.get("embedder")
        embedder = None if known is None else RemoteEmbedder(caller, str(known["name"]), int(known["dimensions"]))
        yield RemoteVault(store=RemoteStore(caller, clock), search=RemoteSearch(caller), embedder=embedder)
    finally:
        link.close()


async def _hello(caller: Caller, clock: Clock, patience: float) -> Any:
    until = clock.monotonic() + patience
    while True:
        try:
            return await caller.call("hello")
        except StoreUnavailable:
            if clock.monotonic() >= until:
                raise
            await clock.sleep(_LONGEST_PAUSE)
