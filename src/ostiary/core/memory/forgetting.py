"""Forgetting: a text leaves the notes, their old versions, the conversations it was said in, and what was made of these.

What stays is told: that something was forgotten, its digest, and when the last backup that holds it expires.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import anyio.to_thread

from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput, Busy, Conflict, NotAllowed
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Search
from ostiary.contracts.store import (
    Audit,
    DeleteValue,
    Documents,
    DocumentVersion,
    EraseBlob,
    ErasePayload,
    EraseVersions,
    Put,
    SaveSession,
    SessionRecord,
    Store,
    Tombstone,
    Write,
)
from ostiary.core.memory.entries import Entry, entries, holding, without
from ostiary.core.memory.paths import SESSIONS
from ostiary.core.memory.rules import MemoryRules
from ostiary.core.memory.shelf import as_text, elsewhere, ever_there
from ostiary.core.memory.spoken import Spoken, files, prompts, spoken
from ostiary.core.memory.summary import tells_of
from ostiary.core.memory.text import holds, normal
from ostiary.core.routing.intake import COMMAND_REPLIES

LEAST_CHARACTERS = 4
_ROUNDS = 3
_LONG = 20_000
_MOST_LEFT = 20

Document = tuple[str, str]
Goes = Callable[[str], tuple[Entry, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What one document loses: `gone` entries of its newest version, and the content of `versions` that held the text."""

    collection: str
    path: str
    gone: tuple[Entry, ...]
    versions: tuple[int, ...]
    newest: DocumentVersion
    rest: str = ""
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """What would be erased. `left` names, with the reason, what holds the text and stays. `replies` are kept answers to
    commands, `prompts` digests of kept prompts, `files` those of pictures and files that came with what was said, `titled`
    conversations whose title may be words of an erased turn."""

    digest: str
    losses: tuple[Loss, ...]
    spoken: tuple[Spoken, ...]
    left: tuple[str, ...]
    replies: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    titled: tuple[SessionRecord, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.losses and not self.spoken


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was erased, in numbers and places, and sentences for people. It never holds the text itself."""

    digest: str
    places: tuple[str, ...]
    entries: int
    versions: int
    turns: int
    events: int
    summaries: int
    sessions: tuple[str, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    losses: tuple[Loss, ...]
    turns: frozenset[str]
    left: tuple[str, ...]


class Forgetter:
    """`drop` throws a session's cached fold away: what it holds is the past."""

    def __init__(
        self,
        *,
        store: Store,
        documents: Documents,
        search: Search | None,
        clock: Clock,
        rules: Callable[[], MemoryRules],
        drop: Callable[[SessionKey], None] = lambda key: None,
    ) -> None:
        self._store = store
        self._documents = documents
        self._search = search
        self._clock = clock
        self._rules = rules
        self._drop = drop

    async def plan(self, text: str) -> Forgetting:
        """What holds the text, case and punctuation aside: nothing is changed. Raises BadInput if it is too short to be
        meant, StoreError."""
        wanted = normal(text)
        if len(wanted) < LEAST_CHARACTERS:
            raise BadInput(f"Give at least {LEAST_CHARACTERS} letters of what shall be forgotten.")
        there = await ever_there(self._documents)
        found = await self._found(there, lambda text: holding(text, wanted))
        said = {normal(entry.said) for loss in found.losses for entry in loss.gone if entry.is_item}
        heard = await spoken(self._store, {wanted, *said} - {""}, found.turns)
        summaries = _summaries_of(heard)
        if summaries:
            found = await self._found(there, lambda text: tuple(dict.fromkeys((*holding(text, wanted), *summaries(text)))))
        return Forgetting(
            digest=hashlib.sha256(wanted.encode()).hexdigest(),
            losses=found.losses,
            spoken=heard,
            left=(*found.left, *await self._left(wanted)),
            replies=await self._replies(wanted),
            prompts=await self._prompts(wanted),
            files=await files(self._store, heard),
            titled=await self._titled(heard),
        )

    async def forget(self, text: str, *, by: Principal) -> Forgotten:
        """Erase it, for ever. What is said or written of it meanwhile is erased, too. Raises NotAllowed, BadInput if nothing
        holds it, Busy while it is being talked about in a running turn, StoreError."""
        if not by.is_owner:
            raise NotAllowed("Only the owner makes the assistant forget.")
        done: list[Forgetting] = []
        for _ in range(_ROUNDS):
            plan = await self.plan(text)
            if plan.is_empty:
                break
            await self._refuse_running(plan)
            try:
                await self._store.commit(self._writes(plan, by))
            except Conflict:
                continue
            done.append(plan)
            await self._renew(plan)
        if not done:
            left = " ".join(plan.left)
            raise BadInput(f"Nothing that can be erased holds that text. {left}".strip())
        return self._told(done)

    async def _found(self, there: Mapping[Document, Sequence[DocumentVersion]], goes: Goes) -> _Found:
        """What the notes lose if these entries go, and the turns that wrote them."""
        losses: list[Loss] = []
        turns: set[str] = set()
        left: list[str] = []
        folders = self._rules().folders
        for (collection, path), versions in there.items():
            held: list[DocumentVersion] = []
            gone: tuple[Entry, ...] = ()
            text = ""
            for version in versions:
                text = await self._text(version) or ""
                gone = await _looked(goes, text)
                if gone:
                    held.append(version)
            if not held:
                continue
            if any(path.startswith(f"{prefix.rstrip('/')}/") for prefix in folders):
                left.append(f"{path} comes from a folder of yours: change the file there.")
                continue
            turns.update(_writers(held, versions))
            losses.append(_loss(collection, path, gone, held, versions[-1], text))
        return _Found(losses=tuple(losses), turns=frozenset(turns - {""}), left=tuple(left))

    async def _text(self, version: DocumentVersion) -> str | None:
        if not version.digest or version.erased:
            return None
        found = await self._documents.get(version.collection, version.path, version=version.version)
        return None if found is None else as_text(found[1])

    async def _replies(self, wanted: str) -> tuple[str, ...]:
        kept = await self._store.values(COMMAND_REPLIES)
        return tuple(key for key, value in kept.items() if holds(normal(value.decode("utf-8", "replace")), wanted))

    async def _prompts(self, wanted: str) -> tuple[str, ...]:
        """MEMORY.md stands in the prompts that were made of it."""
        found = []
        for digest in await prompts(self._store):
            kept = await self._store.blob(digest)
            if kept is not None and holds(normal(kept.decode("utf-8", "replace")), wanted):
                found.append(digest)
        return tuple(found)

    async def _left(self, wanted: str) -> tuple[str, ...]:
        """The owner's other files are theirs to change: none is touched, and none is kept quiet about."""
        places = []
        async for version, text in elsewhere(self._documents):
            if await _looked(partial(_held, wanted), text):
                places.append(f"{version.collection}/{version.path}")
        more = f" and {len(places) - _MOST_LEFT} more" if len(places) > _MOST_LEFT else ""
        named = ", ".join(places[:_MOST_LEFT])
        return (f"Files that are not memory hold it, or held it last: {named}{more}. Their versions stay.",) if places else ()

    async def _titled(self, heard: Sequence[Spoken]) -> tuple[SessionRecord, ...]:
        records = [await self._store.session(each.session) for each in heard]
        return tuple(record for record in records if record is not None and record.title)

    async def _refuse_running(self, plan: Forgetting) -> None:
        running = {turn.turn for turn in (await self._store.pending()).turns}
        if any(running.intersection(each.turns) for each in plan.spoken):
            raise Busy("A turn that speaks of it is still running.", hint="Stop it or wait for its end, then try again.")

    def _writes(self, plan: Forgetting, by: Principal) -> Sequence[Write]:
        now, who = self._clock.now(), str(by.user)
        writes: list[Write] = []
        for loss in plan.losses:
            writes.extend(_document_writes(loss, now, who))
        for each in plan.spoken:
            writes.extend(ErasePayload(session=each.session, seq=seq) for seq in (*each.events, *each.summaries))
        writes.extend(DeleteValue(space=COMMAND_REPLIES, key=key) for key in plan.replies)
        writes.extend(EraseBlob(digest=digest) for digest in (*plan.prompts, *plan.files))
        # The first words of a turn, cut short: the text itself may not be found in them. The next turn gives a new one.
        writes.extend(SaveSession(record=replace(record, title="")) for record in plan.titled)
        told = self._told([plan])
        detail = {"entries": told.entries, "versions": told.versions, "events": told.events, "summaries": told.summaries}
        writes.append(Audit(at=now, kind="memory.forgotten", actor=who, subject=plan.digest, outcome="erased", detail=detail))
        return writes

    async def _renew(self, plan: Forgetting) -> None:
        """Open folds and the index hold what is gone."""
        for each in plan.spoken:
            self._drop(each.session)
        if self._search is None:
            return
        for loss in plan.losses:
            await self._search.forget(loss.collection, loss.path)
        for each in plan.spoken:
            await self._search.forget(SESSIONS, str(each.session))

    def _told(self, done: Sequence[Forgetting]) -> Forgotten:
        losses = [loss for plan in done for loss in plan.losses]
        heard = [each for plan in done for each in plan.spoken]
        days = self._rules().backup_days
        notices = [f"Backups made before now may hold it until they expire, at the latest in {days} days."]
        return Forgotten(
            digest=done[0].digest,
            places=tuple(f"{loss.path}#L{entry.start}" for loss in losses for entry in loss.gone),
            entries=sum(len(loss.gone) for loss in losses),
            versions=sum(len(loss.versions) for loss in losses),
            turns=len({turn for each in heard for turn in each.turns}),
            events=sum(len(each.events) for each in heard),
            summaries=sum(len(each.summaries) for each in heard),
            sessions=tuple(sorted({str(each.session) for each in heard})),
            notices=(*notices, *done[-1].left),
        )


def _held(wanted: str, text: str) -> tuple[Entry, ...]:
    return holding(text, wanted)


async def _looked(goes: Goes, text: str) -> tuple[Entry, ...]:
    """A long text is looked through beside the loop: everybody else would wait for it."""
    if not text:
        return ()
    return await anyio.to_thread.run_sync(goes, text) if len(text) > _LONG else goes(text)


def _summaries_of(heard: Sequence[Spoken]) -> Goes | None:
    """Finds the entries of daily notes that sum up a conversation of which something is erased."""
    erased = {str(each.session): (*each.events, *each.summaries) for each in heard}

    def summaries(text: str) -> tuple[Entry, ...]:
        if "(conversation " not in text:
            return ()
        told = ((entry, tells_of(entry.text)) for entry in entries(text))
        return tuple(
            entry
            for entry, covered in told
            if covered and any(covered.first <= seq <= covered.last for seq in erased.get(str(covered.session), ()))
        )

    return summaries if erased else None


def _writers(held: Sequence[DocumentVersion], versions: Sequence[DocumentVersion]) -> set[str]:
    """The turns whose version brought the text: it was not in the one before."""
    numbers = {version.version for version in held}
    before = {version.version: previous.version for previous, version in pairwise(versions)}
    return {version.turn for version in held if before.get(version.version) not in numbers}


def _loss(
    collection: str, path: str, gone: tuple[Entry, ...], held: Sequence[DocumentVersion], newest: DocumentVersion, text: str
) -> Loss:
    rest = without(text, gone)
    return Loss(
        collection=collection,
        path=path,
        gone=gone,
        versions=tuple(version.version for version in held),
        newest=newest,
        rest=rest,
        is_removed=bool(gone) and all(entry.is_heading for entry in entries(rest)),
    )


def _document_writes(loss: Loss, now: float, who: str) -> list[Write]:
    newest = loss.newest
    writes: list[Write] = []
    if loss.gone and loss.is_removed:
        writes.append(Tombstone(collection=loss.collection, path=loss.path, at=now, author=who, expect_version=newest.version))
    elif loss.gone:
        writes.append(
            Put(
                collection=loss.collection,
                path=loss.path,
                content=loss.rest.encode(),
                at=now,
                author=who,
                label=newest.label,
                expect_version=newest.version,
            )
        )
    writes.append(EraseVersions(collection=loss.collection, path=loss.path, versions=loss.versions))
    return writes
