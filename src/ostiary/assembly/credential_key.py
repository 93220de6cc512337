"""The key of the credential store: a file of its own where the vault's key is one too, else sealed by the vault's key.

Once sealed it stays so, for the vault's key opens it wherever that is kept. The plain file is taken away only when the sealed
one has been read back; where both are there, because that was cut short, the sealed one counts.
"""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ostiary.adapters.credentials import CredentialStore, key_at
from ostiary.adapters.store.sqlite.key import read_private, sync_folder, write_private
from ostiary.assembly.config.paths import CREDENTIALS, CREDENTIALS_KEY
from ostiary.contracts.errors import StoreRefused, StoreUnavailable

log = logging.getLogger("ostiary.keys")

SEALED = Path("keys") / "credentials.sealed"
_PURPOSE = "credentials of this house"
# A plain key on its way out: under this name nobody reads it.
_LEAVING = f"{CREDENTIALS_KEY}.old"


def open_credentials(home: Path) -> CredentialStore:
    """The store of this state directory. Its key is had at the first use, so nobody is asked for a passphrase before."""
    return CredentialStore(home / CREDENTIALS, partial(credentials_key, home))


def is_sealed(home: Path) -> bool:
    """Whether the key is sealed, or has to be."""
    from ostiary.assembly.keys import sources

    return (home / SEALED).exists() or not {"file"}.issuperset(sources(home))


def credentials_key(home: Path, vault_key: bytes | None = None) -> bytes:
    """Made at first use; sealed now if it has to be and is not. Without `vault_key` that one is had first.

    Raises StoreRefused, StoreUnavailable."""
    if not is_sealed(home):
        return key_at(home / CREDENTIALS_KEY)
    if vault_key is None:
        from ostiary.assembly.keys import store_key

        vault_key = store_key(home)
    if (home / SEALED).exists() and not any((home / name).exists() for name in (CREDENTIALS_KEY, _LEAVING)):
        return _unsealed(home, vault_key)
    with _alone(home):
        if not (home / SEALED).exists():
            write_private(home / SEALED, sealed(key_at(home / CREDENTIALS_KEY), vault_key))
        key = _unsealed(home, vault_key)
        _take_away(home, key)
    return key


def sealed(key: bytes, vault_key: bytes) -> bytes:
    from ostiary.adapters.keys.wrapping import dump, wrap_by_key

    return dump(wrap_by_key(key, vault_key, purpose=_PURPOSE))


def _unsealed(home: Path, vault_key: bytes) -> bytes:
    from ostiary.adapters.keys.wrapping import KEY_SIZE, load, unwrap

    path = home / SEALED
    try:
        key = unwrap(load(read_private(path)), vault_key)
    except (ValueError, FileNotFoundError) as error:
        raise StoreRefused(f"{path} is damaged", hint="Put it back from a copy, or restore a backup.") from error
    if key is None or len(key) != KEY_SIZE:
        raise StoreRefused(f"the vault's key does not open {path}", hint="Put back its own from a copy, or restore a backup.")
    return key


def _take_away(home: Path, key: bytes) -> None:
    from ostiary.assembly.keys import overwrite

    plain, leaving = home / CREDENTIALS_KEY, home / _LEAVING
    try:
        if plain.exists():
            if plain.read_bytes() != key:
                log.warning("%s is not the credential store's key any more; %s is", plain, home / SEALED)
                return
            plain.replace(leaving)
            sync_folder(home)
        if leaving.exists():
            overwrite(leaving)
            leaving.unlink()
            sync_folder(home)
    except OSError as error:
        raise StoreUnavailable(f"{plain} cannot be taken away: {error.strerror}") from error


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Two processes that begin at once must not take a key away from each other."""
    folder = (home / SEALED).parent
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be used: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
