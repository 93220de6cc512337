"""Folders of notes on disk, kept in memory as they are: looked at every 1.5 seconds, by size and time of modification."""

import hashlib
import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from ostiary.assembly.config.memory import Memory
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion, Store, Write
from ostiary.core.memory.folders import KINDS, Folder, FolderPlan, Known, SeenFile, delete_file, plan_folder, put_file
from ostiary.core.memory.paths import COLLECTION

log = logging.getLogger("ostiary.memory")

POLL_SECONDS = 1.5
TEXT_BYTES = 5_000_000
PDF_BYTES = 50_000_000
MOST_FILES = 50_000
_BATCH_FILES = 200
_BATCH_BYTES = 8_000_000
_DEEPEST = 32

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What one look at a folder did. `skipped` names, with the reason, files that were not taken."""

    put: int = 0
    deleted: int = 0
    unchanged: int = 0
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    directory: Path
    folder: Folder


def watched_folders(memory: Memory) -> tuple[Watched, ...]:
    """The folders that the configuration names."""
    return tuple(
        Watched(directory=Path(each.path).expanduser(), folder=Folder(prefix=each.as_, is_trusted=each.trust == "owner"))
        for each in memory.extra_folders
    )


def scan(directory: Path) -> tuple[list[SeenFile], list[str]]:
    """The notes in a folder, in path order, and what was skipped with the reason. Links are never followed.

    Raises BadInput if it is no folder or cannot be read."""
    try:
        if not stat.S_ISDIR(os.stat(directory).st_mode):
            raise BadInput(f"{directory} is not a folder.")
        found: list[SeenFile] = []
        skipped: list[str] = []
        for path, seen in _walk(directory, "", 0):
            reason = _unfit(path, seen)
            if reason:
                skipped.append(f"{path}: {reason}")
            elif os.path.splitext(path)[1].lower() in KINDS:
                found.append(SeenFile(path=path, size=seen.st_size, modified=seen.st_mtime_ns))
    except OSError as error:
        raise BadInput(f"{directory} cannot be read: {error.strerror}.") from error
    if len(found) > MOST_FILES:
        raise BadInput(f"{directory} holds {len(found):,} notes; at most {MOST_FILES:,} are taken.")
    return sorted(found, key=lambda each: each.path), skipped


def _walk(directory: Path, under: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    """Regular files below a folder; hidden ones are left out."""
    with os.scandir(directory / under) as entries:
        ordered = sorted(entries, key=lambda each: each.name)
    for entry in ordered:
        if entry.name.startswith("."):
            continue
        path = f"{under}/{entry.name}" if under else entry.name
        if entry.is_dir(follow_symlinks=False):
            if depth < _DEEPEST:
                yield from _walk(directory, path, depth + 1)
        elif entry.is_file(follow_symlinks=False):
            yield path, entry.stat(follow_symlinks=False)


def _unfit(path: str, seen: os.stat_result) -> str:
    kind = os.path.splitext(path)[1].lower()
    if kind not in KINDS:
        return ""
    limit = PDF_BYTES if kind == ".pdf" else TEXT_BYTES
    if seen.st_size > limit:
        return f"larger than {limit // 1_000_000} MB"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "its name is no text"
    return "" if path.isprintable() else "its name holds characters nobody sees"


def read_file(directory: Path, path: str) -> bytes | None:
    """The content, never through a link at the end of the path; None if it went away or became something else."""
    try:
        handle = os.open(directory / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        content = file.read(PDF_BYTES + 1)
    return content if len(content) <= PDF_BYTES else None


class FolderSync:
    """One folder and what is known of it. Another look costs a stat per file as long as nothing changes."""

    def __init__(self, watched: Watched, *, store: Store, documents: Documents, clock: Clock, deletes: bool = True) -> None:
        self._watched = watched
        self._store = store
        self._documents = documents
        self._clock = clock
        self._deletes = deletes
        self._known = Known()
        self._seen: tuple[SeenFile, ...] = ()
        self._problem = ""

    async def look(self, progress: Progress = lambda done, of: None) -> Synced:
        """Bring memory up to date with the folder. Raises BadInput if the folder cannot be read, StoreError."""
        directory, folder = self._watched.directory, self._watched.folder
        files, skipped = await anyio.to_thread.run_sync(scan, directory)
        if self._seen and tuple(files) == self._seen:
            return Synced(unchanged=len(files), skipped=tuple(skipped))
        stored = await self._stored()
        plan = plan_folder(folder, files, self._known, stored, deletes=self._deletes)
        put, unread = await self._take(plan, stored, progress)
        gone: list[Write] = [delete_file(folder, version, at=self._clock.now()) for version in plan.gone]
        if gone:
            await self._store.commit(gone)
        self._warn(plan.problem)
        sizes = {file.path: (file.size, file.modified) for file in files if file.path not in unread}
        self._known = Known(files=sizes)
        # What could not be read is looked at again.
        self._seen = () if unread or plan.problem else tuple(files)
        unfit = tuple(f"{path}: {reason}" for path, reason in unread.items() if reason)
        return Synced(put=put, deleted=len(gone), unchanged=len(files) - put, skipped=(*skipped, *unfit))

    async def _take(
        self, plan: FolderPlan, stored: Mapping[str, DocumentVersion], progress: Progress
    ) -> tuple[int, dict[str, str]]:
        """Read and put what changed, in units of bounded size; gives how many were put and what could not be read."""
        directory, folder = self._watched.directory, self._watched.folder
        put, size = 0, 0
        unread: dict[str, str] = {}
        writes: list[Write] = []
        for number, path in enumerate(plan.read, 1):
            content = await anyio.to_thread.run_sync(read_file, directory, path)
            if content is None:
                unread[path] = ""
                continue
            digest = hashlib.sha256(content).hexdigest()
            write = put_file(folder, path, content, digest, stored.get(folder.path_of(path)), at=self._clock.now())
            if write is not None:
                writes.append(write)
                size += len(content)
                put += 1
            if len(writes) >= _BATCH_FILES or size >= _BATCH_BYTES or (writes and number == len(plan.read)):
                put -= await self._commit(writes, unread, folder)
                writes, size = [], 0
                progress(number, len(plan.read))
        if writes:
            put -= await self._commit(writes, unread, folder)
        return put, unread

    async def _commit(self, writes: Sequence[Write], unread: dict[str, str], folder: Folder) -> int:
        """One unit; if a file in it is refused, each alone. Gives how many were refused."""
        try:
            await self._store.commit(writes)
            return 0
        except BadInput:
            refused = 0
        for write in writes:
            try:
                await self._store.commit([write])
            except BadInput as error:
                path = getattr(write, "path", "").removeprefix(f"{folder.prefix}/")
                unread[path] = str(error)
                refused += 1
        return refused

    async def _stored(self) -> dict[str, DocumentVersion]:
        pattern = f"{self._watched.folder.prefix.strip('/')}/**"
        return {version.path: version for version in await self._documents.list(COLLECTION, pattern=pattern)}

    def _warn(self, problem: str) -> None:
        if problem and problem != self._problem:
            log.warning("%s", problem)
        self._problem = problem


async def watch_folders(folders: Sequence[Watched], *, store: Store, documents: Documents, clock: Clock) -> None:
    """Keep memory up to date with the folders, until cancelled. A folder that cannot be read is told once and tried again."""
    syncs = [(each, FolderSync(each, store=store, documents=documents, clock=clock)) for each in folders]
    troubles: dict[str, str] = {}
    while True:
        for watched, sync in syncs:
            name = watched.folder.prefix

            def told(done: int, of: int, name: str = name) -> None:
                if done < of:
                    log.info("memory folder %s: %d of %d files taken in", name, done, of)

            try:
                synced = await sync.look(told)
            except OstiaryError as error:
                if troubles.get(name) != str(error):
                    log.warning("memory folder %s waits: %s", name, error)
                troubles[name] = str(error)
                continue
            troubles.pop(name, None)
            if synced.put or synced.deleted:
                log.info("memory folder %s: %d put, %d deleted", name, synced.put, synced.deleted)
        await clock.sleep(POLL_SECONDS)
