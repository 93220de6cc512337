"""Databases page by page: a consistent copy of one that is being written, and one built again under another key.

The pages of a backup are the database's own without the cipher's trailer, so a page that nobody wrote to is the same in every
backup. They are plain only in memory: the copy on disk is encrypted under a key that this process alone knows.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw

from ostiary.adapters.store.sqlite.connection import connect_reader, fetch
from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.contracts.errors import OstiaryError, StoreUnavailable

PAGE = 4096
TRAILER = 32
KEPT = PAGE - TRAILER
_STEP = 1024
_BUSY_MS = 15_000


class Copy:
    """A database as it was at one moment; `pages` many."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.pages = int(fetch(connection, "PRAGMA page_count")[0][0])
        self.is_empty = self.pages == 0

    def read(self, first: int, count: int) -> bytes:
        """The pages from `first` (counted from 0), without their trailers."""
        return b"".join(self._page(number) for number in range(first, min(first + count, self.pages)))

    def scalar(self, sql: str) -> object:
        """The answer to a question about the copy, None if there is no such table."""
        try:
            rows = fetch(self._connection, sql)
        except apsw.SQLError:
            return None
        return rows[0][0] if rows else None

    def _page(self, number: int) -> bytes:
        is_whole, content = self._connection.read("main", 0, number * PAGE, PAGE)
        if not is_whole:
            raise StoreUnavailable("the copy that the backup is made from ends early", hint="Check the disk.")
        if number == 0:
            # Bytes 18 and 19 say that there is a write-ahead log; in a copy there is none.
            content = content[:18] + b"\1\1" + content[20:]
        return content[:KEPT]


@contextmanager
def copied(path: Path, key: bytes, folder: Path) -> Iterator[Copy]:
    """Copies the database into `folder`, beside whoever writes to it, and removes the copy at the end.

    Raises StoreRefused (wrong key, damaged), StoreUnavailable (busy, disk full)."""
    aside = folder / f"copy-{secrets.token_hex(8)}"
    try:
        os.close(os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        target = apsw.Connection(str(aside), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            for name, value in (
                ("cipher", "chacha20"),
                ("key", f"raw:{secrets.token_hex(32)}"),
                ("journal_mode", "off"),
                ("synchronous", "off"),
            ):
                fetch(target, f"PRAGMA {name} = '{value}'")
            _copy(path, key, target)
            yield Copy(target)
        finally:
            target.close()
    except OstiaryError:
        raise
    except (apsw.Error, OSError) as error:
        raise explain(error, path) from error
    finally:
        aside.unlink(missing_ok=True)


def _copy(path: Path, key: bytes, target: apsw.Connection) -> None:
    source = connect_reader(path, key)
    try:
        source.set_busy_timeout(_BUSY_MS)
        # Pins one moment: without it, a copy of a busy database would begin again with every commit.
        source.execute("BEGIN")
        fetch(source, "SELECT count(*) FROM sqlite_master")
        with target.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(_STEP)
    finally:
        source.close()


def rebuild(path: Path, key: bytes, read: Callable[[int], bytes], pages: int) -> None:
    """Write a database from its pages (`read` gives one, counted from 0, without its trailer), encrypted under `key`.

    Nothing plain touches the disk. Raises what `read` raises, StoreRefused if the pages are no database, StoreUnavailable."""
    name = f"ostiary-backup-{secrets.token_hex(8)}"
    vfs = _PagesVfs(name, read, pages)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        source = apsw.Connection("backup", flags=flags, vfs=name)
        try:
            fetch(source, "PRAGMA cell_size_check = on")
            target = f"file:{quote(str(path))}?vfs=multipleciphers-unix&cipher=chacha20&key=raw:{key.hex()}"
            source.execute("VACUUM INTO ?", (target,))
        finally:
            source.close()
        path.chmod(0o600)
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except Exception as error:
        if vfs.failure is not None:
            raise vfs.failure from error
        raise explain(error, path) from error
    finally:
        vfs.unregister()


class _PagesFile:
    """A read-only database file made of pages that come from elsewhere."""

    def __init__(self, vfs: "_PagesVfs") -> None:
        self._vfs = vfs

    def xRead(self, amount: int, offset: int) -> bytes:
        first, skipped = divmod(offset, PAGE)
        count = (skipped + amount + PAGE - 1) // PAGE
        content = b"".join(self._vfs.page(number) for number in range(first, min(first + count, self._vfs.pages)))
        return content[skipped : skipped + amount]

    def xFileSize(self) -> int:
        return self._vfs.pages * PAGE

    def xLock(self, level: int) -> None:
        return None

    def xUnlock(self, level: int) -> None:
        return None

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:
        return False

    def xDeviceCharacteristics(self) -> int:
        return 0

    def xSectorSize(self) -> int:
        return PAGE

    def xClose(self) -> None:
        return None


class _PagesVfs(apsw.VFS):
    """`failure` is why a page could not be had: SQLite would make an "I/O error" of it."""

    def __init__(self, name: str, read: Callable[[int], bytes], pages: int) -> None:
        self._read = read
        self.pages = pages
        self.failure: Exception | None = None
        super().__init__(name, "")

    def page(self, number: int) -> bytes:
        try:
            return self._read(number) + bytes(TRAILER)
        except Exception as error:
            self.failure = self.failure or error
            raise

    def xOpen(self, name: object, flags: list[int]) -> _PagesFile:  # type: ignore[override]
        flags[1] = flags[0]
        return _PagesFile(self)

    def xFullPathname(self, name: str) -> str:
        return name

    def xAccess(self, path: str, flags: int) -> bool:
        return False
