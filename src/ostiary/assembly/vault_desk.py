"""The vault's documents as pages and sockets see them: one level at a time, text bounded, each change compare-and-swap."""

import glob
import hashlib
from collections.abc import Sequence
from math import inf, nextafter
from typing import Literal

import anyio.to_thread

from ostiary.adapters.tools.diffs import counts, unified
from ostiary.assembly.session_search import find_said
from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, Conflict, UnknownSession
from ostiary.contracts.identity import Principal
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Found, Passage, Reach, Search
from ostiary.contracts.store import (
    Audit,
    Documents,
    DocumentVersion,
    Move,
    Put,
    Restore,
    Store,
    Tombstone,
)
from ostiary.core.agent.bootstrap import BOOTSTRAP, MEMORY
from ostiary.core.documents.restoring import RestorePlan, plan_restore, plan_restore_before
from ostiary.gateway.media import media_type_of
from ostiary.gateway.protocol import vault as shape

Kind = Literal["text", "image", "binary", "big"]
Lines = list[shape.DocumentLine]

SESSIONS = "_sessions"
_PRIVATE = (BOOTSTRAP, MEMORY)
_SMALLEST_PAGE = 64
_LARGEST_PAGE = 1024
_MOST_LINES = 1000
_SHOWN_DIFF = 200_000
# Behind every path that begins with the same folder: no character comes after it.
_LAST = "\U0010ffff"


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultAtDesk:
    store: Store
    documents: Documents
    search_index: Search
    clock: Clock

    async def collections(self) -> shape.CollectionList:
        rows = [
            shape.CollectionLine(name=use.collection, documents=use.documents, bytes=use.bytes, stored_bytes=use.stored_bytes)
            for use in await self.documents.collections()
        ]
        return shape.CollectionList(collections=rows)

    async def list(self, asked: shape.ListDocuments) -> shape.DocumentList:
        at = asked.at or None
        if asked.folder is not None:
            return await self._level(asked, asked.folder.strip("/"), at)
        found = await self.documents.list(asked.collection, pattern=asked.pattern, at=at, limit=asked.limit, after=asked.after)
        after = found[-1].path if len(found) == asked.limit else ""
        return shape.DocumentList(documents=await self._lines(found), folders=[], after=after)

    async def get(self, asked: shape.GetDocument) -> shape.Document:
        newest = await self._newest(asked.collection, asked.path)
        number = asked.version or await self._number_at(asked.collection, asked.path, asked.at)
        found = await self.documents.get(asked.collection, asked.path, version=number)
        if newest is None or found is None or not found[0].digest:
            raise _missing(asked.collection, asked.path, number)
        version, content = found
        kind, text = _shown(content)
        (line,) = await self._lines([version])
        return shape.Document(
            document=line, kind=kind, text=text, newest=newest.version, living=bool(newest.digest) and not newest.erased
        )

    async def newest(self, collection: str, path: str) -> shape.DocumentLine | None:
        found = await self._newest(collection, path)
        return None if found is None else (await self._lines([found]))[0]

    async def put(self, asked: shape.PutDocument, by: Principal) -> shape.Written:
        _writable(asked.collection)
        content = asked.text.encode("utf-8", "surrogatepass")
        if len(content) > shape.MOST_TEXT:
            raise BadInput(f"The text has {len(content):,} bytes; here at most {shape.MOST_TEXT:,} are written")
        now = self.clock.now()
        newest = await self._newest(asked.collection, asked.path)
        same = newest is not None and newest.digest == hashlib.sha256(content).hexdigest() and newest.author == str(by.user)
        if newest is not None and same and newest.version == asked.version + 1:
            # The same act a second time, after an answer that was lost.
            return shape.Written(path=asked.path, version=newest.version, undo_at=nextafter(newest.at, -inf))
        write = Put(
            collection=asked.collection,
            path=asked.path,
            content=content,
            at=now,
            author=str(by.user),
            # Part of the prompt, or found by memory's search: private wherever it is read.
            label=Label(trust=Trust.OWNER, sources=(str(by.user),), private=asked.collection in _PRIVATE),
            expect_version=_expected(asked.version, newest),
        )
        version, _ = await self.store.commit([write, _audit("vault.written", asked.collection, asked.path, by, now)])
        return shape.Written(path=asked.path, version=version, undo_at=nextafter(now, -inf))

    async def history(self, asked: shape.OfDocument) -> shape.DocumentHistory:
        found = await self.documents.history(asked.collection, asked.path)
        if not found:
            raise _missing(asked.collection, asked.path, None)
        older = [each for each in reversed(found) if not asked.before or each.version < asked.before]
        return shape.DocumentHistory(versions=await self._lines(older[: asked.limit]), more=len(older) > asked.limit)

    async def diff(self, asked: shape.CompareVersions) -> shape.Difference:
        newest = await self._newest(asked.collection, asked.path)
        if newest is None:
            raise _missing(asked.collection, asked.path, None)
        after = asked.after or newest.version
        old = await self._content(asked.collection, asked.path, asked.before)
        new = await self._content(asked.collection, asked.path, after)
        text = await anyio.to_thread.run_sync(lambda: unified(old, new, asked.path, limit=_SHOWN_DIFF))
        added, removed = counts(old, new) if text else (0, 0)
        return shape.Difference(
            path=asked.path,
            before=asked.before,
            after=after,
            diff=text,
            added=added,
            removed=removed,
            note="" if text else "They are the same." if old == new else "Not text, or too long to compare.",
        )

    async def plan_restore(self, asked: shape.PreviewRestore) -> shape.Restored:
        plan = await self._plan(asked, self.clock.now(), "")
        return _restored(plan, undo_at=0.0)

    async def restore(self, asked: shape.RestoreDocuments, by: Principal) -> shape.Restored:
        _writable(asked.collection)
        now = self.clock.now()
        plan = await self._plan(asked, now, str(by.user))
        if _digest(plan) != asked.digest:
            raise Conflict("what would be restored has changed since it was shown", hint="Look at the preview again.")
        if plan.writes:
            subject = asked.path or "**"
            audit = _audit("vault.restored", asked.collection, subject, by, now, documents=len(plan.writes), turn=asked.turn)
            await self.store.commit([*plan.writes, audit])
        return _restored(plan, undo_at=nextafter(now, -inf))

    async def delete(self, asked: shape.DeleteDocument, by: Principal) -> shape.Written:
        await self._living(asked.collection, asked.path)
        now = self.clock.now()
        write = Tombstone(collection=asked.collection, path=asked.path, at=now, author=str(by.user), expect_version=asked.version)
        version, _ = await self.store.commit([write, _audit("vault.deleted", asked.collection, asked.path, by, now)])
        return shape.Written(path=asked.path, version=version, undo_at=nextafter(now, -inf))

    async def move(self, asked: shape.MoveDocument, by: Principal) -> shape.Written:
        await self._living(asked.collection, asked.path)
        now = self.clock.now()
        write = Move(
            collection=asked.collection,
            path=asked.path,
            to=asked.to,
            at=now,
            author=str(by.user),
            expect_version=asked.version,
        )
        audit = _audit("vault.moved", asked.collection, asked.path, by, now, to=asked.to)
        version, _ = await self.store.commit([write, audit])
        return shape.Written(path=asked.to, version=version, undo_at=nextafter(now, -inf))

    async def search(self, asked: shape.SearchVault) -> shape.Hits:
        named = asked.collections or [use.collection for use in await self.documents.collections()]
        reach = Reach(collections=tuple(name for name in named if name != SESSIONS), include=tuple(asked.include) or ("**",))
        return hits_of(await self.search_index.query(asked.text, reach=reach, limit=asked.limit))

    async def search_sessions(self, asked: shape.SearchSessions) -> shape.SessionHits:
        found = await self.search_index.query(asked.text, reach=Reach(collections=(SESSIONS,)), limit=asked.limit)
        hits = [await find_said(self.store, passage) for passage in found.passages]
        return shape.SessionHits(hits=[hit for hit in hits if hit is not None], notices=list(found.notices))

    async def _level(self, asked: shape.ListDocuments, folder: str, at: float | None) -> shape.DocumentList:
        """One folder's files and the names of its folders. A folder is stepped over whole, however much it holds."""
        start = f"{folder}/" if folder else ""
        pattern = f"{glob.escape(folder)}/**" if folder else "**"
        files: list[DocumentVersion] = []
        folders: list[str] = []
        after, size = asked.after, _SMALLEST_PAGE
        while len(files) + len(folders) < asked.limit:
            page = await self.documents.list(asked.collection, pattern=pattern, at=at, limit=size, after=after)
            for version in page:
                after = version.path
                name, is_below, _ = version.path.removeprefix(start).partition("/")
                if not is_below:
                    files.append(version)
                elif name not in folders[-1:]:
                    folders.append(name)
                if len(files) + len(folders) >= asked.limit:
                    break
            else:
                if len(page) < size:
                    after = ""
                    break
            size = min(size * 2, _LARGEST_PAGE)
            if folders and after.startswith(f"{start}{folders[-1]}/"):
                after, size = f"{start}{folders[-1]}/{_LAST}", _SMALLEST_PAGE
        return shape.DocumentList(documents=await self._lines(files), folders=folders, after=after)

    async def _plan(self, asked: shape.PreviewRestore | shape.RestoreDocuments, now: float, author: str) -> RestorePlan:
        if sum((asked.version > 0, asked.at > 0, bool(asked.turn))) != 1:
            raise BadInput("Say one of version, at and turn")
        if asked.version:
            return await self._one(asked, now, author)
        pattern = glob.escape(asked.path) if asked.path else "**"
        if asked.at:
            return await plan_restore(self.documents, asked.collection, asked.at, at=now, author=author, pattern=pattern)
        return await plan_restore_before(self.documents, asked.collection, asked.turn, at=now, author=author, pattern=pattern)

    async def _one(self, asked: shape.PreviewRestore | shape.RestoreDocuments, now: float, author: str) -> RestorePlan:
        history = await self.documents.history(asked.collection, asked.path) if asked.path else ()
        wanted = next((each for each in history if each.version == asked.version), None)
        if wanted is None or not wanted.digest or wanted.erased:
            raise _missing(asked.collection, asked.path, asked.version)
        newest = history[-1]
        if (newest.digest, newest.executable) == (wanted.digest, wanted.executable):
            return RestorePlan(left=(f"{asked.path} is as it was in version {asked.version}",))
        write = Restore(
            collection=asked.collection,
            path=asked.path,
            version=asked.version,
            at=now,
            author=author,
            expect_version=newest.version if newest.digest else 0,
        )
        return RestorePlan(writes=(write,), restored=(asked.path,))

    async def _living(self, collection: str, path: str) -> None:
        newest = await self._newest(collection, path)
        if newest is None or not newest.digest:
            raise _missing(collection, path, None)

    async def _newest(self, collection: str, path: str) -> DocumentVersion | None:
        history = await self.documents.history(collection, path)
        return history[-1] if history else None

    async def _number_at(self, collection: str, path: str, at: float) -> int | None:
        if not at:
            return None
        then = [each for each in await self.documents.history(collection, path) if each.at <= at]
        if not then:
            raise BadInput(f"{path[:200]} did not exist then")
        return then[-1].version

    async def _content(self, collection: str, path: str, version: int) -> bytes | None:
        """None where there was nothing, or nothing is left."""
        found = await self.documents.get(collection, path, version=version) if version else None
        return found[1] if found is not None and found[0].digest else None

    async def _lines(self, versions: Sequence[DocumentVersion]) -> Lines:
        sessions = {turn: await self.store.session_of(turn) for turn in {each.turn for each in versions} if turn}
        return [_line(each, str(sessions.get(each.turn) or "")) for each in versions]


def hits_of(found: Found) -> shape.Hits:
    return shape.Hits(hits=[_hit(each) for each in found.passages], mode=found.mode, notices=list(found.notices))


def _hit(passage: Passage) -> shape.Hit:
    return shape.Hit(
        collection=passage.collection,
        path=passage.path,
        version=passage.version,
        start=passage.start,
        end=passage.end,
        score=passage.score,
        snippet=passage.snippet,
        why=list(passage.why),
        at=passage.at,
        trust=str(passage.label.trust) if passage.label is not None else "",
        sources=list(passage.label.sources) if passage.label is not None else [],
    )


def _line(version: DocumentVersion, session: str) -> shape.DocumentLine:
    label = version.label
    return shape.DocumentLine(
        path=version.path,
        version=version.version,
        digest=version.digest,
        size=version.size,
        at=version.at,
        author=version.author,
        turn=version.turn,
        session=session,
        trust=str(label.trust) if label is not None else "",
        private=label is not None and label.private,
        sources=list(label.sources) if label is not None else [],
        executable=version.executable,
        erased=version.erased,
    )


def _shown(content: bytes) -> tuple[Kind, str | None]:
    kind = media_type_of(content[:4096]) if len(content) > shape.MOST_TEXT else media_type_of(content)
    if kind.startswith("image/"):
        return "image", None
    if len(content) > shape.MOST_TEXT:
        return "big", None
    return ("text", content.decode()) if kind == "text/plain" else ("binary", None)


def _restored(plan: RestorePlan, *, undo_at: float) -> shape.Restored:
    changes = [
        shape.RestoreLine(
            path=write.path,
            change="deleted" if isinstance(write, Tombstone) else "changed" if write.expect_version else "back",
            now=write.expect_version or 0,
            then=0 if isinstance(write, Tombstone) else write.version,
        )
        for write in plan.writes
    ]
    return shape.Restored(
        changes=changes[:_MOST_LINES], count=len(changes), left=list(plan.left), digest=_digest(plan), undo_at=undo_at
    )


def _digest(plan: RestorePlan) -> str:
    """Of what would be written, whoever does it and whenever."""
    told = hashlib.sha256()
    for write in plan.writes:
        then = 0 if isinstance(write, Tombstone) else write.version
        told.update(f"{write.path}\0{write.expect_version}\0{then}\n".encode("utf-8", "surrogatepass"))
    return told.hexdigest()


def _expected(version: int, newest: DocumentVersion | None) -> int:
    """A page that shows a deleted document writes a new one: 0, as if there had been none."""
    return 0 if newest is None or (not newest.digest and version in (0, newest.version)) else version


def _writable(collection: str) -> None:
    if collection == SESSIONS:
        raise BadInput("Conversations are no documents: they are only read")


def _audit(kind: str, collection: str, path: str, by: Principal, now: float, **detail: object) -> Audit:
    return Audit(at=now, kind=kind, actor=str(by.user), subject=f"{collection}/{path}", outcome="done", detail=detail)


def _missing(collection: str, path: str, version: int | None) -> UnknownSession:
    which = f"version {version} of " if version else ""
    return UnknownSession(f"there is no {which}{path[:200]} in {collection}")
