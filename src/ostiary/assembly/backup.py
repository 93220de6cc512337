"""Backups of a house: what goes into them, where they lie, and the task that makes them by itself."""

import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ostiary.assembly.config.paths import CREDENTIALS, FILE, LAST_GOOD, config_path
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.records import dataclass

if TYPE_CHECKING:
    from ostiary.adapters.backup.making import Database, Order, Plain, Progress
    from ostiary.adapters.backup.manifest import Manifest
    from ostiary.adapters.backup.pages import Copy
    from ostiary.adapters.backup.pruning import Pruned
    from ostiary.assembly.backup_key import BackupKey
    from ostiary.assembly.config.schema import Config
    from ostiary.assembly.newest import Newest

log = logging.getLogger("ostiary.backup")

FOLDER = "backups"
SCRATCH = ".backup-scratch"
_DAY = 86_400.0
_HOUR = 3_600.0
_LOOK_SECONDS = 60.0
_AGAIN_SECONDS = 900.0
# What belongs to a house besides its databases. Keys are not among them: a restored house gets new ones.
_FILES = (LAST_GOOD, "profiles.state", "service.env", "tls/cert.pem", "tls/key.pem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """`to` is a folder or, with a suffix as in `house.backup`, a single file; None: the configured folder."""

    to: Path | None = None
    is_incremental: bool = False
    new_recovery_key: bool = False
    passphrase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """`recovery_key` is not empty the first time that succeeds, and can be shown this once only."""

    manifest: "Manifest"
    place: Path
    recovery_key: str = ""


def create(home: Path, key: bytes, config: "Config", environ: Mapping[str, str], wish: Wish, progress: "Progress") -> Created:
    """Also beside a running gateway. Takes as long as reading everything: give it to a thread.

    Raises BadInput, Busy, StoreRefused, StoreUnavailable; then there is no backup."""
    from ostiary.adapters.backup.folder import held, is_folder
    from ostiary.adapters.backup.making import make
    from ostiary.adapters.backup.single import new_file
    from ostiary.assembly.backup_key import UNSHOWN

    place = wish.to or folder_of(home, config)
    is_file = bool(place.suffix) and not place.is_dir() and not is_folder(place)
    if is_file and wish.is_incremental:
        raise BadInput("a single file holds one whole backup", hint="Name a folder with --to, or leave out --incremental.")
    backup_key, recovery = _prepared_key(home, key, wish)
    with _scratch(home) as scratch:
        order = _order(home, key, environ, scratch, wish.is_incremental)
        if is_file:
            with new_file(place, backup_key.header) as file:
                made = make(order, file, backup_key.seal, progress)
        else:
            with held(place, alone=True):
                made = _into_folder(place, order, backup_key, progress)
    (home / UNSHOWN).unlink(missing_ok=True)
    return Created(manifest=made, place=place, recovery_key=recovery)


def folder_of(home: Path, config: "Config") -> Path:
    folder = config.vault.backup.folder
    return Path(folder).expanduser() if folder else home / FOLDER


def prune(home: Path, key: bytes, place: Path, *, keep_days: float, now: float) -> "Pruned":
    """Raises Busy, StoreRefused. The newest backup stays, however old."""
    from ostiary.adapters.backup import pruning
    from ostiary.adapters.backup.folder import held, open_folder
    from ostiary.assembly.backup_key import own_backup_key

    folder = open_folder(place)
    own = own_backup_key(home, key)
    if own is None or own.seal.house != folder.header.house:
        raise BadInput(f"{place} holds the backups of another house", hint="Prune them from the house they are of.")
    with held(place, alone=True):
        return pruning.prune(folder, own.seal, older_than=now - keep_days * _DAY)


async def keep_backups(home: Path, key: bytes, clock: Clock, newest: "Newest", environ: Mapping[str, str]) -> None:
    """Make a backup whenever one is due, and let old ones expire, until cancelled. What goes wrong is logged and tried again."""
    wait = _LOOK_SECONDS
    while True:
        await clock.sleep(wait)
        wait = _LOOK_SECONDS
        config = newest.live.current.config
        backup = config.vault.backup
        if not backup.every_hours or config.vault.mode == "remote":
            continue
        place = folder_of(home, config)
        try:
            if clock.now() - _last(place) >= backup.every_hours * _HOUR:
                await _in_thread(partial(_scheduled, home, key, config, environ))
        except (OstiaryError, OSError) as error:
            log.error("the backup was not made: %s %s", error, getattr(error, "hint", ""))
            wait = _AGAIN_SECONDS


def _scheduled(home: Path, key: bytes, config: "Config", environ: Mapping[str, str], progress: "Progress") -> None:
    from ostiary.assembly.backup_key import UNSHOWN, own_backup_key

    if own_backup_key(home, key) is None or (home / UNSHOWN).exists():
        raise BadInput("it has no recovery key yet", hint="Run `ostiary backup create` once: it shows the recovery key.")
    place = folder_of(home, config)
    created = create(home, key, config, environ, Wish(is_incremental=True), progress)
    pruned = prune(home, key, place, keep_days=config.vault.backup.keep_days, now=time.time())
    log.info("backup %s made, %d bytes new; %d expired", created.manifest.id, created.manifest.stored, len(pruned.backups))


async def _in_thread(work: "Callable[[Progress], None]") -> None:
    """A cancelled caller ends the work at its next piece, and waits for that."""
    import anyio

    is_over = threading.Event()

    def look(part: str, done: int, total: int) -> None:
        if is_over.is_set():
            raise _Stopped("the gateway stops")

    failures: list[Exception] = []
    async with anyio.create_task_group() as group:

        async def run() -> None:
            try:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(work, look)
            except (OstiaryError, OSError, _Stopped) as error:
                failures.append(error)
            group.cancel_scope.cancel()

        group.start_soon(run)
        try:
            await anyio.sleep_forever()
        finally:
            is_over.set()
    for failure in failures:
        raise failure


class _Stopped(Exception):
    """The gateway ends before the backup does."""


def _last(place: Path) -> float:
    """When the newest backup in a folder was made, 0 if there is none."""
    from ostiary.adapters.backup.folder import is_folder, open_folder
    from ostiary.adapters.backup.making import made_at

    if not is_folder(place):
        return 0.0
    ids = open_folder(place).manifests()
    return made_at(ids[-1]) if ids else 0.0


def _prepared_key(home: Path, key: bytes, wish: Wish) -> "tuple[BackupKey, str]":
    from ostiary.adapters.store.sqlite.key import write_private
    from ostiary.assembly import backup_key as keys

    found = keys.own_backup_key(home, key)
    wanted, recovery = (found, "") if found is not None else keys.new_backup_key()
    if found is not None and (wish.new_recovery_key or (home / keys.UNSHOWN).exists()):
        wanted, recovery = keys.with_new_recovery_key(found)
    if recovery:
        write_private(home / keys.UNSHOWN, b"")
    if wish.passphrase:
        wanted = keys.with_passphrase(wanted, wish.passphrase)
    if wanted != found:
        keys.keep_backup_key(home, key, wanted)
    return wanted, recovery


def _into_folder(place: Path, order: "Order", backup_key: "BackupKey", progress: "Progress") -> "Manifest":
    from dataclasses import replace

    from ostiary.adapters.backup.folder import make_folder
    from ostiary.adapters.backup.making import make
    from ostiary.adapters.backup.pruning import sweep
    from ostiary.adapters.backup.sealing import Damaged

    folder = make_folder(place, backup_key.header)
    if folder.header != backup_key.header:
        folder.replace_header(backup_key.header)
    if folder.is_unfinished:
        try:
            sweep(folder, backup_key.seal)
        except Damaged:
            # Which pieces are whole cannot be told, so none is relied on.
            order = replace(order, is_incremental=False)
    folder.begin()
    return make(order, folder, backup_key.seal, progress)


def _order(home: Path, key: bytes, environ: Mapping[str, str], scratch: Path, is_incremental: bool) -> "Order":
    from ostiary import __version__
    from ostiary.adapters.backup.making import Order

    return Order(
        databases=tuple(_databases(home, key)),
        files=tuple(_files(home, environ)),
        scratch=scratch,
        release=__version__,
        now=time.time(),
        is_incremental=is_incremental,
    )


def _databases(home: Path, key: bytes) -> "Iterator[Database]":
    """Derived ones are left out: the search index is made again."""
    from ostiary.adapters.backup.making import Database
    from ostiary.assembly.credential_key import credentials_key
    from ostiary.assembly.keys import GATEWAY_DB

    found = [*sorted(home.glob("bots/*/store.db")), home / GATEWAY_DB]
    for path in found:
        if path.exists() and path.stat().st_size:
            yield Database(name=path.relative_to(home).as_posix(), path=path, key=key)
    credentials = home / CREDENTIALS
    if credentials.exists() and credentials.stat().st_size:
        yield Database(name=CREDENTIALS, path=credentials, key=credentials_key(home, key))


def _files(home: Path, environ: Mapping[str, str]) -> "Iterator[Plain]":
    from ostiary.adapters.backup.making import Plain
    from ostiary.assembly.audit import HEADS

    if (home / HEADS).exists():
        yield Plain(name=HEADS, read=lambda copies: _heads(home / HEADS, copies))
    for name, path in {FILE: config_path(home, environ), **{name: home / name for name in _FILES}}.items():
        if path.is_file():
            yield Plain(name=name, read=_reader(path))


def _reader(path: Path) -> "Callable[[dict[str, Copy]], bytes]":
    return lambda copies: path.read_bytes()


def _heads(path: Path, copies: "dict[str, Copy]") -> bytes:
    """The audit log's checkpoints, as far as the copied log goes: later ones would accuse the restored house of a cut."""
    from ostiary.assembly.vault import STORE

    copy = copies.get(STORE.as_posix())
    last = copy.scalar("SELECT max(seq) FROM audit") if copy is not None else None
    end = last if isinstance(last, int) else 0
    kept: list[bytes] = []
    for line in path.read_bytes().splitlines(keepends=True):
        try:
            is_later = int(json.loads(line)["seq"]) > end
        except (ValueError, TypeError, KeyError):
            is_later = not line.endswith(b"\n")
        if not is_later:
            kept.append(line)
    return b"".join(kept)


@contextmanager
def _scratch(home: Path) -> Iterator[Path]:
    """For the copies; what a killed backup left there is noise that nobody has the key of."""
    import fcntl
    import os

    folder = home / SCRATCH
    folder.mkdir(mode=0o700, exist_ok=True)
    for left in folder.iterdir():
        handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            # Another backup, to another place, is under way.
            pass
        finally:
            os.close(handle)
    own = folder / f"{os.getpid()}-{threading.get_ident()}"
    own.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(own, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield own
    finally:
        shutil.rmtree(own, ignore_errors=True)
        os.close(handle)
