"""Answers given before: who repeats a call with the same key gets the same answer, and nothing happens twice."""

from ostiary.adapters.gateway_db.records import Answer
from ostiary.adapters.gateway_db.schema import Tables
from ostiary.contracts.errors import BadInput

_OF_ONE_CALLER = 5_000
_ALL = 50_000
_COUNT_EVERY = 64
_LONGEST_RESULT = 256 * 1024


class Answers:
    """By caller and key. What has expired is not found."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._kept = 0

    def find(self, caller: str, key: str, now: float) -> Answer | None:
        row = self._tables.row(
            "SELECT digest, result FROM answers WHERE caller = ? AND key = ? AND expires_at > ?", caller, key, now
        )
        return Answer(digest=row[0], result=bytes(row[1])) if row else None

    def keep(self, caller: str, key: str, *, digest: str, result: bytes, now: float, expires_at: float) -> None:
        """An answer that is there and has not expired stays as it is. Raises BadInput for one that is too long to keep."""
        if len(result) > _LONGEST_RESULT:
            raise BadInput(f"a result of {len(result)} bytes is too long to be kept")
        with self._tables.unit():
            # Counting costs more than the rest, so a caller may go over by so many.
            if self._kept % _COUNT_EVERY == 0:
                self._make_room(now)
            self._kept += 1
            self._tables.change("DELETE FROM answers WHERE caller = ? AND key = ? AND expires_at <= ?", caller, key, now)
            self._tables.change(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                caller,
                key,
                digest,
                result,
                expires_at,
            )

    def _make_room(self, now: float) -> None:
        """What has expired goes first, then the oldest of whoever has too many: nobody pushes out another's."""
        self._tables.change("DELETE FROM answers WHERE expires_at <= ?", now)
        counts = self._tables.rows("SELECT caller, count(*) FROM answers GROUP BY caller")
        share = min(_OF_ONE_CALLER, _ALL // max(1, len(counts)))
        for caller, number in counts:
            if number > share:
                self._tables.change(
                    "DELETE FROM answers WHERE caller = ?1 AND key IN "
                    "(SELECT key FROM answers WHERE caller = ?1 ORDER BY expires_at LIMIT ?2)",
                    caller,
                    number - share,
                )
