"""`ostiary memory add`: a folder of notes becomes part of memory, and can be found when the command is done."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ostiary.assembly.memory_folders import read_file, scan
from ostiary.cli.progress import Progress
from ostiary.cli.vault_access import MEMORY, Access, NewFile
from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass
from ostiary.core.memory.folders import Folder

if TYPE_CHECKING:
    from ostiary.contracts.store import DocumentVersion

_TOGETHER_FILES = 400
_TOGETHER_BYTES = 8_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """`skipped` names, with the reason, what was not taken."""

    added: int
    changed: int
    unchanged: int
    indexed: int
    skipped: tuple[str, ...]


async def add_folder(access: Access, directory: Path, prefix: str, *, is_trusted: bool, progress: Progress) -> Added:
    """Raises BadInput if the folder cannot be read, StoreError."""
    import anyio.to_thread

    folder = Folder(prefix=prefix.strip("/"), is_trusted=is_trusted)
    files, skipped = await anyio.to_thread.run_sync(scan, directory)
    if not files and not skipped:
        raise BadInput(f"{directory} holds no notes", hint="Notes end in .md, .txt, .rst, .org or .pdf.")
    known = {version.path: version for version in await access.list(MEMORY, pattern=f"{_escaped(folder.prefix)}/**")}
    added = changed = unchanged = 0
    paths = [file.path for file in files]
    done = 0
    while done < len(paths):
        batch, done, unread = await anyio.to_thread.run_sync(_read, directory, folder, paths, done)
        skipped += unread
        fresh = [file for file in batch if not _is_known(file, known.get(file.path), folder)]
        unchanged += len(batch) - len(fresh)
        for wrote in await access.put_many(MEMORY, fresh, label=folder.label) if fresh else ():
            if wrote.problem:
                skipped.append(f"{wrote.path}: {wrote.problem}")
            elif wrote.path in known:
                changed += 1
            else:
                added += 1
        progress.of("reading", done, len(paths))
    begun = (await access.status()).index.documents
    total = added + changed
    status = await access.catch_up(lambda index: progress.of("indexing", min(index.documents - begun, total), total))
    return Added(added=added, changed=changed, unchanged=unchanged, indexed=status.documents, skipped=tuple(skipped))


def _read(directory: Path, folder: Folder, paths: Sequence[str], start: int) -> tuple[list[NewFile], int, list[str]]:
    """The next files, how far that is, and what could not be read."""
    batch: list[NewFile] = []
    unread: list[str] = []
    size = 0
    place = start
    while place < len(paths) and len(batch) < _TOGETHER_FILES and size < _TOGETHER_BYTES:
        content = read_file(directory, paths[place])
        if content is None:
            unread.append(f"{paths[place]}: it cannot be read")
        else:
            batch.append(NewFile(path=folder.path_of(paths[place]), content=content, executable=False))
            size += len(content)
        place += 1
    return batch, place, unread


def _is_known(file: NewFile, stored: "DocumentVersion | None", folder: Folder) -> bool:
    """The same content, on the same word."""
    if stored is None or stored.size != len(file.content) or stored.digest != hashlib.sha256(file.content).hexdigest():
        return False
    return stored.label is not None and stored.label.trust == folder.label.trust


def _escaped(prefix: str) -> str:
    import glob

    return glob.escape(prefix)
