"""The key of this house's backups: sealed here by the vault's key, and in every backup by what its owner keeps elsewhere."""

import base64
import json
import secrets
from pathlib import Path

from ostiary.adapters.backup.header import Header, purpose
from ostiary.adapters.backup.sealing import Seal
from ostiary.adapters.keys.wrapping import (
    KEY_SIZE,
    Wrapped,
    dump,
    from_json,
    load,
    new_recovery_key,
    spoken,
    to_json,
    unwrap,
    wrap_by_key,
    wrap_by_passphrase,
    wrap_by_recovery_key,
)
from ostiary.adapters.store.sqlite.key import read_private, write_private
from ostiary.contracts.errors import StoreRefused
from ostiary.contracts.records import dataclass

BACKUP_KEY = Path("keys") / "backup.sealed"
# There while a recovery key was made and nobody has seen it: the backup that would have shown it failed or was killed.
UNSHOWN = Path("keys") / "backup.unshown"
_PURPOSE = "backups of this house"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupKey:
    """`keys` are the ways to it that are written into every backup."""

    key: bytes
    keys: tuple[Wrapped, ...]

    @property
    def seal(self) -> Seal:
        return Seal(self.key)

    @property
    def header(self) -> Header:
        return Header(house=self.seal.house, keys=self.keys)


def own_backup_key(home: Path, store_key: bytes) -> BackupKey | None:
    """None before the first backup. Raises StoreRefused if it does not open with the vault's key."""
    path = home / BACKUP_KEY
    try:
        sealed = load(read_private(path))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise StoreRefused(f"{path} is damaged", hint=_hint(path)) from error
    opened = unwrap(sealed, store_key)
    if opened is None:
        raise StoreRefused(f"the vault's key does not open {path}", hint=_hint(path))
    told = json.loads(opened)
    return BackupKey(key=base64.b64decode(told["key"]), keys=tuple(from_json(each) for each in told["keys"]))


def keep_backup_key(home: Path, store_key: bytes, backup_key: BackupKey) -> None:
    write_private(home / BACKUP_KEY, sealed_backup_key(store_key, backup_key))


def sealed_backup_key(store_key: bytes, backup_key: BackupKey) -> bytes:
    told = {"key": base64.b64encode(backup_key.key).decode(), "keys": [to_json(each) for each in backup_key.keys]}
    return dump(wrap_by_key(json.dumps(told).encode(), store_key, purpose=_PURPOSE))


def new_backup_key() -> tuple[BackupKey, str]:
    """With its recovery key as it is shown, this once."""
    return with_new_recovery_key(BackupKey(key=secrets.token_bytes(KEY_SIZE), keys=()))


def with_new_recovery_key(backup_key: BackupKey) -> tuple[BackupKey, str]:
    """Backups that are finished in one file still open with the old one."""
    recovery = new_recovery_key()
    wrapped = wrap_by_recovery_key(backup_key.key, recovery, purpose=purpose(backup_key.seal.house))
    return _replaced(backup_key, wrapped), spoken(recovery)


def with_passphrase(backup_key: BackupKey, passphrase: str) -> BackupKey:
    """Raises BadInput for one that is too short."""
    return _replaced(backup_key, wrap_by_passphrase(backup_key.key, passphrase, purpose=purpose(backup_key.seal.house)))


def _replaced(backup_key: BackupKey, wrapped: Wrapped) -> BackupKey:
    others = tuple(each for each in backup_key.keys if each.kind != wrapped.kind)
    return BackupKey(key=backup_key.key, keys=(*others, wrapped))


def _hint(path: Path) -> str:
    return f"Remove {path} to begin again with a new recovery key and an empty backup folder; old backups stay restorable."
