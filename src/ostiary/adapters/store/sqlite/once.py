"""A unit that is done once, however often it is asked for: what it gave is kept beside it, in the same transaction.

A client that lost the answer asks again under the same number. It numbers the commits of each of its slots upwards and has one
under way per slot, so remembering the last one of a slot is enough.
"""

import msgspec

from ostiary.adapters.store.sqlite.writer import Transaction, Unit
from ostiary.contracts.errors import Conflict

_SPACE = "vault.commits"
_KEPT_SECONDS = 86400.0


def once(unit: Unit, *, slot: str, number: int, now: float) -> Unit:
    """Gives what `unit` gives, or gave. Raises Conflict for a number that the slot has left behind."""

    def run(transaction: Transaction) -> tuple[int, ...]:
        row = transaction.row("SELECT value FROM vals WHERE space = ? AND key = ?", (_SPACE, slot))
        last, *given = msgspec.json.decode(row[0], type=list[int]) if row is not None else [0]
        if number == last:
            return tuple(given)
        if number < last:
            raise Conflict(f"Commit {number} of {slot[:80]!r} comes after commit {last}")
        made: tuple[int, ...] = unit(transaction)
        transaction.run(
            "INSERT INTO vals (space, key, value, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT (space, key) DO UPDATE"
            " SET value = excluded.value, expires_at = excluded.expires_at",
            (_SPACE, slot, msgspec.json.encode([number, *made]), now + _KEPT_SECONDS),
        )
        return made

    return run
