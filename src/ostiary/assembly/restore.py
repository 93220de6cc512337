"""A house made of a backup: built aside, checked, then put in its place in one step. It gets keys of its own."""

import errno
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ostiary.adapters.backup.header import unlock
from ostiary.adapters.backup.making import Progress
from ostiary.adapters.backup.manifest import Manifest
from ostiary.adapters.backup.reading import find, manifest_of, open_shelf
from ostiary.adapters.backup.reading import restore as fill
from ostiary.adapters.backup.sealing import Seal
from ostiary.adapters.credentials import KEY_BYTES
from ostiary.adapters.store.sqlite.key import KEY_SIZE, sync_folder, write_key, write_private
from ostiary.adapters.store.sqlite.lock import hold_writer_lock
from ostiary.adapters.store.sqlite.verify import verify
from ostiary.assembly.backup_key import BackupKey, keep_backup_key
from ostiary.assembly.config.paths import CREDENTIALS, CREDENTIALS_KEY
from ostiary.assembly.vault import STORE, STORE_KEY
from ostiary.contracts.errors import OstiaryError, StoreRefused, StoreUnavailable
from ostiary.contracts.records import dataclass

# A house whose folder cannot be renamed (a mounted volume) is filled in place.
_IN_PLACE = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """`aside` is where the house that was there before went, if there was one. `notes` are sentences for the owner."""

    manifest: Manifest
    home: Path
    aside: Path | None = None
    notes: tuple[str, ...] = ()


def restore(backup: Path, id: str, home: Path, opened_by: Sequence[bytes | str], *, force: bool, progress: Progress) -> Restored:
    """`opened_by` are recovery keys (bytes) or passphrases (text); `id` may be a beginning, or empty for the newest.

    Raises StoreRefused (wrong recovery key, damaged backup, a house is there, a gateway runs in it), StoreUnavailable; then
    what was there before is untouched."""
    _check_home(home, force=force)
    with open_shelf(backup) as shelf:
        key = unlock(shelf.header, opened_by)
        seal = Seal(key)
        manifest = manifest_of(shelf, seal, find(shelf, id))
        with _staging(home) as staging:
            store_key, credentials_key = secrets.token_bytes(KEY_SIZE), secrets.token_bytes(KEY_BYTES)
            fill(
                shelf,
                seal,
                manifest,
                staging,
                lambda name: credentials_key if name == CREDENTIALS else store_key,
                progress,
            )
            write_key(staging / STORE_KEY, store_key)
            write_private(staging / CREDENTIALS_KEY, credentials_key)
            keep_backup_key(staging, store_key, BackupKey(key=key, keys=shelf.header.keys))
            _check_store(staging, store_key, progress)
            notes = _plain_key_source(staging)
            _sync(staging)
            aside = _install(staging, home)
    return Restored(manifest=manifest, home=home, aside=aside, notes=notes)


def _check_home(home: Path, *, force: bool) -> None:
    if not home.exists():
        return
    if not home.is_dir():
        raise StoreRefused(f"{home} is not a folder", hint="Name another one with --home.")
    if (home / STORE.parent).exists():
        # Raises StoreRefused while a gateway runs there.
        os.close(hold_writer_lock(home / STORE))
    if any(not each.name.startswith(".restoring-") for each in home.iterdir()) and not force:
        raise StoreRefused(
            f"{home} is not empty", hint="Name another folder with --home, or give --force: what is there is moved aside."
        )


@contextmanager
def _staging(home: Path) -> Iterator[Path]:
    """A folder to build in, beside the house or, where that cannot be, in it. What killed restores left is removed."""
    beside = f".{home.name}.restoring-"
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        _remove_left(home.parent, beside)
        staging = home.parent / f"{beside}{secrets.token_hex(4)}"
        if os.path.ismount(home):
            raise OSError(errno.EBUSY, "a mounted volume")
        staging.mkdir(mode=0o700)
    except OSError as error:
        if error.errno not in _IN_PLACE or not home.is_dir():
            raise StoreUnavailable(f"{home} cannot be made: {error.strerror}", hint="Name another folder with --home.") from error
        _remove_left(home, ".restoring-")
        staging = home / f".restoring-{secrets.token_hex(4)}"
        staging.mkdir(mode=0o700)
    handle = os.open(staging, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield staging
    finally:
        os.close(handle)
        shutil.rmtree(staging, ignore_errors=True)


def _remove_left(folder: Path, prefix: str) -> None:
    for left in folder.glob(f"{prefix}*"):
        handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            # Another restore is building there.
            pass
        finally:
            os.close(handle)


def _check_store(staging: Path, key: bytes, progress: Progress) -> None:
    if not (staging / STORE).exists():
        return
    report = verify(staging / STORE, key, progress=progress)
    if report.problems:
        raise StoreRefused(f"the restored store is not whole: {report.problems[0]}", hint="Restore another backup.")


def _plain_key_source(staging: Path) -> tuple[str, ...]:
    """The new key lies in a file until its owner moves it: this machine's keyring or a passphrase cannot be assumed."""
    from ostiary.assembly.config.change import set_key
    from ostiary.assembly.config.load import load

    try:
        source = load(staging, {}).config.vault.key_.source
        if source == "file":
            return ()
        set_key(staging, {}, ("vault", "key", "source"), "file")
    except OstiaryError as error:
        return (f"The configuration needs attention: {error}.",)
    return (f"The key of the restored vault lies in a file. To have it as before: ostiary vault key move --to {source}",)


def _install(staging: Path, home: Path) -> Path | None:
    """The old house aside, the new one in its place. A kill in between leaves one or the other, whole."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    if staging.parent == home:
        return _install_within(staging, home, stamp)
    aside: Path | None = None
    if home.exists() and any(home.iterdir()):
        aside = home.with_name(f"{home.name}.before-restore-{stamp}-{secrets.token_hex(2)}")
        home.rename(aside)
    try:
        staging.rename(home)
    except OSError as error:
        if aside is not None:
            aside.rename(home)
        raise StoreUnavailable(f"{home} cannot be put in place: {error.strerror}") from error
    sync_folder(home.parent)
    return aside


def _install_within(staging: Path, home: Path, stamp: str) -> Path | None:
    aside = home / f".before-restore-{stamp}-{secrets.token_hex(2)}"
    old = [each for each in home.iterdir() if each != staging and not each.name.startswith(".before-restore-")]
    if old:
        aside.mkdir(mode=0o700)
    for each in old:
        each.rename(aside / each.name)
    for each in list(staging.iterdir()):
        each.rename(home / each.name)
    sync_folder(home)
    return aside if old else None


def _sync(folder: Path) -> None:
    for path, _, _ in os.walk(folder):
        sync_folder(Path(path))
