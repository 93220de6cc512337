"""Leases with fencing tokens. A token only ever grows; the row outlives the lease so that it cannot start over."""

from ostiary.adapters.store.sqlite.writer import Transaction, Unit
from ostiary.contracts.errors import BadInput, Conflict, StaleLease
from ostiary.contracts.store import Lease

_FREE = ""
_NONE = object()


def claim(lane: str, *, owner: str, now: float, seconds: float) -> Unit:
    """A unit that gives the Lease. Whoever held the lane before, the same owner included, is fenced off by the new token."""
    if not owner or seconds <= 0:
        raise BadInput("A lease needs an owner and a time that is more than nothing")

    def run(transaction: Transaction) -> Lease:
        row = transaction.row("SELECT owner, token, until FROM leases WHERE lane = ?", (lane,))
        holder, token, until = row or (_FREE, 0, 0.0)
        if holder not in (_FREE, owner) and until > now:
            raise Conflict(f"The lane {lane!r} is held by {holder!r} for another {until - now:.0f} s")
        transaction.run(
            "INSERT INTO leases (lane, owner, token, until) VALUES (?, ?, ?, ?) ON CONFLICT (lane) DO UPDATE"
            " SET owner = excluded.owner, token = excluded.token, until = excluded.until",
            (lane, owner, token + 1, now + seconds),
        )
        transaction.remember("lease", lane, token + 1)
        return Lease(lane=lane, token=token + 1, until=now + seconds)

    return run


def renew(lease: Lease, *, now: float, seconds: float) -> Unit:
    def run(transaction: Transaction) -> Lease:
        check(transaction, lease)
        transaction.run("UPDATE leases SET until = ? WHERE lane = ?", (now + seconds, lease.lane))
        return Lease(lane=lease.lane, token=lease.token, until=now + seconds)

    return run


def release(lease: Lease) -> Unit:
    """Letting go of what is already somebody else's changes nothing."""

    def run(transaction: Transaction) -> None:
        transaction.run(
            "UPDATE leases SET owner = '', until = 0 WHERE lane = ? AND token = ?",
            (lease.lane, lease.token),
        )
        transaction.remember("lease", lease.lane, None)

    return run


def check(transaction: Transaction, lease: Lease) -> None:
    """Raises StaleLease unless the token is the newest and was not released. Time alone does not fence: until somebody else
    takes an expired lane, its last holder harms nobody."""
    token = transaction.recall("lease", lease.lane)
    if token is None:
        row = transaction.row("SELECT token FROM leases WHERE lane = ? AND owner <> ''", (lease.lane,))
        token = row[0] if row else _NONE
        transaction.remember("lease", lease.lane, token)
    if token != lease.token:
        raise StaleLease(f"The lease {lease.token} on {lease.lane!r} is not valid any more", hint="Stop; somebody else has it.")
