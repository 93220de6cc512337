"""Laying documents out in a directory, writing only what is not there already."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ostiary.adapters.workspace.index import Index
from ostiary.adapters.workspace.tree import Found, Owner, Tree, Unfit, Walked, digest_of, open_tree
from ostiary.contracts.store import DocumentVersion

_MAX_NAME = 255


def fits_a_directory(paths: Mapping[str, DocumentVersion], most_bytes: int) -> dict[str, DocumentVersion]:
    """Documents that can lie in a directory: none inside of another, no name too long, none too big."""
    folders: dict[str, bool] = {"": True}

    def is_free(folder: str) -> bool:
        known = folders.get(folder)
        if known is None:
            above, _, name = folder.rpartition("/")
            known = folders[folder] = folder not in paths and is_free(above) and len(name.encode()) <= _MAX_NAME
        return known

    chosen: dict[str, DocumentVersion] = {}
    for path, version in paths.items():
        folder, _, name = path.rpartition("/")
        if version.size <= most_bytes and is_free(folder) and (len(name) < _MAX_NAME // 4 or len(name.encode()) <= _MAX_NAME):
            chosen[path] = version
    return chosen


def compare(wanted: Mapping[str, DocumentVersion], index: Index) -> tuple[list[str], list[str]]:
    """What has to be written and what has to go, by what we know of the directory, without looking at it."""
    known = index.files
    missing = [
        path
        for path, version in wanted.items()
        if (seen := known.get(path)) is None
        or seen.digest != version.digest
        or seen.found.is_executable is not version.executable
    ]
    gone = [path for path in known if path not in wanted]
    return missing, gone


def verify(tree: Tree, index: Index, walk: Callable[[Tree], Walked]) -> None:
    """Forget what the directory does not hold any more as we know it; `index` can be believed afterwards. Raises TooBig."""
    walked = walk(tree)
    for path in list(index.files):
        if not _is_there(tree, path, walked.files.get(path), index):
            index.forget(path)


def _is_there(tree: Tree, path: str, found: Found | None, index: Index) -> bool:
    seen = index.files[path]
    if found is None or seen.found != found:
        return False
    if seen.is_settled:
        return True
    try:
        content, now = tree.read(path, found.size)
    except (Unfit, OSError):
        return False
    if digest_of(content) != seen.digest:
        return False
    index.see(path, seen.digest, now, now_ns=time.time_ns())
    return True


def remove(directory: Path, owner: Owner | None, paths: list[str], index: Index) -> None:
    with open_tree(directory, owner) as tree:
        for path in paths:
            tree.remove(path)
            index.forget(path)


def write(directory: Path, owner: Owner | None, contents: Mapping[str, tuple[DocumentVersion, bytes]], index: Index) -> None:
    with open_tree(directory, owner) as tree:
        for path, (version, content) in contents.items():
            found = tree.write(path, content, is_executable=version.executable)
            index.see(path, version.digest, found, now_ns=time.time_ns())
