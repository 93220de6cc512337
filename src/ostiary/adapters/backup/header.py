"""What anybody may read of a backup: whose it is, and the backup's key sealed for those who may open it."""

import json
from collections.abc import Sequence

from ostiary.adapters.backup.sealing import Seal
from ostiary.adapters.keys.wrapping import Wrapped, from_json, to_json, unwrap
from ostiary.contracts.errors import StoreRefused
from ostiary.contracts.records import dataclass

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """`house` is a fingerprint of the backup key."""

    house: str
    keys: tuple[Wrapped, ...]


def purpose(house: str) -> str:
    return f"backup {house}"


def encode(header: Header) -> bytes:
    told = {"ostiary-backup": FORMAT, "house": header.house, "keys": [to_json(each) for each in header.keys]}
    return json.dumps(told).encode()


def decode(content: bytes, where: object) -> Header:
    """Raises StoreRefused."""
    try:
        told = json.loads(content)
        if told["ostiary-backup"] > FORMAT:
            raise StoreRefused(f"{where} was made by a newer release", hint="Install that release to restore it.")
        return Header(house=str(told["house"]), keys=tuple(from_json(each) for each in told["keys"]))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreRefused(
            f"the head of {where} is damaged or no backup of ours", hint="Take another copy of the backup."
        ) from error


def unlock(header: Header, secrets: Sequence[bytes | str]) -> bytes:
    """The backup key, by a recovery key (bytes) or a passphrase (text). Raises StoreRefused if none opens it."""
    for secret in secrets:
        for wrapped in header.keys:
            key = unwrap(wrapped, secret)
            if key is not None and Seal(key).house == header.house:
                return key
    kinds = {wrapped.kind for wrapped in header.keys}
    known = "the recovery key or the passphrase" if "passphrase" in kinds else "the recovery key"
    raise StoreRefused(
        f"this is not {known} of this backup", hint="The recovery key was shown when the first backup of that house was made."
    )
