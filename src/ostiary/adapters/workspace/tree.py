"""A directory that strangers have filled, touched only through descriptors: no link is ever followed, nothing special opened.

Every step of a path is opened relative to the one above it and without following links, so a rename or a link put there in the
middle leads nowhere else. Functions here block; they are called in a worker thread.
"""

import hashlib
import os
import shutil
import stat
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ostiary.contracts.records import dataclass

# A document may have 1024 bytes; the folder of its agent comes in front.
MAX_PATH = 900
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PATH: int = getattr(os, "O_PATH", os.O_RDONLY)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Owner = tuple[int, int]


class Unfit(Exception):
    """What is there is not a plain file of ours; the text says what it is."""


class TooBig(Exception):
    """The directory as a whole is beyond its limits."""


class Found(NamedTuple):
    """A regular file as the file system tells it: some number here changes with every change of content or mode. A tuple,
    since thousands are made and compared at every capture."""

    inode: int
    size: int
    modified: int
    changed: int
    is_executable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """`files` by relative path; `odd` is everything else with what it is; `unread` are folders whose content is unknown;
    `left_aside` are folders that nobody wants to keep."""

    files: dict[str, Found]
    odd: dict[str, str]
    unread: tuple[str, ...]
    left_aside: tuple[str, ...]


class Tree:
    """An open directory. `owner` is whom new files and folders are given to, None for whoever we are."""

    def __init__(self, root: int, owner: Owner | None) -> None:
        self._root = root
        self._owner = owner
        self._device = os.fstat(root).st_dev

    def walk(self, *, most_files: int, most_bytes: int, depth: int, leaves_aside: Callable[[str], bool]) -> Walked:
        """Raises TooBig. Whatever cannot be looked at is reported, never guessed."""
        walk = _Walk(self._device, most_files, most_bytes, depth, leaves_aside)
        # A second descriptor: scandir's position is shared with its duplicates.
        here = os.open(".", _FOLDER, dir_fd=self._root)
        try:
            walk.folder(here, "", 0)
        finally:
            os.close(here)
        return Walked(files=walk.files, odd=walk.odd, unread=tuple(walk.unread), left_aside=tuple(walk.left_aside))

    def read(self, path: str, most: int) -> tuple[bytes, Found]:
        """Raises Unfit for what is no longer a plain file of that size, OSError for what cannot be read."""
        with self._parent(path) as (parent, name):
            handle = _open_readable(parent, name)
        with os.fdopen(handle, "rb") as file:
            before = os.fstat(handle)
            reason = _unfit(before, self._device, most)
            if reason:
                raise Unfit(reason)
            content = file.read(most + 1)
            after = os.fstat(handle)
        if len(content) > most or _found(before) != _found(after):
            raise Unfit("it changes while it is read")
        return content, _found(after)

    def write(self, path: str, content: bytes, *, is_executable: bool) -> Found:
        """Whatever was there before is replaced, links and files in the way of folders too."""
        with self._parent(path, makes=True) as (parent, name):
            _clear(parent, name)
            handle = os.open(name, _NEW, 0o700 if is_executable else 0o600, dir_fd=parent)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                if self._owner is not None:
                    os.fchown(handle, *self._owner)
                return _found(os.fstat(handle))

    def remove(self, path: str) -> None:
        """A file or link, and the folders above it that are empty then."""
        with suppress(FileNotFoundError, NotADirectoryError):
            with self._parent(path) as (parent, name):
                _clear(parent, name)
            folder = path.rpartition("/")[0]
            while folder:
                with self._parent(folder) as (parent, name):
                    try:
                        os.rmdir(name, dir_fd=parent)
                    except OSError:
                        return
                folder = folder.rpartition("/")[0]

    @contextmanager
    def _parent(self, path: str, *, makes: bool = False) -> Iterator[tuple[int, str]]:
        *folders, name = path.split("/")
        handle = os.dup(self._root)
        try:
            for folder in folders:
                below = self._enter(handle, folder, makes)
                os.close(handle)
                handle = below
            yield handle, name
        finally:
            os.close(handle)

    def _enter(self, parent: int, name: str, makes: bool) -> int:
        try:
            return os.open(name, _FOLDER, dir_fd=parent)
        except OSError:
            if not makes:
                raise
        if not _is_folder(parent, name):
            _clear(parent, name)
            os.mkdir(name, 0o700, dir_fd=parent)
        else:
            _make_accessible(parent, name, 0o700)
        handle = os.open(name, _FOLDER, dir_fd=parent)
        if self._owner is not None:
            os.fchown(handle, *self._owner)
        return handle


@contextmanager
def open_tree(directory: Path, owner: Owner | None = None) -> Iterator[Tree]:
    """Made with mode 0700 if it is not there."""
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700, parents=True)
    root = os.open(directory, _FOLDER)
    try:
        if owner is not None:
            os.fchown(root, *owner)
        os.fchmod(root, 0o700)
        yield Tree(root, owner)
    finally:
        os.close(root)


def remove_tree(directory: Path) -> None:
    """Raises OSError if anything of it is left."""
    if not directory.is_symlink() and not directory.exists():
        return
    with suppress(OSError):
        shutil.rmtree(directory)
    if directory.exists():
        # Folders without rights stop the first attempt.
        with open_tree(directory) as tree:
            tree.walk(most_files=10_000_000, most_bytes=2**62, depth=10_000, leaves_aside=lambda name: False)
        shutil.rmtree(directory)
    if directory.exists():
        raise OSError(f"{directory} could not be removed")


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def bad_name(name: str) -> str:
    """Why a name cannot be that of a document, empty if it can."""
    if name.isascii() and name.isprintable() and "\\" not in name:
        return ""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if not name.isprintable() or "\\" in name:
        return "its name has control or invisible characters"
    if not name.isascii() and not unicodedata.is_normalized("NFC", name):
        return "its name is not in Unicode form NFC"
    return ""


class _Walk:
    def __init__(self, device: int, most_files: int, most_bytes: int, depth: int, leaves_aside: Callable[[str], bool]) -> None:
        self._device = device
        self._most_entries = most_files
        self._room = most_bytes
        self._depth = depth
        self._leaves_aside = leaves_aside
        self._entries = 0
        self.files: dict[str, Found] = {}
        self.odd: dict[str, str] = {}
        self.unread: list[str] = []
        self.left_aside: list[str] = []

    def folder(self, handle: int, prefix: str, depth: int) -> None:
        names = sorted(os.listdir(handle))
        self._entries += len(names)
        if self._entries > self._most_entries:
            raise TooBig(f"more than {self._most_entries:,} files and folders")
        device, files = self._device, self.files
        for name in names:
            path = prefix + name
            try:
                found = os.stat(name, dir_fd=handle, follow_symlinks=False)
            except OSError:
                self.odd[path] = "it cannot be looked at"
                continue
            mode = found.st_mode
            if stat.S_ISDIR(mode):
                self._folder_entry(handle, name, path, found, depth)
                continue
            is_plain = stat.S_ISREG(mode)
            self._room -= found.st_blocks * 512 if is_plain else 0
            if self._room < 0:
                raise TooBig("more bytes than the workspace may hold")
            reason = bad_name(name)
            if not reason and not (is_plain and found.st_nlink == 1 and found.st_dev == device):
                reason = _unfit(found, device, None)
            if reason or _is_too_long(path):
                self.odd[path] = reason or "its path is too long"
            else:
                files[path] = _found(found)

    def _folder_entry(self, handle: int, name: str, path: str, found: os.stat_result, depth: int) -> None:
        reason = bad_name(name)
        if self._leaves_aside(name):
            self.left_aside.append(path)
        elif reason or _is_too_long(path) or depth >= self._depth or found.st_dev != self._device:
            self.odd[path] = reason or "its path is too long"
            self.unread.append(path)
        else:
            self._down(handle, name, path, depth)

    def _down(self, handle: int, name: str, path: str, depth: int) -> None:
        try:
            below = os.open(name, _FOLDER, dir_fd=handle)
        except PermissionError:
            _make_accessible(handle, name, 0o700)
            try:
                below = os.open(name, _FOLDER, dir_fd=handle)
            except OSError:
                self.unread.append(path)
                self.odd[path] = "it cannot be opened"
                return
        except OSError:
            self.unread.append(path)
            self.odd[path] = "it cannot be opened"
            return
        try:
            self.folder(below, f"{path}/", depth + 1)
        finally:
            os.close(below)


def _is_too_long(path: str) -> bool:
    return len(path) * 4 > MAX_PATH and len(os.fsencode(path)) > MAX_PATH


def _unfit(found: os.stat_result, device: int, most: int | None) -> str:
    mode = found.st_mode
    if stat.S_ISLNK(mode):
        return "it is a link"
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
        return f"it is {kinds.get(stat.S_IFMT(mode), 'no file')}"
    if found.st_nlink > 1:
        return "it has several names (hard links)"
    if found.st_dev != device:
        return "it lies on another file system"
    if most is not None and found.st_size > most:
        return f"it is too big ({found.st_size:,} bytes)"
    return ""


def _found(found: os.stat_result) -> Found:
    return Found(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, bool(found.st_mode & stat.S_IXUSR))


def _open_readable(parent: int, name: str) -> int:
    try:
        return os.open(name, _FILE, dir_fd=parent)
    except PermissionError:
        _make_accessible(parent, name, 0o600)
        return os.open(name, _FILE, dir_fd=parent)
    except OSError as error:
        # ELOOP for a link, ENXIO for a socket.
        raise Unfit("it is no plain file any more") from error


def _is_folder(parent: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _make_accessible(parent: int, name: str, mode: int) -> None:
    """Give ourselves the rights a command took away; through a descriptor, so that no link is followed."""
    with suppress(OSError):
        handle = os.open(name, _PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            if not stat.S_ISLNK(os.fstat(handle).st_mode):
                os.chmod(f"/proc/self/fd/{handle}", mode)
        finally:
            os.close(handle)


def _clear(parent: int, name: str) -> None:
    """Nothing is called `name` afterwards."""
    if _is_folder(parent, name):
        shutil.rmtree(name, dir_fd=parent)
        return
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
