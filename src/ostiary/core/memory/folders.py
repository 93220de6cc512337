"""Bringing a folder of notes into memory: what changed is put, what is gone is deleted, what is the same is left alone."""

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import field

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import DocumentVersion, Put, Tombstone
from ostiary.core.memory.paths import COLLECTION

KINDS = frozenset({".md", ".markdown", ".txt", ".text", ".rst", ".org", ".pdf"})
AUTHOR = "folder"
# A folder that seems to have lost this part of its files at once is more likely not there than empty.
_LOST = 0.9
_FEW = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFile:
    """A file as it lies on disk; `digest` is empty where it was not read because size and time are the known ones."""

    path: str
    size: int
    modified: int
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPlan:
    """`read` names the files whose content is needed; `gone` are documents to delete. `problem` is a sentence: then nothing
    is deleted."""

    read: tuple[str, ...] = ()
    gone: tuple[DocumentVersion, ...] = ()
    unchanged: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """`prefix` is where its files appear. Its files are the owner's word unless `is_trusted` says no."""

    prefix: str
    is_trusted: bool = True
    author: str = AUTHOR

    @property
    def label(self) -> Label:
        trust = Trust.OWNER if self.is_trusted else Trust.UNTRUSTED
        return Label(trust=trust, sources=(f"folder:{self.prefix}",), private=True)

    def path_of(self, file: str) -> str:
        """Documents have one spelling, disks have several."""
        return unicodedata.normalize("NFC", f"{self.prefix.strip('/')}/{file}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was there last time, by path within the folder: size and time of modification."""

    files: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def plan_folder(
    folder: Folder, seen: Collection[SeenFile], known: Known, stored: Mapping[str, DocumentVersion], *, deletes: bool
) -> FolderPlan:
    """`stored` are the living documents by path in the collection. Never deletes most of many at once, nor what somebody else
    wrote there."""
    wanted = {folder.path_of(file.path) for file in seen}
    read = tuple(
        file.path
        for file in seen
        if known.files.get(file.path) != (file.size, file.modified) or folder.path_of(file.path) not in stored
    )
    start = f"{folder.prefix.strip('/')}/"
    own = [version for path, version in stored.items() if path.startswith(start) and version.author == folder.author]
    gone = [version for version in own if version.path not in wanted] if deletes else []
    problem = ""
    if len(gone) > _FEW and len(gone) >= len(own) * _LOST:
        problem = f"{len(gone)} of {len(own)} notes under {folder.prefix} would be deleted at once; none is. Is the folder there?"
        gone = []
    return FolderPlan(read=read, gone=tuple(gone), unchanged=len(seen) - len(read), problem=problem)


def put_file(folder: Folder, path: str, content: bytes, digest: str, stored: DocumentVersion | None, *, at: float) -> Put | None:
    """None if memory holds the same content under the same label already."""
    if stored is not None and stored.digest == digest and stored.label == folder.label:
        return None
    return Put(
        collection=COLLECTION,
        path=folder.path_of(path),
        content=content,
        at=at,
        author=folder.author,
        label=folder.label,
        executable=False,
    )


def delete_file(folder: Folder, version: DocumentVersion, *, at: float) -> Tombstone:
    return Tombstone(collection=COLLECTION, path=version.path, at=at, author=folder.author, expect_version=version.version)
