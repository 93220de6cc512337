"""Keeping a note: where it goes, whether it is known already, and whether anybody vouches for it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import tzinfo
from typing import Literal

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import UserId
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion, Extend, Put
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.memory.entries import Entry, entries, rendered, replaced
from ostiary.core.memory.merging import merge
from ostiary.core.memory.origin import brought_by
from ostiary.core.memory.paths import COLLECTION, LONG, Area, day_of, numbered, path_of, unconfirmed_path
from ostiary.core.memory.text import clean, title_of

FILE_BYTES = 200_000
MOST_FILES = 50
MOST_UNCONFIRMED_FILES = 1
_NO_LABEL = Label(trust=Trust.UNTRUSTED, private=True)

Outcome = Literal["kept", "known", "reworded", "unconfirmed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be remembered, for whom and on whose word. An empty `area` is the usual one of that person. `about` is whose
    own area `me` means, where that is somebody else than who decides to keep it."""

    text: str
    principal: Principal
    label: Label
    area: Area | Literal[""] = ""
    title: str = ""
    agent: str = "main"
    turn: str = ""
    about: UserId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What comes of it. `path` is relative to the agent's folder, `line` where the entry begins. `writes` are still to be
    committed; none if it was known."""

    outcome: Outcome
    path: str
    line: int
    area: Area
    writes: tuple[Put | Extend, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: str
    version: DocumentVersion | None
    text: str


class Writing:
    """Plans notes; commits nothing. `has_secret` tells whether a text holds something that must never be kept."""

    def __init__(
        self, *, documents: Documents, clock: Clock, zone: Callable[[], tzinfo], has_secret: Callable[[str], bool]
    ) -> None:
        self._documents = documents
        self._clock = clock
        self._zone = zone
        self._has_secret = has_secret

    async def plan(self, wish: Wish) -> Kept:
        """Raises BadInput for what cannot be kept, StoreError."""
        text, title = clean(wish.text), title_of(wish.title)
        if self._has_secret(wish.text) or self._has_secret(f"{title} {text}"):
            raise BadInput("This holds a password, key or token, or looks like one: secrets are never kept in memory.")
        area: Area = wish.area or ("long" if wish.principal.is_owner else "me")
        now = self._clock.now()
        day = day_of(now, self._zone())
        waits = needs_confirmation(area, wish.principal, wish.label)
        base = unconfirmed_path(day) if waits else path_of(area, user=wish.about or wish.principal.user, day=day)
        files = await self._files(folder_of(wish.agent), base, most=MOST_UNCONFIRMED_FILES if waits else MOST_FILES)
        entry = rendered(text, title=title, meant_for=area if waits else "")
        for file in files:
            found = merge(entries(file.text), f"{title} {text}")
            if found.kind == "known" and found.entry is not None:
                return Kept(outcome="known", path=file.path, line=found.entry.start, area=area)
            if found.kind == "replaces" and found.entry is not None and file.version is not None:
                if waits and not await self._is_own(found.entry, file, wish):
                    continue
                content = replaced(file.text, found.entry, entry)
                put = self._put(file, content, wish, now)
                outcome: Outcome = "unconfirmed" if waits else "reworded"
                return Kept(outcome=outcome, path=file.path, line=found.entry.start, area=area, writes=(put,))
        file = _with_room(files, base, entry, waits=waits)
        return self._append(file, entry, wish, area, now, waits=waits, day=day)

    async def _is_own(self, entry: Entry, file: _File, wish: Wish) -> bool:
        """Whether the same person brought it: what somebody else has waiting stands beside this one until the owner decides."""
        version = await brought_by(self._documents, folder_of(wish.agent) + file.path, entry.text)
        return version.author == str(wish.principal.user)

    def _append(self, file: _File, entry: str, wish: Wish, area: Area, now: float, *, waits: bool, day: str) -> Kept:
        before = "" if file.text.endswith("\n") else "\n" if file.text else f"# {_heading(area, day, waits=waits)}\n\n"
        line = (file.text + before).count("\n") + 1
        write = Extend(
            collection=COLLECTION,
            path=folder_of(wish.agent) + file.path,
            content=f"{before}{entry}\n".encode(),
            at=now,
            author=str(wish.principal.user),
            turn=wish.turn,
            label=_private(wish.label),
        )
        return Kept(outcome="unconfirmed" if waits else "kept", path=file.path, line=line, area=area, writes=(write,))

    def _put(self, file: _File, content: str, wish: Wish, now: float) -> Put:
        if len(content.encode()) > FILE_BYTES:
            raise BadInput(f"{file.path} is full: the longer wording has no room there.")
        version = file.version
        label = _private(wish.label if version is None else wish.label.join(version.label or _NO_LABEL))
        return Put(
            collection=COLLECTION,
            path=folder_of(wish.agent) + file.path,
            content=content.encode(),
            at=now,
            author=str(wish.principal.user),
            turn=wish.turn,
            label=label,
            expect_version=0 if version is None else version.version,
        )

    async def _files(self, folder: str, base: str, *, most: int) -> list[_File]:
        """The files of the area, in order."""
        found: list[_File] = []
        for number in range(1, most + 1):
            path = numbered(base, number)
            stored = await self._documents.get(COLLECTION, folder + path)
            if stored is None:
                break
            version, content = stored
            found.append(_File(path=path, version=version, text=content.decode("utf-8", "replace")))
        return found


def _with_room(files: list[_File], base: str, entry: str, *, waits: bool) -> _File:
    """The last file, or the next one if that is full. Raises BadInput if there may be no next one."""
    if not files or len(files[-1].text.encode()) + len(entry.encode()) + 2 > FILE_BYTES:
        if waits and files:
            raise BadInput("Too many notes of today wait for the owner's confirmation already; this one was not kept.")
        if len(files) >= MOST_FILES:
            raise BadInput(f"This area of memory is full ({MOST_FILES} files): the owner has to tidy it up first.")
        return _File(path=numbered(base, len(files) + 1), version=None, text="")
    return files[-1]


def _private(label: Label) -> Label:
    """What is remembered is private from then on, in whatever conversation it was said."""
    return replace(label, private=True)


def needs_confirmation(area: Area, principal: Principal, label: Label) -> bool:
    """Nobody vouches for text from outside. Others than the owner speak for themselves alone. MEMORY.md is read as the
    owner's word, so it takes no less than that."""
    if label.trust is Trust.UNTRUSTED:
        return True
    if not principal.is_owner:
        return area != "me"
    return area == "long" and label.trust is Trust.CONTACT


def _heading(area: Area, day: str, *, waits: bool) -> str:
    if waits:
        return f"{day}, not confirmed by the owner"
    return {"long": "Memory", "daily": day, "shared": "Shared notes", "private": "Private notes", "me": "Notes"}[area]


def told(kept: Kept) -> str:
    """What the model reads about it."""
    place = f"{kept.path}#L{kept.line}"
    match kept.outcome:
        case "known":
            return f"Known already: {place}. Nothing was written."
        case "reworded":
            return f"Kept in {place}; it takes the place of a shorter wording."
        case "unconfirmed":
            return f"Kept for confirmation in {place}: the owner must confirm it before it counts as remembered. Tell them so."
        case _:
            seen = " It is part of every private conversation from the next one on." if kept.path == LONG else ""
            return f"Kept in {place}.{seen}"
