"""The tables as numbered steps, and the transaction every call is. A released step is never edited: a change is a new one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.contracts.errors import StoreRefused

_FIRST = """
CREATE TABLE devices (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    public_key BLOB NOT NULL,
    display_name TEXT NOT NULL,
    platform TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at REAL NOT NULL,
    seen_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    revoked_at REAL NOT NULL DEFAULT 0,
    token_due INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
    device TEXT PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    hash BLOB NOT NULL UNIQUE,
    issued_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pairings (
    id TEXT PRIMARY KEY,
    device TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    public_key BLOB NOT NULL,
    display_name TEXT NOT NULL,
    platform TEXT NOT NULL,
    scopes TEXT NOT NULL,
    code TEXT NOT NULL UNIQUE,
    address TEXT NOT NULL,
    at REAL NOT NULL,
    expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE links (
    hash BLOB PRIMARY KEY,
    expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE answers (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    result BLOB NOT NULL,
    expires_at REAL NOT NULL,
    PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_by_end ON answers (expires_at);

CREATE TABLE revocations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    device TEXT NOT NULL,
    kind TEXT NOT NULL,
    at REAL NOT NULL
) STRICT;
"""

MIGRATIONS: Sequence[str] = (_FIRST,)


def migrate(connection: apsw.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the file to the newest version in one transaction. Raises StoreRefused for a file from a newer release."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = int(connection.execute("PRAGMA user_version").get)
        if found > len(migrations):
            raise StoreRefused(
                f"{path} was written by a newer release (format {found}, this one knows {len(migrations)})",
                hint="Run the newer release, or restore a backup.",
            )
        for step in migrations[found:]:
            connection.execute(step).fetchall()
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class Tables:
    """One connection: whole reads and short transactions. Raises StoreUnavailable, StoreRefused."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._durable: bool | None = None

    def rows(self, sql: str, *bindings: Any) -> list[tuple[Any, ...]]:
        """All rows, so that no statement stays open between two calls."""
        try:
            return self._connection.execute(sql, bindings).fetchall()
        except apsw.Error as error:
            raise explain(error, self._path) from error

    def row(self, sql: str, *bindings: Any) -> tuple[Any, ...] | None:
        found = self.rows(sql, *bindings)
        return found[0] if found else None

    def change(self, sql: str, *bindings: Any) -> int:
        """How many rows were touched."""
        self.rows(sql, *bindings)
        return self._connection.changes()

    @contextmanager
    def unit(self, *, durable: bool = False) -> Iterator[None]:
        """Whole or absent. A `durable` one is on the disk when it ends; any other may be undone by a power cut."""
        if durable is not self._durable:
            self.rows(f"PRAGMA synchronous = {'full' if durable else 'normal'}")
            self._durable = durable
        self.rows("BEGIN IMMEDIATE")
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
