"""Finding out what a command did to a directory."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ostiary.adapters.workspace.index import Index
from ostiary.adapters.workspace.tree import Found, Owner, Tree, Unfit, Walked, digest_of, open_tree
from ostiary.contracts.store import DocumentVersion

_MANY = 10


@dataclass(slots=True)
class Changes:
    """`contents` are new or changed files, by path. `left` says what stays there without being taken, and why;
    `has_residue` also counts folders that nobody wants to keep. `refused` is what was not done."""

    contents: dict[str, bytes] = field(default_factory=dict)
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
        names = _names(base)
        room = most_taken
        for path, found in walked.files.items():
            seen = index.files.get(path)
            if seen is not None and seen.still(found):
                index.note(path, found)
                continue
            reason = _reason(path, found, names, most_file, room, forbidden)
            if reason:
                changes.left.append(f"{path}: {reason}")
                continue
            room -= _take(tree, path, found, index, changes, most_file)
            names.setdefault(path.casefold(), path)
    _note_deleted(walked, base, index, changes)
    changes.has_residue = bool(changes.left or walked.left_aside)
    return changes


def _names(base: Mapping[str, DocumentVersion]) -> dict[str, str]:
    return {path.casefold(): path for path in base}


def _reason(path: str, found: Found, names: Mapping[str, str], most_file: int, room: int, forbidden: Callable[[str], str]) -> str:
    twin = names.get(path.casefold(), path)
    if twin != path:
        return f"its name differs only in case from {twin}"
    if found.size > most_file:
        return f"it is too big ({found.size:,} bytes, at most {most_file:,})"
    if found.size > room:
        return "too much was changed at once"
    return forbidden(path)


def _take(tree: Tree, path: str, found: Found, index: Index, changes: Changes, most_file: int) -> int:
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
    is_same = seen is not None and seen.digest == digest
    index.see(path, digest, now, now_ns=time.time_ns())
    if is_same:
        return 0
    changes.contents[path] = content
    return len(content)


def _note_odd(walked: Walked, changes: Changes) -> None:
    for path, reason in walked.odd.items():
        changes.left.append(f"{_shown(path)}: {reason}")


def _note_deleted(walked: Walked, base: Mapping[str, DocumentVersion], index: Index, changes: Changes) -> None:
    """What cannot be seen is not thereby deleted, and neither is everything at once."""
    hidden = tuple(f"{folder}/" for folder in (*walked.unread, *walked.left_aside))
    deleted = [
        path
        for path in base
        if path not in walked.files
        and path not in walked.odd
        and not path.startswith(hidden)
        and not any(path.startswith(f"{odd}/") for odd in walked.odd)
    ]
    if len(base) >= _MANY and len(deleted) * 2 > len(base) and not walked.files:
        changes.refused.append(f"{len(deleted)} files: the directory is empty; delete them by name if that is meant")
        for path in deleted:
            # Unknown from now on, so that they are laid out again.
            index.forget(path)
        return
    changes.deleted = deleted
    for path in deleted:
        index.forget(path)


def _shown(path: str) -> str:
    return path.encode("utf-8", "replace").decode()[:200]
