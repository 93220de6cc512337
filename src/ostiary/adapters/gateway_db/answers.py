"""Answers given before: who repeats a call with the same key gets the same answer, and nothing happens twice."""

from ostiary.adapters.gateway_db.records import Remembered
from ostiary.adapters.gateway_db.schema import Tables
from ostiary.contracts.errors import BadInput, Busy

WINDOW_SECONDS = 24 * 3600.0
_OF_ONE_CALLER = 5_000
_ALL = 50_000
_COUNT_EVERY = 64
_LONGEST_RESULT = 256 * 1024


class Answers:
    """`run` names this process's run: a key that an earlier run left unfinished is told apart from one under way."""

    def __init__(self, tables: Tables, run: str) -> None:
        self._tables = tables
        self._run = run
        self._begun = 0

    def begin(self, caller: str, key: str, digest: bytes, now: float) -> Remembered:
        """`digest` covers method and parameters. Raises Busy when so many keys are unfinished that none can be dropped."""
        with self._tables.unit():
            row = self._tables.row(
                "SELECT digest, run, result FROM answers WHERE caller = ? AND key = ? AND at > ?",
                caller,
                key,
                now - WINDOW_SECONDS,
            )
            if row is not None:
                return self._known(row, caller, key, digest)
            # Counting costs more than the rest, so a caller may go over by so many.
            if self._begun % _COUNT_EVERY == 0:
                self._make_room(caller, now)
            self._begun += 1
            self._tables.change(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, NULL, ?)", caller, key, digest, self._run, now
            )
        return Remembered(state="new")

    def finish(self, caller: str, key: str, result: bytes) -> None:
        """Raises BadInput for a result that is too long to keep."""
        if len(result) > _LONGEST_RESULT:
            raise BadInput(f"a result of {len(result)} bytes is too long to be kept")
        with self._tables.unit():
            self._tables.change("UPDATE answers SET result = ? WHERE caller = ? AND key = ?", result, caller, key)

    def drop(self, caller: str, key: str) -> None:
        """Nothing happened: the same key may be tried again."""
        with self._tables.unit():
            self._tables.change("DELETE FROM answers WHERE caller = ? AND key = ? AND result IS NULL", caller, key)

    def _known(self, row: tuple[bytes, str, bytes | None], caller: str, key: str, digest: bytes) -> Remembered:
        before, run, result = row
        if bytes(before) != digest:
            return Remembered(state="conflict")
        if result is not None:
            return Remembered(state="done", result=bytes(result))
        if run == self._run:
            return Remembered(state="running")
        self._tables.change("UPDATE answers SET run = ? WHERE caller = ? AND key = ?", self._run, caller, key)
        return Remembered(state="lost")

    def _make_room(self, caller: str, now: float) -> None:
        """The window is swept first; then a caller's own oldest answers go, so that nobody pushes out another's."""
        self._tables.change("DELETE FROM answers WHERE at <= ?", now - WINDOW_SECONDS)
        row = self._tables.row("SELECT count(*), count(*) FILTER (WHERE caller = ?) FROM answers", caller)
        total, own = row if row is not None else (0, 0)
        if own < _OF_ONE_CALLER and total < _ALL:
            return
        gone = self._tables.change(
            "DELETE FROM answers WHERE caller = ?1 AND key IN "
            "(SELECT key FROM answers WHERE caller = ?1 AND result IS NOT NULL ORDER BY at LIMIT 200)",
            caller,
        )
        if not gone:
            raise Busy("Too many calls are remembered", hint="Try again in a while.")
