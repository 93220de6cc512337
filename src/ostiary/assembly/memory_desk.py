"""What is remembered, as pages and sockets see it: entry by entry, each with the version that brought it."""

import hashlib
import re
from collections.abc import Sequence

from ostiary.assembly.vault_desk import hits_of
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import Conflict, UnknownSession
from ostiary.contracts.identity import Principal
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Search
from ostiary.contracts.store import Documents, DocumentVersion, Store
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.memory.confirming import Waiting
from ostiary.core.memory.entries import Entry, entries
from ostiary.core.memory.forgetting import Forgetting
from ostiary.core.memory.memory import Memory
from ostiary.core.memory.origin import Origin, Seen, brought_by
from ostiary.core.memory.paths import AGENTS, COLLECTION, Place, place_of
from ostiary.core.memory.shelf import as_text
from ostiary.gateway.protocol import memory as shape
from ostiary.gateway.protocol import vault

MOST_FILES = 2000
Page = tuple[list[shape.MemoryEntry], str]
_UNKNOWN = Label(trust=Trust.UNTRUSTED)
_CURSOR = re.compile(r"(?P<path>.+)#(?P<line>\d{1,9})", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAtDesk:
    memory: Memory
    store: Store
    documents: Documents
    search_index: Search

    async def list(self, asked: shape.ListMemory) -> shape.MemoryList:
        confirming = self.memory.confirming
        files = await self._files(asked.agent)
        told = [] if asked.after else [_file(path, version) for path, version in files]
        if asked.place == "unconfirmed" and not asked.path:
            waiting = await confirming.waiting(agent=asked.agent)
            count, start = len(waiting), int(asked.after) if asked.after.isdigit() else 0
            shown = waiting[start : start + asked.limit]
            found = [await self._waiting(each) for each in shown]
            after = str(start + asked.limit) if start + asked.limit < count else ""
        else:
            count = await confirming.count(agent=asked.agent)
            found, after = await self._entries(asked, files)
        return shape.MemoryList(files=told, entries=found, waiting=count, after=after)

    async def search(self, asked: shape.SearchMemory) -> vault.Hits:
        found = hits_of(await self.memory.recall.everything(asked.text, agent=asked.agent, limit=asked.limit))
        folder = folder_of(asked.agent)
        for hit in found.hits:
            hit.path = hit.path.removeprefix(folder)
        return found

    async def write(self, asked: shape.WriteMemory, by: Principal) -> shape.MemoryKept:
        kept = await self.memory.note(asked.text, by=by, area=asked.area, title=asked.title, agent=asked.agent)
        return shape.MemoryKept(outcome=kept.outcome, path=kept.path, line=kept.line)

    async def why(self, asked: shape.WhyMemory) -> shape.MemoryOrigins:
        found = await self.memory.origins.why(asked.target, agent=asked.agent)
        return shape.MemoryOrigins(origins=[_origin(each) for each in found])

    async def plan_forget(self, text: str) -> shape.ForgetPreview:
        plan = await self.memory.forgetter.plan(text)
        return shape.ForgetPreview(
            digest=_digest(plan),
            entries=[
                shape.ForgetLine(collection=loss.collection, path=loss.path, line=entry.start, text=entry.text)
                for loss in plan.losses
                for entry in loss.gone
            ],
            versions=sum(len(loss.versions) for loss in plan.losses),
            turns=len({turn for each in plan.spoken for turn in each.turns}),
            events=sum(len(each.events) for each in plan.spoken),
            summaries=sum(len(each.summaries) for each in plan.spoken),
            sessions=sorted({str(each.session) for each in plan.spoken}),
            left=list(plan.left),
        )

    async def forget(self, asked: shape.ForgetMemory, by: Principal) -> shape.MemoryForgotten:
        if _digest(await self.memory.forgetter.plan(asked.text)) != asked.digest:
            raise Conflict("what would be erased has changed since it was shown", hint="Look at the preview again.")
        done = await self.memory.forgetter.forget(asked.text, by=by)
        return shape.MemoryForgotten(
            places=list(done.places),
            versions=done.versions,
            turns=done.turns,
            events=done.events,
            summaries=done.summaries,
            sessions=list(done.sessions),
            notices=list(done.notices),
        )

    async def confirm(self, asked: shape.ConfirmMemory, by: Principal) -> shape.MemorySettled:
        confirming = self.memory.confirming
        if asked.reject:
            settled = await confirming.reject(asked.ids, by=by, agent=asked.agent)
        else:
            settled = await confirming.confirm(asked.ids, by=by, area=asked.area, agent=asked.agent)
        rows = [shape.SettledEntry(id=each.id, path=each.path, line=each.line) for each in settled]
        return shape.MemorySettled(settled=rows)

    def redacted(self, text: str) -> str:
        return self.memory.redact(text)

    async def status(self) -> shape.MemoryStatus:
        index = await self.search_index.status()
        own = next((use for use in await self.documents.collections() if use.collection == COLLECTION), None)
        return shape.MemoryStatus(
            files=own.documents if own is not None else 0,
            bytes=own.bytes if own is not None else 0,
            documents=index.documents,
            chunks=index.chunks,
            waiting=index.waiting,
            embedder=index.embedder,
            rebuilding=index.rebuilding,
            unconfirmed=await self.memory.confirming.count(),
        )

    async def _files(self, agent: str) -> Sequence[tuple[str, DocumentVersion]]:
        """Paths relative to the agent's folder; of dated ones the newest first."""
        folder = folder_of(agent)
        found: list[tuple[str, DocumentVersion]] = []
        after = ""
        while len(found) < MOST_FILES:
            page = await self.documents.list(COLLECTION, pattern=f"{folder}**", limit=MOST_FILES, after=after)
            found += [(each.path.removeprefix(folder), each) for each in page if folder or not each.path.startswith(AGENTS)]
            if len(page) < MOST_FILES:
                break
            after = page[-1].path
        dated = [each for each in found if place_of(each[0]) == "daily"]
        rest = [each for each in found if place_of(each[0]) != "daily"]
        return [*rest, *reversed(dated)][:MOST_FILES]

    async def _entries(self, asked: shape.ListMemory, files: Sequence[tuple[str, DocumentVersion]]) -> Page:
        """The newest of a file first: notes grow at the end."""
        wanted = [each for each in files if (each[0] == asked.path if asked.path else place_of(each[0]) == asked.place)]
        if asked.path and not wanted:
            raise UnknownSession(f"there is no memory file {asked.path[:200]}")
        cursor = _CURSOR.fullmatch(asked.after)
        if cursor is not None:
            paths = [path for path, _ in wanted]
            wanted = wanted[paths.index(cursor["path"]) :] if cursor["path"] in paths else []
        shown: list[shape.MemoryEntry] = []
        seen = Seen(self.documents)
        for path, version in wanted:
            found = await self.documents.get(COLLECTION, version.path)
            text = as_text(found[1]) if found is not None else None
            below = int(cursor["line"]) if cursor is not None and cursor["path"] == path else 0
            for entry in reversed(entries(text or "")):
                if entry.is_heading or (below and entry.start >= below):
                    continue
                if len(shown) == asked.limit:
                    return shown, f"{shown[-1].path}#{shown[-1].start}"
                shown.append(await self._entry(path, entry, await brought_by(seen, version.path, entry.text)))
        return shown, ""

    async def _entry(self, path: str, entry: Entry, version: DocumentVersion) -> shape.MemoryEntry:
        label = version.label or _UNKNOWN
        return shape.MemoryEntry(
            path=path,
            start=entry.start,
            end=entry.end,
            text=entry.said,
            place=place_of(path),
            version=version.version,
            at=version.at,
            author=version.author,
            trust=str(label.trust),
            sources=list(label.sources),
            turn=version.turn,
            session=await self._session(version.turn),
        )

    async def _waiting(self, note: Waiting) -> shape.MemoryEntry:
        return shape.MemoryEntry(
            path=note.path,
            start=note.start,
            end=note.end,
            text=note.text,
            place="unconfirmed",
            version=0,
            at=note.at,
            author=note.author,
            trust=str(Trust.UNTRUSTED),
            sources=list(note.sources),
            turn=note.turn,
            session=await self._session(note.turn),
            id=note.id,
            area=note.area,
        )

    async def _session(self, turn: str) -> str:
        session = await self.store.session_of(turn) if turn else None
        return "" if session is None else str(session)


def _file(path: str, version: DocumentVersion) -> shape.MemoryFile:
    return shape.MemoryFile(
        path=path,
        place=place_of(path),
        version=version.version,
        size=version.size,
        at=version.at,
        trust=str((version.label or _UNKNOWN).trust),
    )


def _origin(origin: Origin) -> shape.MemoryOrigin:
    place: Place = place_of(origin.path)
    entry = shape.MemoryEntry(
        path=origin.path,
        start=origin.start,
        end=origin.end,
        text=origin.text,
        place=place,
        version=origin.version,
        at=origin.at,
        author=origin.author,
        trust=origin.trust,
        sources=list(origin.sources),
        turn=origin.turn,
        session=origin.session,
    )
    return shape.MemoryOrigin(entry=entry, words=origin.words)


def _digest(plan: Forgetting) -> str:
    """Of exactly what would go, so that a yes is never taken for more than was shown."""
    told = hashlib.sha256(plan.digest.encode())
    for loss in plan.losses:
        lines = [(entry.start, entry.end) for entry in loss.gone]
        told.update(f"{loss.collection}\0{loss.path}\0{lines}\0{loss.versions}\n".encode("utf-8", "surrogatepass"))
    for each in plan.spoken:
        told.update(f"{each.session}\0{each.turns}\0{each.events}\0{each.summaries}\n".encode("utf-8", "surrogatepass"))
    return told.hexdigest()
