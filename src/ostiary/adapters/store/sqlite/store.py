"""The store and its read-only sibling: contracts on one side, threads with connections on the other."""

from collections.abc import Callable, Mapping, Sequence

import anyio

from ostiary.adapters.store.limits import StoreLimits
from ostiary.adapters.store.sqlite import blobs, document_reads, leases, reads, units
from ostiary.adapters.store.sqlite.audit import SqliteAudit
from ostiary.adapters.store.sqlite.blobs import Content
from ostiary.adapters.store.sqlite.once import once
from ostiary.adapters.store.sqlite.threads import Threads
from ostiary.adapters.store.sqlite.writer import Unit
from ostiary.contracts.audit import AuditHead
from ostiary.contracts.errors import StoreUnavailable
from ostiary.contracts.events import Recorded
from ostiary.contracts.identity import SessionKey
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

_KEEP_KEYS = 30 * 86400.0


class ReadDocuments:
    """The reading half of `contracts.store.Documents`."""

    def __init__(self, reading: Threads) -> None:
        self._reading = reading

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None:
        return await self._reading.run(lambda c: document_reads.get(c, collection, path, version))

    async def list(
        self, collection: str, *, pattern: str = "**", at: float | None = None, limit: int = 0, after: str = ""
    ) -> tuple[DocumentVersion, ...]:
        return await self._reading.run(lambda c: document_reads.listing(c, collection, pattern, at, limit, after))

    async def collections(self) -> tuple[CollectionUse, ...]:
        return await self._reading.run(document_reads.collections)

    async def changes(self, after: int, *, limit: int = 1000) -> tuple[tuple[int, DocumentVersion], ...]:
        return await self._reading.run(lambda c: document_reads.changes(c, after, limit))

    async def history(self, collection: str, path: str) -> tuple[DocumentVersion, ...]:
        return await self._reading.run(lambda c: document_reads.history(c, collection, path))

    async def changed_by(self, turn: str) -> tuple[DocumentVersion, ...]:
        return await self._reading.run(lambda c: document_reads.changed_by(c, turn))


class SqliteDocuments(ReadDocuments):
    """`contracts.store.Documents`."""

    def __init__(self, reading: Threads, writing: Threads) -> None:
        super().__init__(reading)
        self._writing = writing

    async def restore(self, collection: str, path: str, version: int, *, at: float, author: str) -> DocumentVersion:
        unit, _ = units.plan([Restore(collection=collection, path=path, version=version, at=at, author=author)])
        (given,) = await self._writing.run(unit, certain=True)
        restored = await self._reading.run(lambda c: document_reads.version_of(c, collection, path, given))
        if restored is None:
            raise StoreUnavailable(f"Version {given} of {path!r} was written and cannot be read")
        return restored


class SqliteReader:
    """The reading half of `contracts.store.Store`, safe beside a gateway that writes in another process."""

    def __init__(self, reading: Threads, now: Callable[[], float]) -> None:
        self._reading = reading
        self._now = now
        self.documents = ReadDocuments(reading)

    def audit(self, heads: tuple[AuditHead, ...] = ()) -> SqliteAudit:
        """The audit log, held against where it stood at earlier moments (`heads`) when it is verified."""
        return SqliteAudit(self._reading, heads)

    async def pending(self) -> Pending:
        return await self._reading.run(reads.pending)

    async def inbox_item(self, item: int) -> InboxItem | None:
        return await self._reading.run(lambda c: reads.inbox_item(c, item))

    async def read(self, session: SessionKey, *, after: int = 0, turn: str = "", limit: int = 0) -> tuple[Recorded, ...]:
        return await self._reading.run(lambda c: reads.journal(c, str(session), after, turn, limit))

    async def events_after(self, after: int, *, limit: int = 1000) -> tuple[tuple[int, Recorded], ...]:
        return await self._reading.run(lambda c: reads.events_after(c, after, limit))

    async def session_of(self, turn: str) -> SessionKey | None:
        return await self._reading.run(lambda c: reads.session_of(c, turn))

    async def verify(self, session: SessionKey) -> str:
        return await self._reading.run(lambda c: reads.verify(c, str(session)))

    async def snapshot(self, session: SessionKey) -> Snapshot | None:
        return await self._reading.run(lambda c: reads.snapshot(c, str(session)))

    async def session(self, key: SessionKey) -> SessionRecord | None:
        return await self._reading.run(lambda c: reads.session_record(c, str(key)))

    async def sessions(self, *, limit: int = 200, prefix: str = "", include_ephemeral: bool = False) -> tuple[SessionRecord, ...]:
        return await self._reading.run(lambda c: reads.session_records(c, limit, prefix, include_ephemeral))

    async def value(self, space: str, key: str) -> bytes | None:
        now = self._now()
        return await self._reading.run(lambda c: reads.value(c, space, key, now))

    async def values(self, space: str) -> Mapping[str, bytes]:
        now = self._now()
        return await self._reading.run(lambda c: reads.values(c, space, now))

    async def blob(self, digest: str) -> bytes | None:
        return await self._reading.run(lambda c: blobs.read_pinned(c, digest))

    async def outbox_item(self, key: str) -> OutboxItem | None:
        return await self._reading.run(lambda c: reads.outbox_item(c, key))


class SqliteStore(SqliteReader):
    """`contracts.store.Store`. A write that was given to the writer is always answered, even if its caller is cancelled."""

    documents: SqliteDocuments

    def __init__(self, reading: Threads, writing: Threads, now: Callable[[], float], limits: StoreLimits) -> None:
        super().__init__(reading, now)
        self._writing = writing
        self._limits = limits
        self.documents = SqliteDocuments(reading, writing)
        self.on_audit: Callable[[int], None] | None = None
        """Told the seq of the newest audit entry after each commit that wrote one."""

    @property
    def connections(self) -> int:
        """How many connections, and so threads, are open right now; none after a while without work."""
        return self._reading.alive + self._writing.alive

    async def commit(
        self, writes: Sequence[Write], *, fence: Lease | None = None, expect: Mapping[str, int] | None = None
    ) -> tuple[int, ...]:
        unit, weight = await self._planned(writes, fence, expect)
        given: tuple[int, ...] = await self._writing.run(unit, weight, certain=True)
        if self.on_audit is not None and Audit in map(type, writes):
            self.on_audit(max(seq for write, seq in zip(writes, given, strict=True) if type(write) is Audit))
        return given

    async def commit_once(
        self,
        writes: Sequence[Write],
        *,
        slot: str,
        number: int,
        fence: Lease | None = None,
        expect: Mapping[str, int] | None = None,
    ) -> tuple[int, ...]:
        """As `commit`; asked again with the same slot and number it writes nothing and gives what it gave (see `once`)."""
        unit, weight = await self._planned(writes, fence, expect)
        kept = once(unit, slot=slot, number=number, now=self._now())
        given: tuple[int, ...] = await self._writing.run(kept, weight, certain=True)
        return given

    async def _planned(self, writes: Sequence[Write], fence: Lease | None, expect: Mapping[str, int] | None) -> tuple[Unit, int]:
        planned = units.plan(writes, fence, expect, limits=self._limits)
        large = units.large_contents(writes)
        if not large:
            return planned
        prepared = await self._written_ahead(large)
        return units.plan(writes, fence, expect, limits=self._limits, prepared=prepared)

    async def _written_ahead(self, large: Mapping[int, bytes]) -> dict[int, Content]:
        """Large contents go to the disk in small steps between other commits; the unit itself then only names them."""
        prepared = {}
        for place, content in large.items():
            prepared[place] = await anyio.to_thread.run_sync(blobs.measured, content)
            for unit, weight in blobs.staging(prepared[place], self._limits, self._now()):
                await self._writing.run(unit, weight)
        return prepared

    async def claim(self, lane: str, *, owner: str, seconds: float) -> Lease:
        unit = leases.claim(lane, owner=owner, now=self._now(), seconds=seconds)
        lease: Lease = await self._writing.run(unit, certain=True)
        return lease

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """Raises StaleLease if it was released or somebody took it."""
        renewed: Lease = await self._writing.run(leases.renew(lease, now=self._now(), seconds=seconds), certain=True)
        return renewed

    async def release(self, lease: Lease) -> None:
        await self._writing.run(leases.release(lease), certain=True)

    async def sweep(self, now: float, *, keep_keys: float = _KEEP_KEYS, limit: int = 500) -> int:
        """Forget expired values and the keys of messages finished longer than `keep_keys` seconds ago.

        Looks at `limit` rows of each at most and gives how many went: call it now and then, again at once if it gave many."""
        swept: int = await self._writing.run(units.sweep(now=now, keep_keys=keep_keys, limit=limit), certain=True)
        return swept
