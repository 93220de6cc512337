"""The key file: 32 random bytes that nobody else may read. Losing it loses the store, so it is never made anew over one."""

import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from ostiary.contracts.errors import StoreRefused

KEY_SIZE = 32


def load_or_create_key(path: Path, *, unlocks: Iterable[Path] = ()) -> bytes:
    """Read the key, or make one on the very first start.

    Raises StoreRefused for a key file of a wrong size, mode, owner or type, and for a missing one while a database that needs
    it is there: any `*.db` beside it, or any of `unlocks`.
    """
    try:
        return _load(path)
    except FileNotFoundError:
        pass
    locked = next((db for db in (*path.parent.glob("*.db"), *unlocks) if db.exists()), None)
    if locked is not None:
        raise StoreRefused(
            f"The key file {path} is missing, and {locked} cannot be read without it",
            hint="Put the key file back from your backup; a new key would not open the store.",
        )
    return _create(path)


def write_key(path: Path, key: bytes) -> None:
    """Put a key in place of the one that is there. Whole or not at all. Raises StoreRefused."""
    if len(key) != KEY_SIZE:
        raise StoreRefused(f"A store key has {KEY_SIZE} bytes, this one {len(key)}")
    write_private(path, key)


def write_private(path: Path, content: bytes) -> None:
    """A file that nobody else may read, on the disk when this returns. Raises StoreRefused."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write(aside, content)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreRefused(f"The file {path} cannot be written: {error.strerror}") from error


def read_private(path: Path, most: int = 65_536) -> bytes:
    """Raises FileNotFoundError, and StoreRefused as for a key file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreRefused(f"The key file {path} cannot be read: {error.strerror}") from error
    try:
        _check(path, os.fstat(handle))
        return os.read(handle, most)
    finally:
        os.close(handle)


def _load(path: Path) -> bytes:
    key = read_private(path, KEY_SIZE + 1)
    if len(key) != KEY_SIZE:
        raise StoreRefused(f"The key file {path} does not hold {KEY_SIZE} bytes", hint="Put it back from your backup.")
    return key


def _check(path: Path, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise StoreRefused(f"{path} is not a plain file, so it cannot be the key")
    if facts.st_uid != os.geteuid():
        raise StoreRefused(f"The key file {path} belongs to another user", hint=f"Run: chown {os.geteuid()} {path}")
    if facts.st_mode & 0o077:
        raise StoreRefused(f"The key file {path} can be read by others", hint=f"Run: chmod 600 {path}")


def _create(path: Path) -> bytes:
    """Whole or absent: written aside, synced, then linked into place. Another process that was faster wins."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write(aside, secrets.token_bytes(KEY_SIZE))
            os.link(aside, path)
        finally:
            aside.unlink(missing_ok=True)
        sync_folder(path.parent)
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreRefused(f"The key file {path} cannot be written: {error.strerror}") from error
    return _load(path)


def _write(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """A name in a folder survives a power cut only after this."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
