"""The workspace of exec: the agent's documents laid out in a directory of their own, changes brought back as versions."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from anyio.to_thread import run_sync

from ostiary.adapters.workspace import index as indexes
from ostiary.adapters.workspace import layout
from ostiary.adapters.workspace.changes import Changes, find_changes
from ostiary.adapters.workspace.index import Index
from ostiary.adapters.workspace.slots import Scope, Slots, place_of
from ostiary.adapters.workspace.tree import Owner, TooBig, Tree, Walked, digest_of, open_tree, remove_tree
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion, Put, Tombstone
from ostiary.contracts.workspace import Access, Capture, FileChange, WorkspaceLease

COLLECTION = "_workspace"
BOOTSTRAP = "_bootstrap"
SCRATCH = (
    *("node_modules", ".venv", "__pycache__", ".cache", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox"),
    *(".nox", ".npm", ".local", ".gradle", ".m2"),
)
_MEMORY = "memory.md"
_BATCH_BYTES = 16_000_000
_DIFFED = 100_000
_DIFFS_IN_ALL = 24_000
_LEAST_DIFF = 200

_NOTHING = Label(trust=Trust.SYSTEM)
_PRIVATE = Label(trust=Trust.SYSTEM, private=True)
_UNKNOWN = Label(trust=Trust.UNTRUSTED, private=True)

Diff = Callable[[bytes | None, bytes | None, str, int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceLimits:
    """`files` counts folders and everything else too; `taken_bytes` is what one capture brings back at most."""

    files: int = 20_000
    bytes: int = 500_000_000
    file_bytes: int = 50_000_000
    taken_bytes: int = 200_000_000
    depth: int = 64
    copies: int = 8
    wait_seconds: float = 30.0
    free_bytes: int = 512_000_000


class DocumentWorkspace:
    """`root` is ours alone (`<state>/workspaces`). `folder_of` tells where an agent's documents lie; `protected` gives the
    reason why a path may be neither shown to a command nor taken from it; MEMORY.md is laid out only where `is_private`
    vouches for the session. `owner` is whom the sandbox runs commands as, None if as ourselves. `diff` shows a change.

    Bootstrap files are never laid out and never taken. A directory is kept between uses; folders named in `scratch` and
    what was not taken stay in it until the disk runs short, and their label goes on every later use."""

    def __init__(
        self,
        documents: Documents,
        root: Path,
        *,
        folder_of: Callable[[str], str],
        diff: Diff,
        scope: Callable[[SessionKey], Scope] = lambda session: "agent",
        protected: Callable[[str], str] = lambda path: "",
        is_private: Callable[[SessionKey], bool] = lambda session: False,
        owner: Owner | None = None,
        limits: WorkspaceLimits | None = None,
        scratch: tuple[str, ...] = SCRATCH,
    ) -> None:
        self._documents = documents
        self._root = root
        self._folder_of = folder_of
        self._diff = diff
        self._scope = scope
        self._protected = protected
        self._is_private = is_private
        self._owner = owner
        self._limits = limits or WorkspaceLimits()
        self._scratch = frozenset(scratch)
        self._indexes: dict[str, Index] = {}
        self._slots = Slots(root, most=self._limits.copies, seconds=self._limits.wait_seconds)

    @asynccontextmanager
    async def lease(self, session: SessionKey, *, access: Access) -> AsyncIterator[WorkspaceLease]:
        """See the port. Raises OSError if the machine's disk does not take the files."""
        async with self._slots.take(place_of(session, self._scope(session))) as slot:
            wanted = {} if access == "none" else await self._wanted(session)
            index, missing = await run_sync(partial(self._begin, slot, access, wanted))
            if missing:
                await self._fill(slot / ("files" if access == "rw" else "agent"), wanted, missing, index)
            base = {path: version for path, version in wanted.items() if path in index.files}
            label = _NOTHING
            for version in base.values():
                label = label.join(_PRIVATE).join(version.label or _UNKNOWN)
            if index.residue is not None:
                label = label.join(index.residue)
            directory = str(slot / ("files" if access == "rw" else "scratch"))
            self._indexes[directory] = index
            try:
                yield WorkspaceLease(
                    session=session,
                    access=access,
                    directory=directory,
                    agent_directory=str(slot / "agent") if access == "ro" else "",
                    base=base,
                    label=label,
                )
            finally:
                self._indexes.pop(directory, None)

    async def capture(self, lease: WorkspaceLease, *, author: str, turn: str, at: float, label: Label) -> Capture:
        """See the port. After it the directory counts as known again; a lease that ends without it is laid out afresh."""
        index = self._indexes.get(lease.directory)
        if index is None:
            raise ToolError("The lease of the workspace is over.")
        label = label.join(lease.label)
        if lease.access != "rw":
            await run_sync(partial(self._settle_scratch, lease, index, label))
            return Capture(writes=(), changes=())
        try:
            changes = await run_sync(partial(self._find, lease, index, label))
        except TooBig as error:
            raise ToolError(
                f"The workspace is beyond its limits ({error}); nothing was kept. Remove what is not needed."
            ) from None
        if not changes.contents and not changes.deleted:
            return Capture(writes=(), changes=(), refused=tuple(changes.refused))
        return await self._written(lease, changes, author=author, turn=turn, at=at, label=label)

    async def remove(self, session: SessionKey) -> None:
        """The directories of the session's scope are gone. Raises ToolError while one is in use, OSError if one stays."""
        place = place_of(session, self._scope(session))
        if self._slots.is_taken(place):
            raise ToolError("The workspace is in use by a running command.")
        await run_sync(remove_tree, self._root / place)

    async def tidy(self, *, unused_seconds: float, now: float) -> int:
        """Remove directories that nobody used for so long; gives how many. Documents are untouched."""
        return await run_sync(partial(self._tidy, unused_seconds, now))

    def _tidy(self, unused_seconds: float, now: float) -> int:
        removed = 0
        for place in sorted(self._root.iterdir()) if self._root.is_dir() else ():
            used = max((entry.stat().st_mtime for entry in place.glob("*/*.json")), default=0.0)
            if now - used > unused_seconds and not self._slots.is_taken(place.name):
                remove_tree(place)
                removed += 1
        return removed

    def _begin(self, slot: Path, access: Access, wanted: Mapping[str, DocumentVersion]) -> tuple[Index, list[str]]:
        """The directory, marked as in use, and what has to be written into it. It is emptied first if its last use never came
        to an end."""
        slot.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark = slot / "in-use"
        index = indexes.load(_index_of(slot, access))
        free = os.statvfs(slot)
        if index is None or mark.exists() or free.f_bavail * free.f_frsize < self._limits.free_bytes:
            for name in ("files", "scratch", "agent"):
                remove_tree(slot / name)
            for other in ("rw", "ro", "none"):
                _index_of(slot, other).unlink(missing_ok=True)
            index = Index(executable=index.executable if index is not None else {})
        mark.touch(mode=0o600)
        if access != "rw":
            with open_tree(slot / "scratch", self._owner):
                pass
        if access == "none":
            return index, []
        return index, self._plan(slot / ("files" if access == "rw" else "agent"), wanted, index)

    def _walk(self, tree: Tree) -> Walked:
        limits = self._limits
        return tree.walk(
            most_files=limits.files,
            most_bytes=limits.bytes,
            depth=limits.depth,
            leaves_aside=self._scratch.__contains__,
        )

    async def _wanted(self, session: SessionKey) -> dict[str, DocumentVersion]:
        folder = self._folder(session)
        listed = await self._documents.list(COLLECTION, pattern=f"{folder}**")
        visible = {path: version for version in listed if not self._hides(path := version.path.removeprefix(folder), session)}
        wanted = layout.fits_a_directory(visible, self._limits.file_bytes)
        if len(wanted) > self._limits.files or sum(version.size for version in wanted.values()) > self._limits.bytes:
            raise ToolError("The workspace is too big to be laid out for a command.")
        return wanted

    def _plan(self, directory: Path, wanted: Mapping[str, DocumentVersion], index: Index) -> list[str]:
        try:
            with open_tree(directory, self._owner) as tree:
                return layout.plan(tree, wanted, index, self._walk).missing
        except TooBig:
            # Left there by commands: nothing of it is a document.
            remove_tree(directory)
            for path in list(index.files):
                index.forget(path)
            index.leave(None)
            return list(wanted)

    async def _fill(
        self,
        directory: Path,
        wanted: Mapping[str, DocumentVersion],
        missing: list[str],
        index: Index,
    ) -> None:
        batch: dict[str, tuple[DocumentVersion, bytes]] = {}
        size = 0
        for path in missing:
            version = wanted[path]
            found = await self._documents.get(COLLECTION, version.path, version=version.version)
            if found is None:
                continue
            batch[path] = (version, found[1])
            size += len(found[1])
            if size > _BATCH_BYTES:
                await run_sync(layout.write, directory, self._owner, batch, index)
                batch, size = {}, 0
        await run_sync(layout.write, directory, self._owner, batch, index)

    def _folder(self, session: SessionKey) -> str:
        # Who shares one directory shares the documents in it.
        return self._folder_of("main" if self._scope(session) == "shared" else session.agent)

    def _hides(self, path: str, session: SessionKey) -> bool:
        return bool(self._protected(path)) or (path.casefold() == _MEMORY and not self._is_private(session))

    def _forbidden(self, session: SessionKey, path: str) -> str:
        if path.casefold() == _MEMORY and not self._is_private(session):
            return "it belongs to private conversations"
        reason = self._protected(path)
        return f"it is protected: {reason}" if reason else ""

    def _find(self, lease: WorkspaceLease, index: Index, label: Label) -> Changes:
        """The index is written at once: what is not committed afterwards differs from the documents, and they win."""
        directory = Path(lease.directory)
        changes = find_changes(
            directory,
            self._owner,
            lease.base,
            index,
            walk=self._walk,
            forbidden=partial(self._forbidden, lease.session),
            most_file=self._limits.file_bytes,
            most_taken=self._limits.taken_bytes,
        )
        residue = _joined(index.residue, label) if changes.has_residue else None
        # What was told before is not told at every command again.
        changes.refused[:0] = index.leave(residue, tuple(changes.left))
        _end(directory.parent, index, lease.access)
        return changes

    def _settle_scratch(self, lease: WorkspaceLease, index: Index, label: Label) -> None:
        directory = Path(lease.directory)
        try:
            with open_tree(directory, self._owner) as tree:
                walked = self._walk(tree)
            has_residue = bool(walked.files or walked.odd or walked.left_aside)
        except TooBig:
            remove_tree(directory)
            has_residue = False
        index.leave(_joined(index.residue, label) if has_residue else None)
        _end(directory.parent, index, lease.access)

    async def _written(
        self, lease: WorkspaceLease, changes: Changes, *, author: str, turn: str, at: float, label: Label
    ) -> Capture:
        """As writes that hold only if nobody else wrote meanwhile; what is known to be otherwise is named instead."""
        folder = self._folder(lease.session)
        listed = await self._documents.list(COLLECTION, pattern=f"{folder}**")
        now = {version.path.removeprefix(folder): version for version in listed}
        owners = {version.path.casefold() for version in await self._documents.list(BOOTSTRAP)}
        writes: list[Put | Tombstone] = []
        shown: list[FileChange] = []
        refused = list(changes.refused)
        room = _DIFFS_IN_ALL
        # What people wrote comes before what tools keep in hidden folders.
        for path in sorted({*changes.contents, *changes.deleted}, key=lambda path: (_is_hidden(path), path)):
            content = changes.contents.get(path)
            base, newest = lease.base.get(path), now.get(path)
            if (newest.digest if newest else None) == (None if content is None else digest_of(content)):
                continue
            if (folder + path).casefold() in owners:
                refused.append(f"{path}: it is one of the owner's own files")
                continue
            if (newest.version if newest else 0) != (base.version if base else 0):
                refused.append(f"{path}: it was changed by somebody else meanwhile")
                continue
            expect = base.version if base else 0
            place = folder + path
            if content is None:
                writes.append(
                    Tombstone(collection=COLLECTION, path=place, at=at, author=author, turn=turn, expect_version=expect)
                )
            else:
                writes.append(
                    Put(
                        collection=COLLECTION,
                        path=place,
                        content=content,
                        at=at,
                        author=author,
                        turn=turn,
                        label=label,
                        expect_version=expect,
                    )
                )
            change = await self._shown(path, base, content, room)
            room -= len(change.diff)
            shown.append(change)
        return Capture(writes=tuple(writes), changes=tuple(shown), refused=tuple(refused))

    async def _shown(self, path: str, base: DocumentVersion | None, content: bytes | None, room: int) -> FileChange:
        size = 0 if content is None else len(content)
        diff = ""
        if room > _LEAST_DIFF and not path.startswith(".git/") and max(size, base.size if base else 0) <= _DIFFED:
            old = await self._documents.get(base.collection, base.path, version=base.version) if base else None
            diff = self._diff(old[1] if old else None, content, path, room)
        change: Literal["added", "changed", "deleted"] = "deleted" if content is None else "changed" if base else "added"
        return FileChange(path=path, change=change, size=size, diff=diff)


def _is_hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path


def _index_of(slot: Path, access: str) -> Path:
    return slot / f"{access}.json"


def _joined(label: Label | None, other: Label) -> Label:
    return other if label is None else label.join(other)


def _end(slot: Path, index: Index, access: str) -> None:
    indexes.save(index, _index_of(slot, access))
    # Last: whoever finds the mark does not trust the index.
    (slot / "in-use").unlink(missing_ok=True)
