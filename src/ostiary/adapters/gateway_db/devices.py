"""Devices and signed-in browsers: who they are, what they may, the hash of the one secret each holds."""

from collections.abc import Mapping, Sequence
from typing import Any

from ostiary.adapters.gateway_db.records import Device, Kind
from ostiary.adapters.gateway_db.schema import Tables
from ostiary.contracts.errors import Busy

# A house with more devices than this has a leak, not a family.
_MOST_DEVICES = 500
_MOST_BROWSERS = 200
_COLUMNS = "id, kind, public_key, display_name, platform, scopes, created_at, seen_at, expires_at, revoked_at, token_due"


class Devices:
    """`hash` is always the SHA-256 of a secret. What was revoked or has expired is found by nobody's secret."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self, id: str) -> Device | None:
        """Revoked ones, too."""
        row = self._tables.row(f"SELECT {_COLUMNS} FROM devices WHERE id = ?", id)  # noqa: S608 - a constant
        return _device(row) if row else None

    def all(self, now: float) -> Sequence[Device]:
        """Those that may come in, the newest first."""
        rows = self._tables.rows(
            f"SELECT {_COLUMNS} FROM devices WHERE revoked_at = 0 AND (expires_at = 0 OR expires_at > ?) "  # noqa: S608 - a constant
            "ORDER BY created_at DESC, id",
            now,
        )
        return [_device(row) for row in rows]

    def by_secret(self, hash: bytes, now: float) -> tuple[Device, bytes] | None:
        """The device and the hash as it is kept, for the caller to compare in constant time."""
        row = self._tables.row(
            f"SELECT {_COLUMNS}, hash FROM secrets JOIN devices ON id = device "  # noqa: S608 - a constant
            "WHERE hash = ? AND revoked_at = 0 AND (expires_at = 0 OR expires_at > ?)",
            hash,
            now,
        )
        return (_device(row[:-1]), bytes(row[-1])) if row else None

    def has_secret(self, id: str) -> bool:
        return self._tables.row("SELECT 1 FROM secrets WHERE device = ?", id) is not None

    def add(
        self,
        *,
        id: str,
        kind: Kind,
        public_key: bytes,
        display_name: str,
        platform: str,
        scopes: Sequence[str],
        hash: bytes,
        now: float,
        expires_at: float = 0.0,
    ) -> bool:
        """A device or browser that holds its secret already. False if it is known: then nothing changes. Raises Busy."""
        device = Device(
            id=id,
            kind=kind,
            public_key=public_key,
            display_name=display_name,
            platform=platform,
            scopes=tuple(scopes),
            created_at=now,
            seen_at=now,
            expires_at=expires_at,
        )
        with self._tables.unit(durable=True):
            _check_room(self._tables, kind, now)
            if not insert_device(self._tables, device):
                return False
            self._tables.change("DELETE FROM pairings WHERE device = ?", id)
            self._tables.change("INSERT INTO secrets VALUES (?, ?, ?)", id, hash, now)
        return True

    def issue(self, id: str, hash: bytes, now: float) -> bool:
        """Give an approved device its first token. True once: only while it is due."""
        with self._tables.unit(durable=True):
            due = "UPDATE devices SET token_due = 0, seen_at = ? WHERE id = ? AND token_due = 1 AND revoked_at = 0"
            if not self._tables.change(due, now, id):
                return False
            self._tables.change("INSERT OR REPLACE INTO secrets VALUES (?, ?, ?)", id, hash, now)
        return True

    def rotate(self, id: str, hash: bytes, now: float) -> bool:
        """The old secret ends with this, and so do the sockets it opened. False for an unknown or revoked device."""
        with self._tables.unit(durable=True):
            row = self._tables.row("SELECT kind FROM devices WHERE id = ? AND revoked_at = 0", id)
            if row is None:
                return False
            self._tables.change("UPDATE devices SET token_due = 0 WHERE id = ?", id)
            self._tables.change("INSERT OR REPLACE INTO secrets VALUES (?, ?, ?)", id, hash, now)
            announce(self._tables, id, row[0], now)
        return True

    def set_scopes(self, id: str, scopes: Sequence[str], now: float) -> bool:
        """Its sockets end, and come back with the new scopes. False for an unknown or revoked device."""
        with self._tables.unit(durable=True):
            row = self._tables.row("SELECT kind FROM devices WHERE id = ? AND revoked_at = 0", id)
            if row is None:
                return False
            self._tables.change("UPDATE devices SET scopes = ? WHERE id = ?", " ".join(scopes), id)
            announce(self._tables, id, row[0], now)
        return True

    def revoke(self, id: str, now: float) -> bool:
        """False if there was nothing left to revoke."""
        with self._tables.unit(durable=True):
            row = self._tables.row("SELECT kind FROM devices WHERE id = ? AND revoked_at = 0", id)
            if row is None:
                return False
            self._tables.change("UPDATE devices SET revoked_at = ?, token_due = 0 WHERE id = ?", now, id)
            self._tables.change("DELETE FROM secrets WHERE device = ?", id)
            self._tables.change("DELETE FROM pairings WHERE device = ?", id)
            announce(self._tables, id, row[0], now)
        return True

    def touch(self, seen: Mapping[str, float], browser_seconds: float) -> None:
        """When each was last here. A browser's session lives that much longer."""
        with self._tables.unit():
            for id, at in seen.items():
                self._tables.change("UPDATE devices SET seen_at = max(seen_at, ?) WHERE id = ? AND revoked_at = 0", at, id)
                self._tables.change(
                    "UPDATE devices SET expires_at = max(expires_at, ?) "
                    "WHERE id = ? AND kind = 'browser' AND revoked_at = 0 AND expires_at > ?",
                    at + browser_seconds,
                    id,
                    at,
                )

    def newest_revocation(self) -> int:
        row = self._tables.row("SELECT coalesce(max(seq), 0) FROM revocations")
        return int(row[0]) if row else 0

    def revocations(self, after: int) -> Sequence[tuple[int, str, Kind]]:
        """What was revoked, rotated or narrowed since: number, device, kind."""
        rows = self._tables.rows("SELECT seq, device, kind FROM revocations WHERE seq > ? ORDER BY seq LIMIT 1000", after)
        return [(int(seq), device, kind) for seq, device, kind in rows]


def insert_device(tables: Tables, device: Device) -> bool:
    return bool(
        tables.change(
            f"INSERT INTO devices ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",  # noqa: S608 - a constant
            device.id,
            device.kind,
            device.public_key,
            device.display_name,
            device.platform,
            " ".join(device.scopes),
            device.created_at,
            device.seen_at,
            device.expires_at,
            device.revoked_at,
            int(device.token_due),
        )
    )


def announce(tables: Tables, id: str, kind: str, now: float) -> None:
    """Every process that watches learns it."""
    tables.change("INSERT INTO revocations (device, kind, at) VALUES (?, ?, ?)", id, kind, now)


def end_device(tables: Tables, id: str, kind: str, now: float) -> None:
    """Gone without a trace, its secret and its sockets with it."""
    tables.change("DELETE FROM devices WHERE id = ?", id)
    announce(tables, id, kind, now)


def _check_room(tables: Tables, kind: Kind, now: float) -> None:
    """Of browsers the one that was away longest makes room; a device is never pushed out."""
    if kind == "browser":
        crowd = "SELECT id FROM devices WHERE kind = 'browser' ORDER BY seen_at DESC LIMIT -1 OFFSET ?"
        for (id,) in tables.rows(crowd, _MOST_BROWSERS - 1):
            end_device(tables, id, kind, now)
        return
    row = tables.row("SELECT count(*) FROM devices WHERE kind != 'browser' AND revoked_at = 0")
    if row is not None and row[0] >= _MOST_DEVICES:
        raise Busy(f"There are {_MOST_DEVICES} devices", hint="Revoke some with ostiary devices.")


def _device(row: tuple[Any, ...]) -> Device:
    id, kind, public_key, display_name, platform, scopes, created_at, seen_at, expires_at, revoked_at, token_due = row
    return Device(
        id=id,
        kind=kind,
        public_key=bytes(public_key),
        display_name=display_name,
        platform=platform,
        scopes=tuple(scopes.split()),
        created_at=created_at,
        seen_at=seen_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
        token_due=bool(token_due),
    )
