"""Finding out what a command did to a directory."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ostiary.adapters.workspace.index import Index
from ostiary.adapters.workspace.names import Names
from ostiary.adapters.workspace.tree import Found, Owner, Tree, Unfit, Walked, digest_of, open_tree
from ostiary.contracts.store import DocumentVersion


class Taken(NamedTuple):
    content: bytes
    digest: str
    is_executable: bool


@dataclass(slots=True)
class Changes:
    """`contents` are new or changed files, by path. `left` says what stays there without being taken, and why;
    `has_residue` also counts folders that nobody wants to keep. `refused` is what was not done."""

    contents: dict[str, Taken] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    has_residue: bool = False


def find_changes(
    directory: Path,
    owner: Owner | None,
    base: Mapping[str, DocumentVersion],
    index: Index,
    *,
    walk: Callable[[Tree], Walked],
    forbidden: Callable[[str], str],
    most_file: int,
    most_taken: int,
) -> Changes:
    """Compare the directory with `index`, which is brought up to date. `forbidden` gives the reason why a path is not taken.

    Raises TooBig."""
    changes = Changes()
    with open_tree(directory, owner) as tree:
        walked = walk(tree)
        _note_odd(walked, changes)
        known = index.files
        fresh = {path: found for path, found in walked.files.items() if path not in known or not known[path].still(found)}
        # What is deleted leaves its name to others: a file may be renamed in case alone.
        names = Names(path for path in base if _stays(path, walked)) if fresh else Names(())
        room = most_taken
        for path, found in fresh.items():
            reason = _reason(path, found, names, most_file, room, forbidden)
            if reason:
                changes.left.append(f"{path}: {reason}")
                index.forget(path)
                continue
            room -= _take(tree, path, index, changes, most_file)
            names.add(path)
    _note_deleted(walked, base, index, changes)
    changes.has_residue = bool(changes.left or walked.left_aside)
    return changes


def _stays(path: str, walked: Walked) -> bool:
    """Whether it is there, or may be where nobody could look."""
    hidden = (*walked.unread, *walked.odd, *walked.left_aside)
    return path in walked.files or path in walked.odd or any(path.startswith(f"{folder}/") for folder in hidden)


def _reason(path: str, found: Found, names: Names, most_file: int, room: int, forbidden: Callable[[str], str]) -> str:
    clash = names.clash(path)
    if clash:
        return clash
    if found.size > most_file:
        return f"it is too big ({found.size:,} bytes, at most {most_file:,})"
    if found.size > room:
        return "too much was changed at once"
    return forbidden(path)


def _take(tree: Tree, path: str, index: Index, changes: Changes, most_file: int) -> int:
    """The bytes taken. Reading decides: what was seen a moment ago may be something else by now."""
    try:
        content, now = tree.read(path, most_file)
    except Unfit as unfit:
        changes.left.append(f"{path}: {unfit}")
        return 0
    except OSError:
        changes.left.append(f"{path}: it cannot be read")
        return 0
    digest = digest_of(content)
    seen = index.files.get(path)
    is_same = seen is not None and seen.digest == digest and seen.found.is_executable is now.is_executable
    index.see(path, digest, now, now_ns=time.time_ns())
    if is_same:
        return 0
    changes.contents[path] = Taken(content, digest, now.is_executable)
    return len(content)


def _note_odd(walked: Walked, changes: Changes) -> None:
    for path, reason in walked.odd.items():
        changes.left.append(f"{_shown(path)}: {reason}")


def _note_deleted(walked: Walked, base: Mapping[str, DocumentVersion], index: Index, changes: Changes) -> None:
    """What cannot be seen is not thereby deleted, and neither is everything at once."""
    aside = tuple(f"{folder}/" for folder in walked.left_aside)
    unseen = [path for path in base if path not in walked.files and not path.startswith(aside)]
    for path in unseen:
        # Unknown from now on: what is still a document is laid out again.
        index.forget(path)
    hidden = tuple(f"{folder}/" for folder in (*walked.unread, *walked.odd))
    deleted = [path for path in unseen if path not in walked.odd and not path.startswith(hidden)]
    if deleted and not walked.files:
        changes.refused.append(f"{len(deleted)} files: the directory is empty; delete them by name if that is meant")
        return
    changes.deleted = deleted


def _shown(path: str) -> str:
    return path.encode("utf-8", "replace").decode()[:200]
