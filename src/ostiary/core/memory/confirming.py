"""What waits for the owner: notes nobody vouches for, and what becomes of them."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, NotAllowed
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import UserId
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Audit, Documents, DocumentVersion, Put, Store, Tombstone, Write
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.memory.entries import Entry, entries, meant_for, without
from ostiary.core.memory.origin import Seen, brought_by
from ostiary.core.memory.paths import AREAS, COLLECTION, UNCONFIRMED, Area
from ostiary.core.memory.shelf import notes
from ostiary.core.memory.writing import Wish, Writing

_ID = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A note that waits. `id` is made of its text and place; `area` is where it wants to go."""

    id: str
    path: str
    start: int
    end: int
    text: str
    area: Area
    at: float
    author: str
    sources: tuple[str, ...]
    turn: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """`path` is where it is now, empty if it was rejected."""

    id: str
    text: str
    path: str = ""
    line: int = 0


class Confirming:
    def __init__(self, *, store: Store, documents: Documents, writing: Writing, clock: Clock) -> None:
        self._store = store
        self._documents = documents
        self._writing = writing
        self._clock = clock

    async def waiting(self, *, agent: str = "main") -> tuple[Waiting, ...]:
        """Oldest first. Raises StoreError."""
        found, seen = [], Seen(self._documents)
        async for note in notes(self._documents, agent=agent, under=UNCONFIRMED):
            for entry in entries(note.text):
                if entry.is_heading:
                    continue
                version = await brought_by(seen, note.version.path, entry.text)
                found.append(_waiting(note.path, entry, version))
        return tuple(found)

    async def count(self, *, agent: str = "main") -> int:
        """How many wait. Raises StoreError."""
        found = 0
        async for note in notes(self._documents, agent=agent, under=UNCONFIRMED):
            found += sum(not entry.is_heading for entry in entries(note.text))
        return found

    async def confirm(
        self, ids: Sequence[str], *, by: Principal, area: Area | None = None, agent: str = "main"
    ) -> tuple[Settled, ...]:
        """The notes go where they wanted, or to `area`, on the owner's word; the turn and the sources they came from stay
        with them. Raises NotAllowed, BadInput for an unknown id, Conflict, StoreError."""
        return tuple([await self._settle(each, by, agent, area, is_kept=True) for each in await self._chosen(ids, by, agent)])

    async def reject(self, ids: Sequence[str], *, by: Principal, agent: str = "main") -> tuple[Settled, ...]:
        """They are taken out; their versions stay until they are forgotten. Raises as `confirm`."""
        return tuple([await self._settle(each, by, agent, None, is_kept=False) for each in await self._chosen(ids, by, agent)])

    async def _chosen(self, ids: Sequence[str], by: Principal, agent: str) -> list[Waiting]:
        if not by.is_owner:
            raise NotAllowed("Only the owner decides what is remembered on somebody else's word.")
        known = {each.id: each for each in await self.waiting(agent=agent)}
        missing = [each for each in ids if each not in known]
        if missing:
            raise BadInput(f"Nothing waits under {', '.join(missing)[:200]}.", hint="List what waits for its id.")
        return [known[each] for each in dict.fromkeys(ids)]

    async def _settle(self, note: Waiting, by: Principal, agent: str, area: Area | None, *, is_kept: bool) -> Settled:
        path = folder_of(agent) + note.path
        found = await self._documents.get(COLLECTION, path)
        if found is None:
            raise BadInput(f"{note.id} is not there any more.")
        version, content = found
        now, who = self._clock.now(), str(by.user)
        writes = [_removal(version, content.decode(), note, now, who)]
        settled = Settled(id=note.id, text=note.text)
        if is_kept:
            # The owner vouches for it from here on; whose words it was at first is not forgotten.
            label = Label(trust=Trust.OWNER, sources=tuple(sorted({*note.sources, f"confirmed:{who}"})), private=True)
            wish = Wish(
                text=note.text,
                principal=by,
                label=label,
                area=area or note.area,
                agent=agent,
                turn=note.turn,
                about=_person(note.author),
            )
            kept = await self._writing.plan(wish)
            writes.extend(kept.writes)
            settled = replace(settled, path=kept.path, line=kept.line)
        detail = {"note": hashlib.sha256(note.text.encode()).hexdigest(), "to": settled.path, "turn": note.turn}
        outcome = "confirmed" if is_kept else "rejected"
        writes.append(Audit(at=now, kind="memory.settled", actor=who, subject=note.path, outcome=outcome, detail=detail))
        await self._store.commit(writes)
        return settled


def _waiting(path: str, entry: Entry, version: DocumentVersion) -> Waiting:
    text = "\n".join(line.removeprefix("  ") for line in entry.said.split("\n"))
    digest = hashlib.sha256(f"{path}\n{entry.text}".encode()).hexdigest()
    area: Area = next((each for each in AREAS if each == meant_for(entry)), "daily")
    return Waiting(
        id=digest[:_ID],
        path=path,
        start=entry.start,
        end=entry.end,
        text=text,
        area=area,
        at=version.at,
        author=version.author,
        sources=version.label.sources if version.label is not None else (),
        turn=version.turn,
    )


def _person(author: str) -> UserId | None:
    """Who spoke of themselves; None for a part of the house."""
    channel, _, stable_id = author.partition(":")
    return UserId(channel=channel, stable_id=stable_id) if stable_id else None


def _removal(version: DocumentVersion, text: str, note: Waiting, now: float, who: str) -> Write:
    gone = [entry for entry in entries(text) if entry.start == note.start and entry.end == note.end]
    rest = without(text, gone)
    if all(entry.is_heading for entry in entries(rest)):
        return Tombstone(collection=COLLECTION, path=version.path, at=now, author=who, expect_version=version.version)
    return Put(
        collection=COLLECTION,
        path=version.path,
        content=rest.encode(),
        at=now,
        author=who,
        label=version.label,
        expect_version=version.version,
    )
