"""Another key for everything that the vault's key opens, safe to be killed at any instruction.

Each database is copied under the new key beside the old one. Until the mark `keys/rekey/ready` is on the disk the change is
taken back by whoever comes next, from then on it is finished: there is no moment at which neither key opens all of the files.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ostiary.adapters.store.sqlite.key import KEY_SIZE, read_private, sync_folder, write_private
from ostiary.adapters.store.sqlite.lock import hold_writer_lock
from ostiary.assembly.config.paths import CREDENTIALS, CREDENTIALS_KEY
from ostiary.assembly.vault import SEARCH, STORE
from ostiary.contracts.errors import Busy, OstiaryError, StoreRefused, StoreUnavailable
from ostiary.contracts.records import dataclass

if TYPE_CHECKING:
    import apsw

    from ostiary.assembly.keys import Ask, Source

STAGE = Path("keys") / "rekey"
_READY = "ready"
_SEALED = "sealed"
_CREDENTIALS_KEY = "credentials.key"
_CREDENTIALS_SEALED = "credentials.sealed"
_BACKUP = "backup.sealed"
_NEW = ".rekeyed"
_STEP = 1024
_SPARE = 64 * 1024 * 1024

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rekeyed:
    """The files that have the new key."""

    files: tuple[str, ...]


def rekey(home: Path, *, ask: "Ask", progress: Progress) -> Rekeyed:
    """New random keys for the vault and for the credential store. The source of the vault's key stays what it is.

    Raises StoreRefused (a gateway runs, wrong key, damaged), StoreUnavailable (no room on the disk); then nothing has changed."""
    from ostiary.assembly.keys import read_key, sources, store_key

    with held(home):
        _settle(home)
        old = store_key(home, ask=ask)
        source = sources(home)[0]
        new, credentials = secrets.token_bytes(KEY_SIZE), secrets.token_bytes(KEY_SIZE)
        files = list(_files(home, old, new, credentials))
        _check_room(home, [path for path, _, _ in files])
        stage = home / STAGE
        stage.mkdir(mode=0o700, exist_ok=True)
        try:
            for path, key_before, key_after in files:
                _copy(path, key_before, key_after, progress)
            _stage_keys(home, source, old, new, credentials, ask)
            # From here on it is finished, by this process or by the next.
            write_private(stage / _READY, json.dumps({"source": source}).encode())
        except BaseException:
            _take_back(home)
            raise
        _finish(home)
        if read_key(home, source, ask=ask) != new:
            raise StoreRefused("the new key was not kept", hint="Restore a backup.")
    return Rekeyed(files=tuple(path.relative_to(home).as_posix() for path, _, _ in files))


def settle(home: Path) -> None:
    """Finish or take back a change of keys that was cut short. Nothing to do costs one look at the disk.

    Raises Busy while another process is at it."""
    if not (home / STAGE).exists():
        return
    with held(home):
        _settle(home)


def _settle(home: Path) -> None:
    stage = home / STAGE
    if not stage.exists():
        return
    if (stage / _READY).exists():
        _finish(home)
    else:
        _take_back(home)


_holding: set[Path] = set()


@contextmanager
def held(home: Path) -> Iterator[None]:
    """The house alone: no gateway, no other command that opens its books. Raises Busy, StoreRefused."""
    if home in _holding:
        yield
        return
    from ostiary.assembly.keys import GATEWAY_DB

    with ExitStack() as stack:
        try:
            if (home / STORE).exists():
                stack.callback(os.close, hold_writer_lock(home / STORE))
            books = home / GATEWAY_DB
            handle = os.open(books.with_name(books.name + "-lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy("another command works on this house", hint="Try again when it is done.") from error
        except OSError as error:
            raise StoreUnavailable(f"{home} cannot be held: {error.strerror}") from error
        _holding.add(home)
        try:
            yield
        finally:
            _holding.discard(home)


def _files(home: Path, old: bytes, new: bytes, credentials: bytes) -> Iterator[tuple[Path, bytes, bytes]]:
    """Every database with its key and the one to come; also the copies that were made before a migration."""
    from ostiary.assembly.credential_key import credentials_key
    from ostiary.assembly.keys import GATEWAY_DB

    stores = [*sorted(home.glob("bots/*/store.db")), *sorted(home.glob("bots/*/store.db.v*.bak"))]
    for path in (*stores, home / SEARCH, home / GATEWAY_DB, *sorted(home.glob(f"{GATEWAY_DB}.v*.bak"))):
        if path.exists() and path.stat().st_size:
            yield path, old, new
    path = home / CREDENTIALS
    if path.exists() and path.stat().st_size:
        yield path, credentials_key(home, old), credentials


def _check_room(home: Path, paths: list[Path]) -> None:
    needed = sum(path.stat().st_size for path in paths) + _SPARE
    facts = os.statvfs(home)
    if facts.f_bavail * facts.f_frsize < needed:
        raise StoreUnavailable(
            f"changing the key needs {needed:,} bytes of free disk for a while", hint="Free some space; nothing was changed."
        )


def _copy(path: Path, old: bytes, new: bytes, progress: Progress) -> None:
    import apsw

    from ostiary.adapters.store.sqlite.refusals import explain

    aside = _aside(path)
    try:
        aside.unlink(missing_ok=True)
        os.close(os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        source = _opened(path, old)
        try:
            # Everything into the file, so that nothing is left in a log that the new key does not open.
            source.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            _copy_pages(source, aside, new, lambda done, total: progress(path.name, done, total))
        finally:
            source.close()
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        if path.with_name(path.name + "-wal").exists():
            raise StoreUnavailable(f"{path} is open in another program", hint="Close it, then try again.")
    except OstiaryError:
        raise
    except (apsw.Error, OSError) as error:
        raise explain(error, path) from error


def _copy_pages(source: "apsw.Connection", aside: Path, new: bytes, progress: Callable[[int, int], None]) -> None:
    target = _opened(aside, new)
    try:
        target.execute("PRAGMA journal_mode = off").fetchall()
        with target.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(_STEP)
                progress(copying.page_count - copying.remaining, copying.page_count)
        told = target.execute("PRAGMA quick_check(1)").fetchall()
        if told != [("ok",)]:
            raise StoreRefused(f"{aside.name} is damaged: {told[0][0]}", hint="Run `ostiary vault verify`; nothing was changed.")
    finally:
        target.close()


def _opened(path: Path, key: bytes) -> "apsw.Connection":
    import apsw

    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(1000)
        for name, value in (("cipher", "chacha20"), ("key", f"raw:{key.hex()}"), ("temp_store", "memory")):
            connection.execute(f"PRAGMA {name} = '{value}'").fetchall()
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _stage_keys(home: Path, source: "Source", old: bytes, new: bytes, credentials: bytes, ask: "Ask") -> None:
    from ostiary.assembly.backup_key import own_backup_key, sealed_backup_key
    from ostiary.assembly.credential_key import is_sealed, sealed
    from ostiary.assembly.keys import staged_key

    stage = home / STAGE
    write_private(stage / _SEALED, staged_key(source, new, ask))
    if (home / CREDENTIALS).exists() and is_sealed(home):
        write_private(stage / _CREDENTIALS_SEALED, sealed(credentials, new))
    elif (home / CREDENTIALS).exists():
        write_private(stage / _CREDENTIALS_KEY, credentials)
    backup = own_backup_key(home, old)
    if backup is not None:
        write_private(stage / _BACKUP, sealed_backup_key(new, backup))


def _finish(home: Path) -> None:
    """Every step may be done again: what has been renamed already is not there any more."""
    from ostiary.assembly.backup_key import BACKUP_KEY
    from ostiary.assembly.credential_key import SEALED
    from ostiary.assembly.keys import install_key

    stage = home / STAGE
    try:
        for aside in _asides(home):
            path = aside.with_name(aside.name.removesuffix(_NEW))
            for log in (f"{path.name}-wal", f"{path.name}-shm", f"{path.name}-journal"):
                path.with_name(log).unlink(missing_ok=True)
            aside.replace(path)
            sync_folder(path.parent)
        for left in _asides(home, "-*"):
            left.unlink(missing_ok=True)
        source = json.loads(read_private(stage / _READY))["source"]
        if (stage / _SEALED).exists():
            install_key(home, source, read_private(stage / _SEALED))
            (stage / _SEALED).unlink()
        for name, target in ((_CREDENTIALS_KEY, CREDENTIALS_KEY), (_CREDENTIALS_SEALED, SEALED), (_BACKUP, BACKUP_KEY)):
            if (stage / name).exists():
                (stage / name).replace(home / target)
                sync_folder((home / target).parent)
        (stage / _READY).unlink()
        stage.rmdir()
        sync_folder(stage.parent)
    except OSError as error:
        raise StoreUnavailable(
            f"the change of keys cannot be finished: {error}", hint="Mend the disk, then try again."
        ) from error


def _take_back(home: Path) -> None:
    from ostiary.assembly.keys import drop_staged

    stage = home / STAGE
    # First: with the mark gone, a kill in the midst of this is taken back again, never finished.
    (stage / _READY).unlink(missing_ok=True)
    sync_folder(stage)
    for aside in (*_asides(home), *_asides(home, "-*")):
        aside.unlink(missing_ok=True)
    if (stage / _SEALED).exists():
        drop_staged(read_private(stage / _SEALED))
    for left in stage.iterdir():
        left.unlink()
    stage.rmdir()
    sync_folder(stage.parent)


def _asides(home: Path, more: str = "") -> list[Path]:
    return [*home.glob(f"*{_NEW}{more}"), *home.glob(f"bots/*/*{_NEW}{more}")]


def _aside(path: Path) -> Path:
    return path.with_name(path.name + _NEW)
