"""What turns did to files, as pages and sockets see it: secrets taken out, differences bounded."""

from collections.abc import Callable

import anyio.to_thread

from ostiary.adapters.tools.diffs import counts, unified
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion
from ostiary.core.routing.change_commands import Changes
from ostiary.core.sessions.undo import Place, Undo, spans
from ostiary.gateway.protocol.changes import FileChange, TurnChanges

MOST_FILES = 200
_SHOWN = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesAtDesk:
    changes: Changes
    documents: Documents
    redact: Callable[[str], str]

    async def of_turn(self, turn: str) -> TurnChanges | None:
        """At most 200 files. Raises StoreError."""
        changed = await self.documents.changed_by(turn)
        if not changed:
            return None
        files = [await self._file(place, first, last) for place, (first, last) in list(spans(changed).items())[:MOST_FILES]]
        return TurnChanges(turn=turn, at=changed[0].at, files=files)

    async def undo(self, turn: str, *, by: Principal) -> Undo:
        return await self.changes.undo(turn, by=by)

    async def last_change(self, session: SessionKey) -> str:
        return await self.changes.last_change(session)

    async def trust(self, session: SessionKey, *, by: Principal, reason: str) -> None:
        await self.changes.trust(session, by=by, reason=reason)

    async def _file(self, place: Place, first: int, last: int) -> FileChange:
        collection, path = place
        history = await self.documents.history(collection, path)
        before, old = await self._at(collection, path, first - 1)
        after, new = await self._at(collection, path, last)
        diff = self.redact(await anyio.to_thread.run_sync(lambda: unified(old, new, path, limit=_SHOWN)))
        added, removed = counts(old, new) if diff else (0, 0)
        return FileChange(
            path=path,
            collection=collection,
            change="deleted" if new is None else "added" if old is None else "changed",
            before=first - 1 if before is not None and old is not None else 0,
            after=last,
            size=after.size if after is not None else 0,
            added=added,
            removed=removed,
            diff=diff,
            note="" if diff else "the same as before" if old == new else "not text, or too long to compare",
            current=bool(history) and history[-1].version == last,
            undone=bool(history) and history[-1].version > last and history[-1].digest == (before.digest if before else ""),
        )

    async def _at(self, collection: str, path: str, version: int) -> tuple[DocumentVersion | None, bytes | None]:
        """None as content: it did not exist then."""
        found = await self.documents.get(collection, path, version=version) if version > 0 else None
        if found is None:
            return None, None
        return found[0], found[1] if found[0].digest else None
