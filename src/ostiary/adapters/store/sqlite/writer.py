"""The writing thread's work: many units, one transaction, one fsync; a unit that fails fails alone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw

from ostiary.adapters.store.erasures import SPACE, note
from ostiary.adapters.store.sqlite.connection import BUSY_MS
from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.adapters.store.sqlite.threads import Job
from ostiary.contracts.errors import OstiaryError, StoreUnavailable

_REMEMBERED = 4096


class Transaction:
    """What one unit writes with. `recall` and `remember` cache rows (journal heads, lease tokens) across units and batches:
    this thread is the only writer, so what was committed last is what is stored. An undone unit is forgotten."""

    __slots__ = ("_batch", "_committed", "_connection", "_cursor", "_erased", "_unit", "created", "wants_truncation")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._committed: dict[tuple[str, str], Any] = {}
        self._batch: dict[tuple[str, str], Any] = {}
        self._unit: dict[tuple[str, str], Any] = {}
        self.wants_truncation = False
        self._erased: set[tuple[str, str]] = set()
        self.created: list[tuple[str, str]] = []
        """Collection and path of what lives since this unit and did not before."""

    def run(self, sql: str, bindings: tuple[Any, ...] = ()) -> None:
        self._cursor.execute(sql, bindings)

    def insert(self, sql: str, bindings: tuple[Any, ...]) -> int:
        """The new row's id."""
        self._cursor.execute(sql, bindings)
        return self._connection.last_insert_rowid()

    @property
    def connection(self) -> apsw.Connection:
        """For reading what this unit and those before it wrote."""
        return self._connection

    @property
    def new_id(self) -> int:
        """The id of the row inserted last."""
        return self._connection.last_insert_rowid()

    def change(self, sql: str, bindings: tuple[Any, ...]) -> int:
        """How many rows changed."""
        self._cursor.execute(sql, bindings)
        return self._connection.changes()

    def row(self, sql: str, bindings: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        return next(iter(self._cursor.execute(sql, bindings).fetchall()), None)

    def rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._cursor.execute(sql, bindings).fetchall()

    def count(self, name: str, change: int) -> int:
        """Move one of the store's counters; gives its new value."""
        value = self.recall("counter", name)
        if value is None:
            value = (self.row("SELECT value FROM counters WHERE name = ?", (name,)) or (0,))[0]
        value += change
        self.run("UPDATE counters SET value = ? WHERE name = ?", (value, name))
        self.remember("counter", name, value)
        return int(value)

    def recall(self, kind: str, name: str) -> Any:
        key = (kind, name)
        for memory in (self._unit, self._batch, self._committed):
            if key in memory:
                return memory[key]
        return None

    def remember(self, kind: str, name: str, value: Any) -> None:
        """None forgets: the next `recall` gives None and the caller reads the table."""
        self._unit[kind, name] = value

    def note_erasure(self, collection: str, path: str) -> None:
        """Something of it is gone for ever: nothing of that stays in the log, and the index is told."""
        self.wants_truncation = True
        if (collection, path) not in self._erased:
            self._erased.add((collection, path))
            key, value = note(collection, path)
            self.run("INSERT INTO vals (space, key, value, expires_at) VALUES (?, ?, ?, 0)", (SPACE, key, value))

    def begin_unit(self) -> None:
        self._unit = {}
        self.created.clear()
        self._erased.clear()

    def keep_unit(self) -> None:
        self._batch.update(self._unit)
        self._unit = {}

    def keep_batch(self) -> None:
        self._committed.update(self._batch)
        if len(self._committed) > _REMEMBERED:
            self._committed = dict(self._batch)
        self._batch = {}

    def forget_batch(self) -> None:
        self._unit, self._batch, self.wants_truncation = {}, {}, False


Unit = Callable[[Transaction], Any]


class Writer:
    """A `Hand`. After a failed COMMIT the connection is kept on purpose: its view of the log ends before the failed frames,
    so the next commit overwrites them, whereas opening anew might take them for committed."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._transaction = Transaction(connection)

    def work(self, jobs: Sequence[Job]) -> None:
        try:
            self._write(jobs)
        except Exception as error:  # noqa: BLE001 - the whole transaction is void: everyone in it is told
            self._undo()
            reason = explain(error, self._path)
            # Also those that failed on their own: what they were told may rest on a unit that is now undone.
            for job in jobs:
                job.error = _copy(reason)
        else:
            self._transaction.keep_batch()
            if self._transaction.wants_truncation:
                self._truncate_log()

    def close(self) -> None:
        self._truncate_log()
        self._connection.close()

    def _write(self, jobs: Sequence[Job]) -> None:
        execute = self._transaction.run
        # A unit that has the transaction to itself needs no savepoint to fail alone.
        is_alone = len(jobs) == 1
        execute("BEGIN IMMEDIATE")
        for job in jobs:
            if not is_alone:
                execute("SAVEPOINT unit")
            self._transaction.begin_unit()
            try:
                job.result = job.call(self._transaction)
            except Exception as error:
                if not self._connection.in_transaction:
                    # SQLite gave the whole transaction up (disk full, I/O): nothing of the batch is written.
                    raise
                # A failing unit fails alone; its caller gets the error.
                job.error = explain(error, self._path)
                if is_alone:
                    execute("ROLLBACK")
                    return
                execute("ROLLBACK TO unit")
            else:
                self._transaction.keep_unit()
            if not is_alone:
                execute("RELEASE unit")
        execute("COMMIT")

    def _undo(self) -> None:
        self._transaction.forget_batch()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _truncate_log(self) -> None:
        """Erased bytes also leave the write-ahead log. A reader in mid-read delays that to the next time."""
        try:
            self._connection.set_busy_timeout(0)
            busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
        except apsw.Error:
            busy = 1
        finally:
            self._connection.set_busy_timeout(BUSY_MS)
        self._transaction.wants_truncation = bool(busy)


def _copy(error: OstiaryError) -> OstiaryError:
    """An exception belongs to one future: raising the same object in many tasks would tangle their tracebacks."""
    kind = type(error) if type(error).__init__ is OstiaryError.__init__ else StoreUnavailable
    return kind(str(error), hint=error.hint)
