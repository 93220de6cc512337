"""Files on disk beside documents of the vault: looked at without following a link, written whole or not at all."""

import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass

STATE = ".ostiary-sync.json"
_LEFT_OUT = frozenset({".git", ".hg", ".svn", ".jj", ".ds_store", "thumbs.db", "git~1", STATE})
_ASIDE = ".ostiary-tmp-"
_DEEPEST = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A regular file. `path` is how a document spells it, `place` where it lies; `mark` changes when the file does."""

    path: str
    place: Path
    size: int
    executable: bool
    mark: tuple[int, int, int]


def walk(root: Path) -> tuple[list[Found], dict[str, str]]:
    """The files below a folder in path order, and the paths that were left out, each with the reason.

    Raises BadInput if it is no folder."""
    if not root.is_dir():
        raise BadInput(f"{root} is not a folder", hint="Make it first, or check the name.")
    found: dict[str, Found] = {}
    left: dict[str, str] = {}
    try:
        for entry, path, problem in _walk(root, "", 0):
            if problem:
                left[path] = problem
                continue
            seen = entry.stat(follow_symlinks=False)
            spelled = unicodedata.normalize("NFC", path)
            if spelled in found:
                left[path] = "another file has the same name in other bytes"
                continue
            found[spelled] = Found(
                path=spelled,
                place=Path(entry.path),
                size=seen.st_size,
                executable=bool(seen.st_mode & stat.S_IXUSR),
                mark=(seen.st_size, seen.st_mtime_ns, seen.st_ino),
            )
    except OSError as error:
        raise BadInput(f"{error.filename or root} cannot be read: {error.strerror}") from None
    return [found[path] for path in sorted(found)], left


def _walk(root: Path, under: str, depth: int) -> Iterator[tuple["os.DirEntry[str]", str, str]]:
    with os.scandir(root / under) as entries:
        ordered = sorted(entries, key=lambda each: each.name)
    for entry in ordered:
        if is_left_out(entry.name):
            continue
        path = f"{under}/{entry.name}" if under else entry.name
        if entry.is_symlink():
            yield entry, path, "a link"
        elif entry.is_dir(follow_symlinks=False):
            if depth < _DEEPEST:
                yield from _walk(root, path, depth + 1)
            else:
                yield entry, path, "too deep"
        elif not entry.is_file(follow_symlinks=False):
            yield entry, path, "neither file nor folder"
        else:
            yield entry, path, "" if _is_text(path) else "its name is no text"


def is_left_out(path: str) -> bool:
    """What never goes between disk and vault: version control's own files, whose hooks are programs, and our own. Spelled in
    any way that some disk takes for the same name."""
    return any(_folded(part) in _LEFT_OUT or part.startswith(_ASIDE) for part in path.split("/"))


def _folded(name: str) -> str:
    seen = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in ("Cf", "Cc"))
    return seen.casefold().rstrip(" .")


def unfit(path: str) -> str:
    """Why a document cannot lie on disk; empty if it can."""
    if is_left_out(path):
        return "never written to a folder"
    return "" if _is_text(path) else "its name holds characters nobody sees"


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return path.isprintable()


def read(place: Path, limit: int) -> bytes | None:
    """The content, never through a link; None if it went away, became something else or is longer than `limit`."""
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        try:
            content = file.read(limit + 1)
        except OSError:
            return None
    return content if len(content) <= limit else None


def is_taken(place: Path) -> bool:
    """Also by a link that leads nowhere."""
    return os.path.lexists(place)


def place_below(root: Path, path: str) -> Path:
    """Where a document's path lies below a folder, its folders made. Raises BadInput if a link or a file is in the way."""
    at = root
    *folders, name = path.split("/")
    for part in folders:
        at = at / part
        try:
            at.mkdir(exist_ok=True)
        except OSError as error:
            raise BadInput(f"{at} cannot be made: {error.strerror}") from None
        if at.is_symlink():
            raise BadInput(f"{at} is a link: nothing is written through it")
    return at / name


def write_aside(place: Path, content: bytes, *, executable: bool = False, private: bool = False) -> None:
    """Whole or not at all; a link at the end is replaced, not followed. Raises BadInput."""
    aside = place.with_name(f"{_ASIDE}{os.getpid()}-{secrets.token_hex(4)}")
    mode = 0o600 if private else 0o777 if executable else 0o666
    try:
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(aside, place)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInput(f"{place} cannot be written: {error.strerror}") from None


def remove_empty(folder: Path, root: Path) -> None:
    """Folders that a deletion left empty go, too, up to `root`."""
    while folder != root and root in folder.parents:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
