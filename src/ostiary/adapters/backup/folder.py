"""A folder with many backups: each piece is one file, kept once however many backups need it.

`ostiary-backup.json` (the head), `pieces/ab/abcd…` and `backups/<id>`. Everything is written aside and renamed; a backup exists
when its manifest does. One process writes at a time.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostiary.adapters.backup import header as heads
from ostiary.adapters.backup.header import Header
from ostiary.adapters.backup.sealing import Damaged
from ostiary.adapters.store.sqlite.key import sync_folder
from ostiary.contracts.errors import Busy, StoreRefused, StoreUnavailable

HEAD = "ostiary-backup.json"
_PIECES = "pieces"
_BACKUPS = "backups"
_LOCK = "lock"
_UNFINISHED = "unfinished"


class Folder:
    """A `Shelf`."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header

    @property
    def is_unfinished(self) -> bool:
        """A backup was begun and not finished: pieces that no backup names may be half written."""
        return (self.path / _UNFINISHED).exists()

    def has(self, name: bytes) -> bool:
        return self._piece(name).exists()

    def get(self, name: bytes) -> bytes:
        try:
            return self._piece(name).read_bytes()
        except FileNotFoundError as error:
            raise Damaged("it is missing") from error
        except OSError as error:
            raise Damaged(f"it cannot be read: {error.strerror}") from error

    def put(self, name: bytes, sealed: bytes) -> None:
        path = self._piece(name)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            _write(path, sealed, durable=False)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def manifests(self) -> list[str]:
        return sorted(path.name for path in (self.path / _BACKUPS).iterdir() if not path.name.startswith("."))

    def manifest(self, id: str) -> bytes:
        try:
            return (self.path / _BACKUPS / id).read_bytes()
        except OSError as error:
            raise Damaged(f"the list of its contents cannot be read: {error.strerror}") from error

    def begin(self) -> None:
        try:
            _write(self.path / _UNFINISHED, b"")
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def finish(self, id: str, sealed: bytes) -> None:
        try:
            # One wait for all the pieces instead of one for each.
            os.sync()
            _write(self.path / _BACKUPS / id, sealed)
            self.settle()
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def settle(self) -> None:
        (self.path / _UNFINISHED).unlink(missing_ok=True)
        sync_folder(self.path)

    def remove(self, id: str) -> None:
        (self.path / _BACKUPS / id).unlink(missing_ok=True)
        sync_folder(self.path / _BACKUPS)

    def pieces(self) -> Iterator[tuple[Path, bytes | None, int]]:
        """Every file among the pieces, its name (None for what a crash left half written) and its size."""
        for folder in sorted((self.path / _PIECES).iterdir()):
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = None if entry.name.startswith(".") else bytes.fromhex(entry.name)
                    yield Path(entry.path), name, entry.stat().st_size

    def replace_header(self, header: Header) -> None:
        _write(self.path / HEAD, heads.encode(header))
        self.header = header

    def _piece(self, name: bytes) -> Path:
        text = name.hex()
        return self.path / _PIECES / text[:2] / text


def is_folder(path: Path) -> bool:
    return (path / HEAD).is_file()


def open_folder(path: Path) -> Folder:
    """One that holds backups. Raises StoreRefused."""
    try:
        content = (path / HEAD).read_bytes()
    except OSError as error:
        raise StoreRefused(
            f"{path} holds no backups: {error.strerror}", hint="Name the folder or the file of a backup."
        ) from error
    return Folder(path, heads.decode(content, path / HEAD))


def make_folder(path: Path, header: Header) -> Folder:
    """Opened, or made if it is not there or empty. Raises StoreRefused if it is another house's or holds other things."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_folder(path):
            if any(each.name not in (_LOCK, _PIECES, _BACKUPS) and not each.name.startswith(".") for each in path.iterdir()):
                raise StoreRefused(
                    f"{path} holds other things than backups", hint="Name an empty folder, or one that is not there."
                )
            for name in (_PIECES, _BACKUPS):
                (path / name).mkdir(mode=0o700, exist_ok=True)
            _write(path / HEAD, heads.encode(header))
    except OSError as error:
        raise _unwritable(path, error) from error
    folder = open_folder(path)
    if folder.header.house != header.house:
        raise StoreRefused(f"{path} holds the backups of another house", hint="Name another folder with --to.")
    return folder


@contextmanager
def held(path: Path, *, alone: bool) -> Iterator[None]:
    """Those who write are alone, those who read are not. Raises Busy."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if alone:
            raise _unwritable(path, error) from error
        # A backup on a medium that cannot be written is not written by others either.
        yield
        return
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise Busy(f"another process works on the backups in {path}", hint="Try again when it is done.") from error
    finally:
        os.close(handle)


def _write(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Whole or absent."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def _unwritable(path: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(
        f"the backup cannot be written to {path}: {error.strerror}", hint="Free some space, or name another place with --to."
    )
