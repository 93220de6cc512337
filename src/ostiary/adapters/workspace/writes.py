"""Changes of a directory as writes to the documents: compare-and-swap, and what loses against somebody else is kept beside."""

import posixpath
import time
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ostiary.adapters.workspace.changes import Changes, Taken
from ostiary.adapters.workspace.index import Pending
from ostiary.adapters.workspace.names import Names
from ostiary.contracts.content import Label
from ostiary.contracts.store import DocumentVersion, Put, Tombstone
from ostiary.contracts.workspace import Capture, FileChange

COLLECTION = "_workspace"
_DIFFED = 100_000
_DIFFS_IN_ALL = 24_000
_LEAST_DIFF = 200
_MAX_NAME = 255

Diff = Callable[[bytes | None, bytes | None, str, int], str]
Fetch = Callable[[DocumentVersion], Awaitable[bytes | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """Whose writes they are. `folder` is where the agent's documents lie in the collection."""

    folder: str
    author: str
    turn: str
    at: float
    label: Label

    def put(self, path: str, taken: Taken, expect: int) -> Put:
        return Put(
            collection=COLLECTION,
            path=self.folder + path,
            content=taken.content,
            at=self.at,
            author=self.author,
            turn=self.turn,
            label=self.label,
            expect_version=expect,
            executable=taken.is_executable,
        )

    def tombstone(self, path: str, expect: int) -> Tombstone:
        return Tombstone(
            collection=COLLECTION, path=self.folder + path, at=self.at, author=self.author, turn=self.turn, expect_version=expect
        )


@dataclass(slots=True)
class Draft:
    """`pending` tells by path what the documents will hold once the writes are committed. `untaken` are files that stay where
    they are, for no document can have their name."""

    writes: list[Put | Tombstone] = field(default_factory=list)
    shown: list[FileChange] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    kept_aside: list[str] = field(default_factory=list)
    pending: dict[str, Pending] = field(default_factory=dict)
    untaken: list[str] = field(default_factory=list)

    def capture(self) -> Capture:
        return Capture(
            writes=tuple(self.writes),
            changes=tuple(self.shown),
            refused=tuple(self.refused),
            kept_aside=tuple(self.kept_aside),
        )


def conflict_name(path: str, at: float, taken: Container[str]) -> str:
    """`notes/plan.md` → `notes/plan.conflict-20260731T120000Z.md`, with a number if that is taken."""
    folder, name = posixpath.split(path)
    stem, extension = posixpath.splitext(name)
    stamp = name_of_moment(at).removeprefix("conflict-")
    for number in range(1, 10_000):
        mark = f".conflict-{stamp}{'' if number == 1 else f'-{number}'}{extension}"
        room = _MAX_NAME - len(mark.encode())
        found = posixpath.join(folder, stem.encode()[: max(0, room)].decode(errors="ignore") + mark)
        if found not in taken:
            return found
    raise ValueError("every name is taken")


def name_of_moment(at: float) -> str:
    return time.strftime("conflict-%Y%m%dT%H%M%SZ", time.gmtime(at))


class Drafting:
    """`now` are the newest living versions by path, `base` those that were laid out; `last` gives the number of a path's newest
    version, tombstones included. `reserved` says why a path is nobody's to write, empty if it is not."""

    def __init__(
        self,
        signed: Signed,
        *,
        base: Mapping[str, DocumentVersion],
        now: Mapping[str, DocumentVersion],
        last: Callable[[str], int],
        reserved: Callable[[str], str],
        diff: Diff,
        fetch: Fetch,
    ) -> None:
        self._signed = signed
        self._base = base
        self._now = now
        self._last = last
        self._reserved = reserved
        self._diff = diff
        self._fetch = fetch
        self._room = _DIFFS_IN_ALL
        self._names: Names | None = None
        self.draft = Draft()

    async def changes(self, changes: Changes) -> Draft:
        """Each change as a write, or what stands in its way."""
        self.draft.refused += changes.refused
        # What people wrote comes before what tools keep in hidden folders.
        for path in sorted({*changes.contents, *changes.deleted}, key=lambda path: (_is_hidden(path), path)):
            reason = self._reserved(path)
            if reason:
                self.draft.refused.append(f"{path}: {reason}")
            else:
                await self._one(path, changes.contents.get(path))
        self._leave_clashes()
        return self.draft

    def _leave_clashes(self) -> None:
        """Others may have taken a name meanwhile, or keep one that was to be deleted."""
        draft, start = self.draft, len(self._signed.folder)
        new = [write for write in draft.writes if isinstance(write, Put) and write.path[start:] not in self._now]
        if not new:
            return
        gone = {write.path[start:] for write in draft.writes if isinstance(write, Tombstone)}
        names = Names(path for path in self._now if path not in gone)
        for write in new:
            path = write.path[start:]
            reason = names.clash(path)
            if not reason:
                names.add(path)
                continue
            draft.writes.remove(write)
            draft.shown = [change for change in draft.shown if change.path != path]
            del draft.pending[path]
            draft.untaken.append(path)
            draft.refused.append(f"{path}: {reason}")

    async def aside(self, contents: Mapping[str, Taken], why: str) -> Draft:
        """Everything under names of its own: nothing that is a document is touched."""
        for path in sorted(contents):
            newest = self._now.get(path)
            if newest is None or newest.digest != contents[path].digest:
                await self._keep_aside(path, contents[path], why)
        return self.draft

    async def _one(self, path: str, taken: Taken | None) -> None:
        base, newest = self._base.get(path), self._now.get(path)
        if _is_that(newest, taken):
            return
        if (newest.version if newest else 0) == (base.version if base else 0):
            await self._write(path, base, taken)
        elif taken is None:
            self.draft.refused.append(f"{path}: somebody else changed it meanwhile, so it was not deleted")
        elif newest is None or newest.digest != taken.digest:
            await self._keep_aside(path, taken, "somebody else changed it meanwhile")

    async def _keep_aside(self, path: str, taken: Taken, why: str) -> None:
        used = {*self._now, *self.draft.pending}
        name = conflict_name(path, self._signed.at, used)
        if self._names is None:
            self._names = Names(used)
        if self._names.clash(name):
            # One of its folders is a file by now: below a folder of its own there is room for all of it.
            name = conflict_name(posixpath.join(name_of_moment(self._signed.at), path), self._signed.at, used)
        self._names.add(name)
        await self._write(name, None, taken)
        self.draft.kept_aside.append(f"{path} as {name} ({why})")

    async def _write(self, path: str, base: DocumentVersion | None, taken: Taken | None) -> None:
        expect = base.version if base else 0
        self.draft.writes.append(self._signed.tombstone(path, expect) if taken is None else self._signed.put(path, taken, expect))
        self.draft.pending[path] = Pending(digest="" if taken is None else taken.digest, after=self._last(path))
        change = await self._shown(path, base, taken)
        self._room -= len(change.diff)
        self.draft.shown.append(change)

    async def _shown(self, path: str, base: DocumentVersion | None, taken: Taken | None) -> FileChange:
        size = 0 if taken is None else len(taken.content)
        diff = _mode(base, taken)
        is_new_content = taken is None or base is None or base.digest != taken.digest
        is_short = max(size, base.size if base else 0) <= _DIFFED
        if is_new_content and is_short and self._room > _LEAST_DIFF and not path.startswith(".git/"):
            old = await self._fetch(base) if base else None
            diff += self._diff(old, None if taken is None else taken.content, path, self._room)
        change: Literal["added", "changed", "deleted"] = "deleted" if taken is None else "changed" if base else "added"
        return FileChange(path=path, change=change, size=size, diff=diff)


def _is_that(newest: DocumentVersion | None, taken: Taken | None) -> bool:
    if newest is None or taken is None:
        return newest is None and taken is None
    return newest.digest == taken.digest and newest.executable is taken.is_executable


def _mode(base: DocumentVersion | None, taken: Taken | None) -> str:
    if base is None or taken is None or base.executable is taken.is_executable:
        return ""
    old, new = ("100755", "100644") if base.executable else ("100644", "100755")
    return f"old mode {old}\nnew mode {new}\n"


def _is_hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path
