"""A folder on disk and a part of a collection, kept the same: both ways, conflicts kept, nothing deleted in bulk."""

import glob
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import anyio.to_thread

from ostiary.adapters.store.paths import folders_of
from ostiary.cli import disk
from ostiary.cli.progress import Progress
from ostiary.cli.vault_access import NewFile, VaultAccess
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import DocumentVersion
from ostiary.core.documents.syncing import Clash, File, Step, SyncPlan, sync_plan

MOST_BYTES = 100_000_000
_TOGETHER_FILES = 200
_TOGETHER_BYTES = 8_000_000
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A folder and what it is kept the same as. `prefix` ends without a slash; empty is the whole collection."""

    root: Path
    collection: str
    prefix: str = ""

    def path_of(self, file: str) -> str:
        return f"{self.prefix}/{file}" if self.prefix else file

    @property
    def pattern(self) -> str:
        return f"{glob.escape(self.prefix)}/**" if self.prefix else "**"

    def below(self, path: str) -> str:
        return path.removeprefix(f"{self.prefix}/") if self.prefix else path


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """Lines for people. `problems` were left as they are and are tried again next time."""

    to_collection: tuple[str, ...] = ()
    to_folder: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def is_quiet(self) -> bool:
        return not (self.to_collection or self.to_folder or self.conflicts or self.problems or self.refusal)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    files: Mapping[str, disk.Found]
    here: Mapping[str, File]
    versions: Mapping[str, DocumentVersion]
    left: tuple[str, ...]
    unseen: frozenset[str] = frozenset()
    """Places in the folder where something lies that was not looked at: what it is there, or was, nobody may conclude."""

    def is_unseen(self, path: str) -> bool:
        return bool(self.unseen) and any(each in self.unseen for each in (path, *folders_of(path)))

    @property
    def there(self) -> dict[str, File]:
        return {path: File(digest=each.digest, executable=each.executable) for path, each in self.versions.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Digests:
    """Digests of files by what tells that they have not changed, so that a second look reads nothing."""

    known: dict[tuple[Path, tuple[int, int, int]], str] = field(default_factory=dict)

    def of(self, found: disk.Found) -> str | None:
        """None if it cannot be read."""
        key = (found.place, found.mark)
        if key not in self.known:
            content = disk.read(found.place, MOST_BYTES)
            if content is None:
                return None
            self.known[key] = hashlib.sha256(content).hexdigest()
        return self.known[key]


def load_state(root: Path) -> dict[str, Any] | None:
    """What the last sync left; None the first time. Raises BadInput for a file that is not ours."""
    place = root / disk.STATE
    if not place.exists():
        return None
    try:
        state: dict[str, Any] = json.loads(place.read_bytes())
        is_ours = state["format"] == _FORMAT and isinstance(state["files"], dict) and isinstance(state["collection"], str)
        if is_ours and all(len(each) == 2 for each in state["files"].values()):
            return state
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise BadInput(
        f"{place} cannot be read", hint="Remove it; then the next sync compares both sides afresh and deletes nothing."
    )


def _save_state(pair: Pair, base: Mapping[str, File]) -> None:
    files = {path: [file.digest, file.executable] for path, file in sorted(base.items())}
    state = {"format": _FORMAT, "collection": pair.collection, "prefix": pair.prefix, "files": files}
    disk.write_aside(pair.root / disk.STATE, (json.dumps(state, ensure_ascii=False, indent=0) + "\n").encode())


async def sync_once(
    access: VaultAccess,
    pair: Pair,
    *,
    date: str,
    digests: Digests,
    progress: Progress,
    dry_run: bool = False,
    allow_deletions: bool = False,
) -> Synced:
    """Raises BadInput if the folder cannot be read, StoreError."""
    state = load_state(pair.root)
    base = {path: File(digest=each[0], executable=bool(each[1])) for path, each in (state or {}).get("files", {}).items()}
    sides = await _look(access, pair, digests, progress)
    untouched = {path for path in (*base, *sides.here, *sides.versions) if sides.is_unseen(path)}
    kept, here, there = (
        {path: file for path, file in side.items() if path not in untouched} for side in (base, sides.here, sides.there)
    )
    plan = sync_plan(kept, here, there, date=date, allow_deletions=allow_deletions)
    plan = replace(plan, base={**plan.base, **{path: base[path] for path in untouched if path in base}})
    if plan.refusal or dry_run:
        return _told(plan, sides)
    done = await _Work(access, pair, plan, base, sides, progress).done()
    waiting = sorted(path for path in untouched if sides.there.get(path) != base.get(path))
    return replace(
        done, problems=(*done.problems, *(f"{path}: what is left out in the folder is in its way" for path in waiting))
    )


async def _look(access: VaultAccess, pair: Pair, digests: Digests, progress: Progress) -> _Sides:
    files, unfit = await anyio.to_thread.run_sync(disk.walk, pair.root)
    unseen = set(unfit)
    left = [f"{path}: {problem}" for path, problem in unfit.items()]
    here: dict[str, File] = {}
    for number, found in enumerate(files, 1):
        digest = await anyio.to_thread.run_sync(digests.of, found) if number % 50 == 0 else digests.of(found)
        if digest is None:
            left.append(f"{found.path}: it cannot be read, or is larger than {MOST_BYTES // 1_000_000} MB")
            unseen.add(found.path)
            continue
        here[found.path] = File(digest=digest, executable=found.executable)
        progress.of("looking at", number, len(files))
    versions: dict[str, DocumentVersion] = {}
    for version in await access.list(pair.collection, pattern=pair.pattern):
        path = pair.below(version.path)
        problem = disk.unfit(path)
        if problem:
            left.append(f"{version.path}: {problem}")
        else:
            versions[path] = version
    by_path = {each.path: each for each in files}
    return _Sides(files=by_path, here=here, versions=versions, left=tuple(left), unseen=frozenset(unseen))


def _told(plan: SyncPlan, sides: _Sides) -> Synced:
    return Synced(
        to_collection=tuple(_line(step) for step in plan.to_collection),
        to_folder=tuple(_line(step) for step in plan.to_folder),
        conflicts=tuple(_clash_line(clash) for clash in plan.clashes),
        left=sides.left,
        refusal=plan.refusal,
    )


def _line(step: Step) -> str:
    return f"{step.kind} {step.path}"


def _clash_line(clash: Clash) -> str:
    return f"{clash.path}: both changed it; yours is kept as {clash.copy}"


class _Work:
    """Carries a plan out. A step that cannot be done is told, and the state remembers nothing of it."""

    def __init__(
        self,
        access: VaultAccess,
        pair: Pair,
        plan: SyncPlan,
        base: Mapping[str, File],
        sides: _Sides,
        progress: Progress,
    ) -> None:
        self._access = access
        self._pair = pair
        self._plan = plan
        self._base = base
        self._sides = sides
        self._progress = progress
        self._places = {path: each.place for path, each in sides.files.items()}
        self._failed: dict[str, str] = {}

    async def done(self) -> Synced:
        plan = self._plan
        for clash in plan.clashes:
            self._rename(clash)
        await self._up([step for step in plan.to_collection if step.path not in self._failed])
        for number, step in enumerate(plan.to_folder, 1):
            if step.path not in self._failed:
                await self._down(step)
            self._progress.of("writing to the folder", number, len(plan.to_folder))
        after = dict(plan.base)
        for path in self._failed:
            after.pop(path, None)
            if path in self._base:
                after[path] = self._base[path]
        if after != self._base or load_state(self._pair.root) is None:
            _save_state(self._pair, after)
        return Synced(
            to_collection=tuple(_line(step) for step in plan.to_collection if step.path not in self._failed),
            to_folder=tuple(_line(step) for step in plan.to_folder if step.path not in self._failed),
            conflicts=tuple(_clash_line(clash) for clash in plan.clashes if clash.path not in self._failed),
            problems=tuple(f"{path}: {why}" for path, why in self._failed.items()),
            left=self._sides.left,
        )

    def _rename(self, clash: Clash) -> None:
        old = self._places[clash.path]
        new = old.with_name(clash.copy.rpartition("/")[2])
        try:
            if new.exists():
                raise FileExistsError(17, "the name for the copy is taken")
            old.rename(new)
            self._places[clash.copy] = new
        except OSError as error:
            self._failed[clash.path] = self._failed[clash.copy] = str(error.strerror)

    async def _up(self, steps: Sequence[Step]) -> None:
        batch: list[NewFile] = []
        size = 0
        for number, step in enumerate(steps, 1):
            if step.file is None:
                await self._delete(step)
            else:
                content = disk.read(self._places[step.path], MOST_BYTES)
                if content is None or hashlib.sha256(content).hexdigest() != step.file.digest:
                    self._failed[step.path] = "it changed while this ran"
                    continue
                path = self._pair.path_of(step.path)
                expect = self._sides.versions[step.path].version if step.expected is not None else 0
                batch.append(NewFile(path=path, content=content, executable=step.file.executable, expect=expect))
                size += len(content)
            if len(batch) >= _TOGETHER_FILES or size >= _TOGETHER_BYTES:
                await self._put(batch)
                batch, size = [], 0
            self._progress.of("writing to the vault", number, len(steps))
        await self._put(batch)

    async def _put(self, batch: Sequence[NewFile]) -> None:
        if not batch:
            return
        for wrote in await self._access.put_many(self._pair.collection, batch):
            if wrote.problem:
                why = "it changed in the vault while this ran" if wrote.is_conflict else wrote.problem
                self._failed[self._pair.below(wrote.path)] = why

    async def _delete(self, step: Step) -> None:
        version = self._sides.versions[step.path].version
        try:
            await self._access.delete(self._pair.collection, self._pair.path_of(step.path), expect=version)
        except (Conflict, BadInput) as error:
            self._failed[step.path] = str(error)

    async def _down(self, step: Step) -> None:
        """The file on disk is looked at once more right before: what its owner saved meanwhile is not written over."""
        try:
            place = self._places.get(step.path) or disk.place_below(self._pair.root, step.path)
            if step.path in {clash.path for clash in self._plan.clashes}:
                place = disk.place_below(self._pair.root, step.path)
            content = disk.read(place, MOST_BYTES) if place.exists() else None
            digest = "" if content is None else hashlib.sha256(content).hexdigest()
            if digest != ("" if step.expected is None else step.expected.digest) or place.is_symlink():
                raise BadInput("it changed while this ran")
            if step.file is None:
                place.unlink()
                disk.remove_empty(place.parent, self._pair.root)
                return
            version = self._sides.versions[step.source].version
            path = self._pair.path_of(step.source)
            found = await self._access.get(self._pair.collection, path, version=version)
            if found is None:
                raise BadInput("it was erased while this ran")
            await anyio.to_thread.run_sync(lambda: disk.write_aside(place, found[1], executable=found[0].executable))
        except (BadInput, OSError) as error:
            self._failed[step.path] = str(error)
