"""The credential store: named secrets in one encrypted file.

Promises: a value is never shown by repr, str or an error; every call is one short transaction on its own connection, so
two processes may use the file at once; without the key nothing is read and nothing is written.
"""

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ostiary.contracts.errors import BadInput, StoreRefused, StoreUnavailable
from ostiary.contracts.records import dataclass

if TYPE_CHECKING:
    import apsw

Kind = Literal["api_key", "oauth", "token"]

KEY_BYTES = 32
_KINDS = ("api_key", "oauth", "token")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@+/-]{0,127}")
_MAX_VALUE = 64 * 1024
_BUSY_MS = 5000
_VERSION = 1
_COLUMNS = "name, kind, provider, value, expires, metadata, updated"
_TABLE = """TABLE credentials(
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, provider TEXT NOT NULL, value TEXT NOT NULL,
    expires REAL NOT NULL, metadata TEXT NOT NULL, updated REAL NOT NULL) STRICT, WITHOUT ROWID"""


class Secret:
    """A text that shows itself only when asked by `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def masked(self) -> str:
        """Enough to recognise a long key by, never enough to use it."""
        return f"{self._value[:3]}…{self._value[-2:]}" if len(self._value) >= 20 else "********"

    def __repr__(self) -> str:
        return "Secret(********)"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return secrets.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled or copied")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """`expires` is UTC seconds, 0 never. `metadata` is public (account, scopes, refresh state): no secret goes there."""

    name: str
    kind: Kind
    value: Secret
    provider: str = ""
    expires: float = 0.0
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A credential as lists show it."""

    name: str
    kind: Kind
    provider: str
    masked: str
    expires: float
    metadata: Mapping[str, str]
    updated: float


def key_at(path: Path) -> bytes:
    """Read the 32-byte key, making a random one in a 0600 file if there is none.

    Raises StoreUnavailable, and StoreRefused if the store of the same name is there but its key is not.
    """
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        store = path.with_suffix(".db")
        if store.exists() and store.stat().st_size:
            raise StoreRefused(
                f"the key file {path} is missing, and {store} cannot be read without it", hint="Put it back from your backup."
            ) from None
        key = _new_key(path)
    except OSError as error:
        raise StoreUnavailable(f"the key file {path} cannot be read: {error.strerror}") from error
    if len(key) != KEY_BYTES:
        raise StoreRefused(
            f"the key file {path} does not hold a key", hint="Restore it from a backup; nothing can be read without it."
        )
    return key


def _new_key(path: Path) -> bytes:
    key = secrets.token_bytes(KEY_BYTES)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, key)
            os.fsync(handle)
        finally:
            os.close(handle)
        try:
            # A link fails if another process made the key first; then theirs is the key.
            os.link(fresh, path)
        except FileExistsError:
            return path.read_bytes()
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"the key file {path} cannot be written: {error.strerror}") from error
    return key


class CredentialStore:
    """Raises BadInput (a name or value that cannot be), StoreUnavailable (try again), StoreRefused (a person must act)."""

    def __init__(self, path: Path, key: bytes | Callable[[], bytes]) -> None:
        """`key`, or the way to have it, which is gone at the first use of the file."""
        self._path = path
        self._key = key if callable(key) else lambda: key
        if not callable(key):
            _check_key(key)

    @cached_property
    def _pragma(self) -> str:
        return f"raw:{_check_key(self._key()).hex()}"

    def __repr__(self) -> str:
        return f"CredentialStore({str(self._path)!r})"

    def get(self, name: str) -> Credential | None:
        if not self._path.exists():
            return None
        with self._transaction(write=False) as db:
            row: Any = db.execute(f"SELECT {_COLUMNS} FROM credentials WHERE name = ?", (name,)).fetchone()  # noqa: S608 - a constant
        if row is None:
            return None
        _, kind, provider, value, expires, metadata, _ = row
        return Credential(
            name=name, kind=kind, provider=provider, value=Secret(value), expires=expires, metadata=json.loads(metadata)
        )

    def reveal(self, name: str) -> Secret | None:
        """The value alone, expired or not; None if there is no such entry."""
        found = self.get(name)
        return found.value if found else None

    def set(self, credential: Credential) -> None:
        """Add or replace."""
        _check(credential)
        row = (
            credential.name,
            credential.kind,
            credential.provider,
            credential.value.reveal(),
            credential.expires,
            json.dumps(dict(credential.metadata), sort_keys=True),
            time.time(),
        )
        with self._transaction(write=True) as db:
            db.execute("INSERT OR REPLACE INTO credentials VALUES(?, ?, ?, ?, ?, ?, ?)", row)

    def delete(self, name: str) -> bool:
        """True if there was one."""
        if not self._path.exists():
            return False
        with self._transaction(write=True) as db:
            db.execute("DELETE FROM credentials WHERE name = ?", (name,))
            return db.changes() > 0

    def stamp(self) -> tuple[int, int]:
        """Another one whenever something may have been written."""
        try:
            found = self._path.stat()
        except OSError:
            return (0, 0)
        return (found.st_mtime_ns, found.st_size)

    def values(self) -> tuple[str, ...]:
        """Every value, for those who must recognise one: nobody else asks for this."""
        if not self._path.exists():
            return ()
        with self._transaction(write=False) as db:
            rows: Any = db.execute("SELECT value FROM credentials").fetchall()
        return tuple(str(value) for (value,) in rows)

    def list(self) -> tuple[Listed, ...]:
        """Every entry by name, values masked."""
        if not self._path.exists():
            return ()
        with self._transaction(write=False) as db:
            rows: Any = db.execute(f"SELECT {_COLUMNS} FROM credentials ORDER BY name").fetchall()  # noqa: S608 - a constant
        return tuple(
            Listed(
                name=name,
                kind=kind,
                provider=provider,
                masked=Secret(value).masked(),
                expires=expires,
                metadata=json.loads(metadata),
                updated=updated,
            )
            for name, kind, provider, value, expires, metadata, updated in rows
        )

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator["apsw.Connection"]:
        import apsw

        try:
            with closing(self._open()) as db:
                db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    _prepare(db, self._path, write=write)
                    yield db
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")
        except apsw.NotADBError as error:
            raise StoreRefused(
                f"{self._path} cannot be opened with this key", hint="Restore the key file that belongs to it from a backup."
            ) from error
        except apsw.CorruptError as error:
            raise StoreRefused(f"{self._path} is damaged", hint="Restore it from a backup.") from error
        except apsw.Error as error:
            raise StoreUnavailable(f"{self._path} cannot be used: {error}") from error
        except OSError as error:
            raise StoreUnavailable(f"{self._path} cannot be used: {error.strerror}") from error

    def _open(self) -> "apsw.Connection":
        import apsw

        # Before the file is made: a store without its key would never open again.
        key = self._pragma
        if not self._path.exists():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Made here, not by SQLite, so that it is never readable by others, not even for a moment.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        db = apsw.Connection(str(self._path))
        try:
            db.set_busy_timeout(_BUSY_MS)
            db.pragma("key", key)
            db.pragma("temp_store", "memory")
            db.pragma("secure_delete", "on")
            db.pragma("synchronous", "full")
        except BaseException:
            db.close()
            raise
        return db


def _prepare(db: "apsw.Connection", path: Path, *, write: bool) -> None:
    version = db.pragma("user_version")
    if version > _VERSION:
        raise StoreRefused(f"{path} was written by a newer version", hint="Install that version, or restore a backup.")
    if version == _VERSION:
        return
    if not write:
        # Another process has just made the file: to a reader it holds nothing yet.
        db.execute(f"CREATE TEMP {_TABLE}")
        return
    db.execute(f"CREATE {_TABLE}")
    db.pragma("user_version", _VERSION)


def _check_key(key: bytes) -> bytes:
    if len(key) != KEY_BYTES:
        raise StoreRefused("the credential store needs a key of 32 bytes")
    return key


def _check(credential: Credential) -> None:
    if _NAME.fullmatch(credential.name) is None:
        raise BadInput(f"{credential.name[:60]!r} is not a name for a credential", hint="Use letters, digits and . _ : @ / -.")
    if credential.kind not in _KINDS:
        raise BadInput(f"{credential.kind!r} is not a kind of credential", hint=f"Use one of {', '.join(_KINDS)}.")
    value = credential.value.reveal()
    if not value.strip() or len(value) > _MAX_VALUE:
        raise BadInput(f"the value of {credential.name} is empty or longer than {_MAX_VALUE} characters")
