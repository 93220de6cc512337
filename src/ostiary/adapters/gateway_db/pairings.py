"""Devices that ask to be let in, and the links that sign a browser in."""

from collections.abc import Sequence
from typing import Any

from ostiary.adapters.gateway_db.devices import announce, insert_device
from ostiary.adapters.gateway_db.records import Device, Kind, PairingRequest
from ostiary.adapters.gateway_db.schema import Tables

# Strangers may fill the first number of places, three from one address; the rest is for those who showed the token.
_STRANGERS = 20
_OF_ONE_ADDRESS = 3
_ALL = 40
_MOST_LINKS = 50
_COLUMNS = "id, device, kind, public_key, display_name, platform, scopes, code, address, at, expires_at"


class Pairings:
    """A device has at most one open request; who asks again gets the same one."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self, id_or_code: str, now: float) -> PairingRequest | None:
        return self._find("(id = ? OR code = ?) AND expires_at > ?", id_or_code, id_or_code, now)

    def of_device(self, device: str, now: float) -> PairingRequest | None:
        return self._find("device = ? AND expires_at > ?", device, now)

    def all(self, now: float) -> Sequence[PairingRequest]:
        sql = f"SELECT {_COLUMNS} FROM pairings WHERE expires_at > ? ORDER BY at, id"  # noqa: S608 - a constant
        return [_request(row) for row in self._tables.rows(sql, now)]

    def ask(
        self,
        *,
        id: str,
        device: str,
        kind: Kind,
        public_key: bytes,
        display_name: str,
        platform: str,
        scopes: Sequence[str],
        code: str,
        address: str,
        now: float,
        expires_at: float,
        is_vouched: bool,
    ) -> PairingRequest | None:
        """The request as it is kept, perhaps an earlier one of the same wishes. None: there is no room for it.

        An earlier one with other wishes is replaced, code and all: what the owner compared is what is granted."""
        with self._tables.unit():
            self._tables.change("DELETE FROM pairings WHERE expires_at <= ?", now)
            known = self.of_device(device, now)
            if known is not None and (known.scopes, known.kind) == (tuple(scopes), kind):
                return known
            self._tables.change("DELETE FROM pairings WHERE device = ?", device)
            if not self._has_room(address, is_vouched=is_vouched):
                return None
            row = (id, device, kind, public_key, display_name, platform, " ".join(scopes), code, address, now, expires_at)
            self._tables.change(
                f"INSERT INTO pairings ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - a constant
                *row,
            )
        return _request(row)

    def approve(self, id: str, scopes: Sequence[str], now: float) -> bool:
        """The device may fetch its token. An earlier token of it ends. False if the request is gone or the device revoked."""
        with self._tables.unit(durable=True):
            request = self._find("id = ? AND expires_at > ?", id, now)
            if request is None:
                return False
            self._tables.change("DELETE FROM pairings WHERE id = ?", id)
            device = Device(
                id=request.device,
                kind=request.kind,
                public_key=request.public_key,
                display_name=request.display_name,
                platform=request.platform,
                scopes=tuple(scopes),
                created_at=now,
                seen_at=0.0,
                token_due=True,
            )
            return insert_device(self._tables, device) or self._renew(device, now)

    def reject(self, id: str) -> bool:
        with self._tables.unit():
            return bool(self._tables.change("DELETE FROM pairings WHERE id = ?", id))

    def _renew(self, device: Device, now: float) -> bool:
        changed = self._tables.change(
            "UPDATE devices SET kind = ?, display_name = ?, platform = ?, scopes = ?, token_due = 1 "
            "WHERE id = ? AND revoked_at = 0",
            device.kind,
            device.display_name,
            device.platform,
            " ".join(device.scopes),
            device.id,
        )
        if changed:
            self._tables.change("DELETE FROM secrets WHERE device = ?", device.id)
            announce(self._tables, device.id, device.kind, now)
        return bool(changed)

    def _has_room(self, address: str, *, is_vouched: bool) -> bool:
        row = self._tables.row("SELECT count(*), count(*) FILTER (WHERE address = ?) FROM pairings", address)
        total, near = (int(row[0]), int(row[1])) if row is not None else (0, 0)
        return total < _ALL if is_vouched else total < _STRANGERS and near < _OF_ONE_ADDRESS

    def _find(self, where: str, *bindings: Any) -> PairingRequest | None:
        row = self._tables.row(f"SELECT {_COLUMNS} FROM pairings WHERE {where}", *bindings)  # noqa: S608 - constants
        return _request(row) if row else None


class Links:
    """Each signs in one browser, once."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def add(self, hash: bytes, expires_at: float) -> None:
        """The oldest make room."""
        with self._tables.unit():
            self._tables.change("INSERT INTO links VALUES (?, ?)", hash, expires_at)
            self._tables.change(
                "DELETE FROM links WHERE hash IN (SELECT hash FROM links ORDER BY expires_at DESC LIMIT -1 OFFSET ?)", _MOST_LINKS
            )

    def take(self, hash: bytes, now: float) -> bool:
        """True for exactly one caller, and only in time."""
        with self._tables.unit(durable=True):
            row = self._tables.row("DELETE FROM links WHERE hash = ? RETURNING expires_at", hash)
        return row is not None and row[0] > now


def _request(row: tuple[Any, ...]) -> PairingRequest:
    id, device, kind, public_key, display_name, platform, scopes, code, address, at, expires_at = row
    return PairingRequest(
        id=id,
        device=device,
        kind=kind,
        public_key=bytes(public_key),
        display_name=display_name,
        platform=platform,
        scopes=tuple(scopes.split()),
        code=code,
        address=address,
        at=at,
        expires_at=expires_at,
    )
