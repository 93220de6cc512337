"""What a command wrote and the documents never got: kept under a name beside, never lost silently, never laid over them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import anyio
from anyio.to_thread import run_sync

from ostiary.adapters.workspace import layout, live
from ostiary.adapters.workspace.changes import Changes, Taken, find_changes
from ostiary.adapters.workspace.index import Pending
from ostiary.adapters.workspace.live import STALE, LiveTree
from ostiary.adapters.workspace.sight import Sight, label_of
from ostiary.adapters.workspace.tree import Owner, TooBig, Tree, Unfit, Walked, digest_of, open_tree
from ostiary.adapters.workspace.writes import COLLECTION, Drafting
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Audit, Documents, Put, Tombstone, Write
from ostiary.contracts.workspace import NOBODY, Use

MOST_FILES = 50
_MOST_BYTES = 20_000_000
_COMMITTED_SECONDS = 2.0
_LOOK_SECONDS = 0.01
_INTERRUPTED = "its command was interrupted"
_UNRECORDED = "its command's result was not recorded"

Commit = Callable[[Sequence[Write]], Awaitable[object]]
Found = dict[str, Taken]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescue:
    """`commit` None: nothing can be kept, only told."""

    documents: Documents
    sight: Sight
    commit: Commit | None
    owner: Owner | None
    walk: Callable[[Tree], Walked]
    drafting: Callable[[LiveTree, SessionKey, Use], Drafting]

    async def uncommitted(self, tree: LiveTree, session: SessionKey, *, at: float) -> tuple[str, ...]:
        """Wait for the writes of the last capture to arrive. If they do not, their contents are kept aside."""
        if not tree.index.pending:
            return ()
        pending = tree.index.pending
        arrived = False
        with anyio.move_on_after(_COMMITTED_SECONDS if tree.is_believed else 0.0):
            arrived = await self._arrive(session, pending)
        if not tree.is_believed:
            # Nobody of an earlier life commits any more.
            arrived = await self._has_arrived(session, pending) is True
        lost: Found = {} if arrived else await run_sync(self._contents, tree, pending)
        told = await self._keep(tree, session, lost, tree.index.use or NOBODY, _UNRECORDED, at=at)
        tree.index.hand_out({}, None)
        tree.generation = STALE
        return told

    async def interrupted(self, tree: LiveTree, session: SessionKey, *, at: float) -> tuple[str, ...]:
        """Keep aside what a use that never came to its end has left; the directory can be brought up to date afterwards."""
        try:
            changes = await run_sync(self._left, tree, session)
        except TooBig as error:
            await run_sync(live.empty, tree)
            return (f"what an interrupted command had written: it was too much ({error})",)
        told = await self._keep(tree, session, changes.contents, tree.use, _INTERRUPTED, at=at)
        await run_sync(self._put_back, tree, list(changes.contents))
        return told

    async def _arrive(self, session: SessionKey, pending: Mapping[str, Pending]) -> bool:
        while True:
            arrived = await self._has_arrived(session, pending)
            if arrived is not None:
                return arrived
            await anyio.sleep(_LOOK_SECONDS)

    async def _has_arrived(self, session: SessionKey, pending: Mapping[str, Pending]) -> bool | None:
        """A unit is whole: one of its writes tells of all. None while nothing has happened to any of the documents."""
        await self.sight.refresh()
        for path, one in pending.items():
            newest = self.sight.newest(session, path)
            if newest is None or newest.version <= one.after:
                continue
            if newest.digest == one.digest:
                return True
            versions = await self.documents.history(COLLECTION, newest.path)
            return any(version.version > one.after and version.digest == one.digest for version in versions)
        return None

    def _contents(self, tree: LiveTree, pending: Mapping[str, Pending]) -> Found:
        """As far as they still lie there as they were captured."""
        found: Found = {}
        with open_tree(tree.directory, self.owner) as directory:
            for path, one in pending.items():
                if not one.digest:
                    continue
                try:
                    content, now = directory.read(path, _MOST_BYTES)
                except (Unfit, OSError):
                    continue
                if digest_of(content) == one.digest:
                    found[path] = Taken(content, one.digest, now.is_executable)
        return found

    def _left(self, tree: LiveTree, session: SessionKey) -> Changes:
        changes = find_changes(
            tree.directory,
            self.owner,
            {},
            tree.index,
            walk=self.walk,
            forbidden=self.sight.forbidden(session),
            most_file=_MOST_BYTES,
            most_taken=_MOST_BYTES,
        )
        residue = tree.use.label if tree.index.residue is None else tree.index.residue.join(tree.use.label)
        tree.index.leave(residue if changes.has_residue else None, tuple(changes.left))
        return changes

    def _put_back(self, tree: LiveTree, paths: list[str]) -> None:
        layout.remove(tree.directory, self.owner, paths, tree.index)
        tree.is_believed = False
        tree.close()

    async def _keep(
        self, tree: LiveTree, session: SessionKey, contents: Found, use: Use, why: str, *, at: float
    ) -> tuple[str, ...]:
        if not contents:
            return ()
        if self.commit is None:
            return tuple(f"{path}: {why}; it was not kept" for path in sorted(contents))
        await self.sight.refresh()
        chosen = {path: contents[path] for path in sorted(contents)[:MOST_FILES]}
        label = use.label.join(label_of(self.sight.living(session).values()))
        signed = Use(author=use.author or "workspace", turn=use.turn, at=at, label=label)
        draft = await self.drafting(tree, session, signed).aside(chosen, why)
        if draft.writes:
            detail = {"session": str(session), "turn": use.turn, "paths": [change.path for change in draft.shown], "why": why}
            note = Audit(at=at, kind="files.kept_aside", actor=signed.author, subject=COLLECTION, outcome="done", detail=detail)
            told = dict(zip(draft.writes, draft.kept_aside, strict=True))
            told |= await _each(self.commit, draft.writes, note)
            draft.kept_aside = list(told.values())
        left = len(contents) - len(chosen)
        return (*draft.kept_aside, *((f"{left} more files of an interrupted command: too many, not kept",) if left else ()))


async def _each(commit: Commit, writes: Sequence[Put | Tombstone], note: Audit) -> dict[Put | Tombstone, str]:
    """In one unit; if the documents cannot take one of them, each alone. Gives why some were refused: they hold up nothing."""
    try:
        await commit([*writes, note])
        return {}
    except BadInput:
        pass
    refused: dict[Put | Tombstone, str] = {}
    for write in writes:
        try:
            await commit([write, note])
        except BadInput as error:
            refused[write] = f"not kept: {error}"
    return refused
