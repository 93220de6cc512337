"""The workspace of exec: the agent's documents in one live directory per session, changes brought back as versions."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from ostiary.adapters.workspace import layout, live
from ostiary.adapters.workspace.changes import Changes, find_changes
from ostiary.adapters.workspace.filling import fill
from ostiary.adapters.workspace.live import STALE, LiveTree
from ostiary.adapters.workspace.rescue import Commit, Rescue
from ostiary.adapters.workspace.sight import Sight, WorkspaceLimits, label_of
from ostiary.adapters.workspace.slots import Scope, Slots, place_of
from ostiary.adapters.workspace.tree import Owner, TooBig, Tree, Walked, open_tree, remove_tree
from ostiary.adapters.workspace.writes import COLLECTION, Diff, Draft, Drafting, Signed
from ostiary.contracts.content import Label
from ostiary.contracts.errors import Conflict, ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Audit, Documents, DocumentVersion
from ostiary.contracts.workspace import NOBODY, Access, Capture, Use, WorkspaceLease

SCRATCH = (
    *("node_modules", ".venv", "__pycache__", ".cache", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox"),
    *(".nox", ".npm", ".local", ".gradle", ".m2"),
)
_REMEMBERED = 8
_ATTEMPTS = 4


class DocumentWorkspace:
    """`root` is ours alone (`<state>/workspaces`). `owner` is whom the sandbox runs commands as, None if as ourselves. `diff`
    shows a change. `commit` writes what is kept while nobody waits for it; without it only `capture` brings changes back.
    See Sight for what is laid out and taken.

    A directory is kept between uses and brought up to date with what changed in the documents. Folders named in `scratch` and
    what was not taken stay in it until the disk runs short, and their label goes on every later use."""

    def __init__(
        self,
        documents: Documents,
        root: Path,
        *,
        folder_of: Callable[[str], str],
        diff: Diff,
        commit: Commit | None = None,
        scope: Callable[[SessionKey], Scope] = lambda session: "agent",
        protected: Callable[[str], str] = lambda path: "",
        is_private: Callable[[SessionKey], bool] = lambda session: False,
        owner: Owner | None = None,
        limits: WorkspaceLimits | None = None,
        scratch: tuple[str, ...] = SCRATCH,
    ) -> None:
        self._documents = documents
        self._root = root
        self._diff = diff
        self._commit = commit
        self._scope = scope
        self._owner = owner
        self._limits = limits or WorkspaceLimits()
        self._scratch = frozenset(scratch)
        self._sight = Sight(documents, self._limits, folder_of=folder_of, scope=scope, protected=protected, is_private=is_private)
        self._rescue = Rescue(
            documents=documents, sight=self._sight, commit=commit, owner=owner, walk=self._walk, drafting=self._drafting
        )
        self._slots = Slots(root, most=self._limits.copies, seconds=self._limits.wait_seconds)
        self._trees: OrderedDict[tuple[Path, bool], LiveTree] = OrderedDict()
        self._loading = anyio.Lock()
        self._keys = count(1)
        self._held: dict[int, tuple[LiveTree, int]] = {}

    @asynccontextmanager
    async def lease(self, session: SessionKey, *, access: Access, use: Use = NOBODY) -> AsyncIterator[WorkspaceLease]:
        """See the port. Raises OSError if the machine's disk does not take the files."""
        async with self._slots.take(place_of(session, self._scope(session)), session) as slot:
            tree, key = await self._tree(slot, access), next(self._keys)
            async with tree.lock:
                told = await self._ready(tree, session, access, use)
                lease = WorkspaceLease(
                    session=session,
                    access=access,
                    directory=str(tree.directory),
                    agent_directory=str(tree.documents) if access == "ro" else "",
                    base=tree.base if access != "none" else {},
                    label=tree.label(),
                    use=use,
                    told=told,
                )
                await run_sync(tree.open, use)
                tree.users[key] = use
                tree.session = session
            self._held[id(lease)] = (tree, key)
            try:
                yield lease
            finally:
                tree.users.pop(key, None)
                self._held.pop(id(lease), None)

    async def capture(self, lease: WorkspaceLease, *, author: str, turn: str, at: float, label: Label) -> Capture:
        """See the port. A lease that ends without it leaves the directory to be looked through at its next use."""
        tree, key = self._tree_of(lease)
        async with tree.lock:
            label = label.join(lease.label).join(tree.label(besides=key))
            if lease.access != "rw":
                await run_sync(self._settle_scratch, tree, label)
                return Capture(writes=(), changes=())
            told = await self._rescue.uncommitted(tree, lease.session, at=at)
            use = Use(author=author, turn=turn, at=at, label=label)
            changes = await self._find(tree, lease.session, label)
            await self._sight.refresh()
            draft = await self._draft(tree, lease.session, changes, use)
            draft.kept_aside[:0] = told
            tree.index.hand_out(draft.pending, use if draft.pending else None)
            await run_sync(tree.close)
        return draft.capture()

    async def keep(self, lease: WorkspaceLease, *, at: float, is_over: bool = False) -> Capture:
        tree, key = self._tree_of(lease)
        if lease.access != "rw":
            return Capture(writes=(), changes=())
        async with tree.lock:
            label = lease.use.label.join(lease.label).join(tree.label(besides=key))
            use = Use(author=lease.use.author, turn=lease.use.turn, at=at, label=label)
            capture = await self._keep(tree, lease.session, use)
            await run_sync(tree.close if is_over else tree.save)
            return capture

    async def follow(self, lease: WorkspaceLease, *, at: float) -> None:
        tree, _ = self._tree_of(lease)
        await self._sight.refresh()
        if lease.access == "none" or tree.generation == self._sight.generation(lease.session):
            return
        missing, gone = layout.compare(self._sight.wanted(lease.session), tree.index)
        if lease.access == "rw" and (missing or gone):
            await self.keep(lease, at=at)
        else:
            async with tree.lock:
                await self._bring_up(tree, lease.session)

    async def settle(self, session: SessionKey, *, at: float) -> None:
        place = place_of(session, self._scope(session))
        for (slot, _), tree in list(self._trees.items()):
            if slot.parent.name == place and tree.index.pending and tree.session == session:
                async with tree.lock:
                    tree.told += await self._rescue.uncommitted(tree, session, at=at)

    def label_of(self, lease: WorkspaceLease) -> Label:
        tree, key = self._tree_of(lease)
        return lease.label.join(lease.use.label).join(tree.label(besides=key))

    async def remove(self, session: SessionKey) -> None:
        """The directories of the session's scope are gone. Raises ToolError while one is in use, OSError if one stays."""
        place = place_of(session, self._scope(session))
        if self._slots.is_taken(place):
            raise ToolError("The workspace is in use by a running command.")
        self._forget(place)
        await run_sync(remove_tree, self._root / place)

    async def tidy(self, *, unused_seconds: float, now: float) -> int:
        """Remove directories that nobody used for so long and in which nothing waits to be kept; gives how many. Documents are
        untouched. Raises OSError."""
        removed = 0
        for place in await run_sync(self._unused, unused_seconds, now):
            # Nobody can take it between the look and the rename; whoever takes it afterwards gets a new one.
            if not self._slots.is_taken(place.name):
                self._forget(place.name)
                gone = place.rename(self._root / f".gone-{removed}-{now:.0f}")
                await run_sync(remove_tree, gone)
                removed += 1
        return removed

    async def recover(self, *, at: float) -> tuple[str, ...]:
        """Keep aside what commands of an earlier life had written and nobody had captured; tells what is where."""
        told: list[str] = []
        for slot, agent in await run_sync(self._unfinished):
            tree = await self._tree(slot, "rw")
            async with tree.lock:
                if not tree.users:
                    told += await self._rescued(tree, SessionKey(agent, "main"), at=at)
        return tuple(told)

    def _unfinished(self) -> list[tuple[Path, str]]:
        slots = sorted(self._root.glob("*/[0-9]*")) if self._root.is_dir() else []
        return [(slot, _agent_of(slot.parent.name)) for slot in slots if live.is_unfinished(slot)]

    def _unused(self, seconds: float, now: float) -> list[Path]:
        places = sorted(self._root.iterdir()) if self._root.is_dir() else []
        return [
            place
            for place in places
            if now - live.last_use(place) > seconds and not any(live.is_unfinished(slot) for slot in place.glob("[0-9]*"))
        ]

    def _forget(self, place: str) -> None:
        for key in [key for key in self._trees if key[0].parent.name == place]:
            del self._trees[key]

    def _tree_of(self, lease: WorkspaceLease) -> tuple[LiveTree, int]:
        held = self._held.get(id(lease))
        if held is None:
            raise ToolError("The lease of the workspace is over.")
        return held

    async def _tree(self, slot: Path, access: Access) -> LiveTree:
        key = (slot, access == "rw")
        async with self._loading:
            tree = self._trees.get(key)
            if tree is None:
                tree = self._trees[key] = await run_sync(live.load, slot, access)
            self._trees.move_to_end(key)
            idle = [other for other, held in self._trees.items() if other != key and not held.users and not held.lock.locked()]
            for other in idle[: max(0, len(self._trees) - _REMEMBERED)]:
                del self._trees[other]
            return tree

    async def _ready(self, tree: LiveTree, session: SessionKey, access: Access, use: Use) -> tuple[str, ...]:
        """Up to date and with nothing in it that is not accounted for."""
        if tree.users:
            if access == "rw" and self._commit is not None:
                first = next(iter(tree.users.values()))
                await self._keep(tree, session, Use(author=first.author, turn=first.turn, at=use.at, label=tree.label()))
            return ()
        told, tree.told = tree.told, ()
        if access == "rw":
            told += await self._rescued(tree, session, at=use.at)
        elif tree.is_open:
            await run_sync(self._settle_scratch, tree, tree.use.label)
        await run_sync(self._make_room, tree)
        if access != "none":
            await self._bring_up(tree, session)
        return told

    def _make_room(self, tree: LiveTree) -> None:
        if not live.has_room(tree.slot, self._limits.free_bytes):
            live.empty(tree)
        with open_tree(tree.directory, self._owner):
            pass

    async def _rescued(self, tree: LiveTree, session: SessionKey, *, at: float) -> tuple[str, ...]:
        told = await self._rescue.uncommitted(tree, session, at=at)
        return told + (await self._rescue.interrupted(tree, session, at=at) if tree.is_open else ())

    async def _bring_up(self, tree: LiveTree, session: SessionKey) -> None:
        """The directory holds what the documents hold. Nothing uncaptured may be in it."""
        await self._sight.refresh()
        generation = self._sight.generation(session)
        if generation == tree.generation and tree.is_believed:
            return
        wanted = self._sight.wanted(session)
        missing = await run_sync(self._plan, tree, wanted)
        if missing:
            await fill(self._documents, tree, self._owner, wanted, missing)
        base = {path: version for path, version in wanted.items() if path in tree.index.files}
        tree.hold(base, label_of(base.values()), generation)

    def _plan(self, tree: LiveTree, wanted: dict[str, DocumentVersion]) -> list[str]:
        try:
            if not tree.is_believed:
                with open_tree(tree.documents, self._owner) as directory:
                    layout.verify(directory, tree.index, self._walk)
        except TooBig:
            # Left there by commands: nothing of it is a document.
            live.empty(tree)
        tree.is_believed = True
        missing, gone = layout.compare(wanted, tree.index)
        layout.remove(tree.documents, self._owner, gone, tree.index)
        return missing

    async def _keep(self, tree: LiveTree, session: SessionKey, use: Use) -> Capture:
        if self._commit is None:
            raise ToolError("What a command changes in the background cannot be kept here.")
        told = await self._rescue.uncommitted(tree, session, at=use.at)
        changes = await self._find(tree, session, use.label)
        for _ in range(_ATTEMPTS):
            await self._sight.refresh()
            draft = await self._draft(tree, session, changes, use)
            tree.index.hand_out(draft.pending, use if draft.pending else None)
            try:
                if draft.writes:
                    await self._commit([*draft.writes, _told(draft, session, use)])
            except Conflict:
                continue
            tree.index.hand_out({}, None)
            draft.kept_aside[:0] = told
            await self._bring_up(tree, session)
            return draft.capture()
        raise ToolError("The files were changed by others over and over; they are kept at the next command.")

    async def _find(self, tree: LiveTree, session: SessionKey, label: Label) -> Changes:
        try:
            changes = await run_sync(partial(self._find_now, tree, session, label))
        except TooBig as error:
            raise ToolError(
                f"The workspace is beyond its limits ({error}); nothing was kept. Remove what is not needed."
            ) from None
        if tree.index.is_changed:
            tree.generation = STALE
        return changes

    def _find_now(self, tree: LiveTree, session: SessionKey, label: Label) -> Changes:
        changes = find_changes(
            tree.directory,
            self._owner,
            tree.base,
            tree.index,
            walk=self._walk,
            forbidden=self._sight.forbidden(session),
            most_file=self._limits.file_bytes,
            most_taken=self._limits.taken_bytes,
        )
        residue = label if tree.index.residue is None else tree.index.residue.join(label)
        # What was told before is not told at every command again.
        changes.refused[:0] = tree.index.leave(residue if changes.has_residue else None, tuple(changes.left))
        return changes

    async def _draft(self, tree: LiveTree, session: SessionKey, changes: Changes, use: Use) -> Draft:
        draft = await self._drafting(tree, session, use).changes(changes)
        for path in draft.untaken:
            # Not known means not removed when the directory is brought up to date.
            tree.index.forget(path)
        return draft

    def _drafting(self, tree: LiveTree, session: SessionKey, use: Use) -> Drafting:
        folder = self._sight.folder(session)
        return Drafting(
            Signed(folder=folder, author=use.author, turn=use.turn, at=use.at, label=use.label),
            base=tree.base,
            now=self._sight.living(session),
            last=lambda path: version.version if (version := self._sight.newest(session, path)) else 0,
            reserved=self._sight.reserved(session),
            diff=self._diff,
            fetch=self._fetch,
        )

    async def _fetch(self, version: DocumentVersion) -> bytes | None:
        found = await self._documents.get(version.collection, version.path, version=version.version)
        return None if found is None else found[1]

    def _walk(self, tree: Tree) -> Walked:
        limits = self._limits
        return tree.walk(
            most_files=limits.files,
            most_bytes=limits.bytes,
            depth=limits.depth,
            leaves_aside=self._scratch.__contains__,
        )

    def _settle_scratch(self, tree: LiveTree, label: Label) -> None:
        try:
            with open_tree(tree.directory, self._owner) as directory:
                walked = self._walk(directory)
            has_residue = bool(walked.files or walked.odd or walked.left_aside)
        except TooBig:
            remove_tree(tree.directory)
            has_residue = False
        residue = label if tree.index.residue is None else tree.index.residue.join(label)
        tree.index.leave(residue if has_residue else None)
        tree.close()


def _told(draft: Draft, session: SessionKey, use: Use) -> Audit:
    detail = {"session": str(session), "turn": use.turn, "paths": [change.path for change in draft.shown[:50]]}
    return Audit(at=use.at, kind="files.kept", actor=use.author, subject=COLLECTION, outcome="done", detail=detail)


def _agent_of(place: str) -> str:
    """Whose documents lie in a place. The inverse of `place_of`."""
    if place.startswith("agent-"):
        return place.removeprefix("agent-")
    return place.removeprefix("session-").rpartition("-")[0] if place.startswith("session-") else "main"
