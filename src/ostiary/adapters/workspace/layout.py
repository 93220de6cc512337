"""Laying documents out in a directory, writing only what is not there already."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ostiary.adapters.workspace.index import Index
from ostiary.adapters.workspace.tree import Found, Owner, Tree, Unfit, Walked, digest_of, open_tree
from ostiary.contracts.store import DocumentVersion

_PROGRAMS = (b"#!", b"\x7fELF")
_MAX_NAME = 255


@dataclass(slots=True)
class Plan:
    """`missing` must be written; everything else that is wanted is there already."""

    missing: list[str]
    walked: Walked


def fits_a_directory(paths: Mapping[str, DocumentVersion], most_bytes: int) -> dict[str, DocumentVersion]:
    """Documents that can lie in a directory: none inside of another, no name too long, none too big."""
    chosen: dict[str, DocumentVersion] = {}
    for path, version in paths.items():
        folders = path.split("/")
        inside = any("/".join(folders[:depth]) in paths for depth in range(1, len(folders)))
        if not inside and version.size <= most_bytes and all(len(name.encode()) <= _MAX_NAME for name in folders):
            chosen[path] = version
    return chosen


def plan(tree: Tree, wanted: Mapping[str, DocumentVersion], index: Index, walk: Callable[[Tree], Walked]) -> Plan:
    """Take away what was a document and is none any more, and find out what has to be written."""
    walked = walk(tree)
    for path in list(index.files):
        if path not in wanted:
            tree.remove(path)
            index.forget(path)
            index.executable.pop(path, None)
    missing = [path for path, version in wanted.items() if not _is_there(tree, path, version, walked.files.get(path), index)]
    return Plan(missing=missing, walked=walked)


def _is_there(tree: Tree, path: str, version: DocumentVersion, found: Found | None, index: Index) -> bool:
    seen = index.files.get(path)
    if found is None or seen is None or seen.digest != version.digest or seen.signature != found.signature:
        return False
    if seen.is_settled:
        return True
    try:
        content, now = tree.read(path, version.size)
    except (Unfit, OSError):
        return False
    if digest_of(content) != version.digest:
        return False
    index.see(path, version.digest, now, now_ns=time.time_ns())
    return True


def write(directory: Path, owner: Owner | None, contents: Mapping[str, tuple[DocumentVersion, bytes]], index: Index) -> None:
    """Scripts and programs are executable unless the directory is known to have had them otherwise."""
    with open_tree(directory, owner) as tree:
        for path, (version, content) in contents.items():
            is_executable = index.executable.get(path, content.startswith(_PROGRAMS))
            found = tree.write(path, content, is_executable=is_executable)
            index.see(path, version.digest, found, now_ns=time.time_ns())
