"""The key that opens the vault: where it is kept, how it is had, and how it moves.

What lies in `keys/` decides: `store.key` (the key itself), `store.key.wrapped` (sealed by a passphrase) or `store.key.keyring`
(the name of an entry in the system's keyring). `vault.key.source` says where a new one goes, and what is preferred while a move
was cut short and there are two.
"""

import logging
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from ostiary.adapters.store.sqlite.key import KEY_SIZE, load_or_create_key, read_private, write_private
from ostiary.assembly.config.schema import Config
from ostiary.assembly.passphrase import ask_passphrase
from ostiary.assembly.vault import STORE, STORE_KEY
from ostiary.contracts.errors import ConfigInvalid, StoreRefused

Source = Literal["file", "keyring", "passphrase"]
Ask = Callable[[str, bool], str]
"""Given what for, and whether it is a new one; gives the passphrase or raises StoreRefused."""

log = logging.getLogger("ostiary.keys")

SOURCES: tuple[Source, ...] = ("passphrase", "keyring", "file")
GATEWAY_DB = Path("gateway.db")
WRAPPED = STORE_KEY.with_name("store.key.wrapped")
IN_KEYRING = STORE_KEY.with_name("store.key.keyring")
PURPOSE = "vault"
_ENTRY = "ostiary-vault-"
_TRIES = 3
_MARKS: Mapping[Source, Path] = {"file": STORE_KEY, "passphrase": WRAPPED, "keyring": IN_KEYRING}

# What cost a person's typing or a second of work is not asked for twice by one process.
_known: dict[Path, bytes] = {}


def store_key(home: Path, config: Config | None = None, *, ask: Ask = ask_passphrase) -> bytes:
    """The key, made at the very first start. An interrupted change of keys is finished or taken back first.

    Raises StoreRefused: no key beside an existing store, a wrong passphrase, no keyring, a key file that others may read."""
    from ostiary.assembly.rekey import settle

    settle(home)
    wished = wished_source(home, config)
    present = sources(home)
    if not present:
        return _create(home, wished, ask)
    source = wished if wished in present else present[0]
    if config is not None and source != wished:
        log.warning(
            "vault.key.source is %s, but the key is kept elsewhere (%s). Run: ostiary vault key move --to %s",
            wished, source, wished,
        )  # fmt: skip
    return read_key(home, source, ask=ask)


def move_key(home: Path, to: Source, environ: Mapping[str, str], *, ask: Ask = ask_passphrase) -> tuple[Source, ...]:
    """Keep the key elsewhere, or under another passphrase; gives where it was. Elsewhere than in a file it also seals the
    credential store's key. The old place is emptied only after the key was
    read back from the new one and opened the vault, and the configuration says so. Killed anywhere, the vault still opens.

    Raises StoreRefused, BadInput, ConfigInvalid; then the key is where it was."""
    from ostiary.assembly.config.change import set_key
    from ostiary.assembly.credential_key import credentials_key

    key = store_key(home, ask=ask)
    before = sources(home)
    answers: dict[str, str] = {}

    def ask_once(why: str, is_new: bool) -> str:
        return answers[PURPOSE] if PURPOSE in answers else answers.setdefault(PURPOSE, ask(why, is_new))

    put_key(home, to, key, ask=ask_once)
    if read_key(home, to, ask=ask_once) != key:
        raise StoreRefused("the key was not kept in its new place", hint="Nothing was removed from the old one.")
    _try(home, key)
    set_key(home, environ, ("vault", "key", "source"), to)
    for source in before:
        if source != to:
            drop_key(home, source)
    credentials_key(home, key)
    return before


def _try(home: Path, key: bytes) -> None:
    from ostiary.adapters.store.sqlite.connection import connect_reader
    from ostiary.adapters.store.sqlite.refusals import explain

    for path in _locked(home):
        if path.exists() and path.stat().st_size:
            try:
                connect_reader(path, key).close()
            except Exception as error:
                raise explain(error, path) from error


def sources(home: Path) -> tuple[Source, ...]:
    """Where there is a key; more than one only if a move was cut short."""
    return tuple(source for source in SOURCES if (home / _MARKS[source]).exists())


def wished_source(home: Path, config: Config | None = None) -> Source:
    if config is None:
        from ostiary.assembly.config.load import peek

        try:
            config = peek(home, os.environ).config
        except ConfigInvalid:
            # Whoever needs the configuration says what is wrong with it.
            return "file"
    return config.vault.key_.source


def read_key(home: Path, source: Source, *, ask: Ask = ask_passphrase) -> bytes:
    """Raises StoreRefused."""
    if source == "file":
        return load_or_create_key(home / STORE_KEY, unlocks=_locked(home))
    if home in _known:
        return _known[home]
    key = _by_passphrase(home, ask) if source == "passphrase" else _from_keyring(home)
    _known[home] = key
    return key


def put_key(home: Path, source: Source, key: bytes, *, ask: Ask = ask_passphrase) -> None:
    """Keep `key` there too, in place of one that is there. Whole or not at all. Raises StoreRefused, BadInput."""
    install_key(home, source, staged_key(source, key, ask))


def drop_key(home: Path, source: Source) -> None:
    """Raises StoreRefused."""
    if source == "keyring":
        from ostiary.adapters.keys import keyring

        name = _entry(home)
        if name:
            keyring.remove(name)
    path = home / _MARKS[source]
    if source == "file" and path.exists():
        overwrite(path)
    path.unlink(missing_ok=True)


def staged_key(source: Source, key: bytes, ask: Ask) -> bytes:
    """A key as it will lie in its place once `install_key` is given this. Raises StoreRefused, BadInput."""
    if source == "file":
        return key
    if source == "passphrase":
        from ostiary.adapters.keys.wrapping import dump, wrap_by_passphrase

        return dump(wrap_by_passphrase(key, ask("for the vault", True), purpose=PURPOSE))
    from ostiary.adapters.keys import keyring

    name = _new_entry()
    keyring.write(name, key)
    return name.encode()


def install_key(home: Path, source: Source, staged: bytes) -> None:
    """May be done again. Raises StoreRefused."""
    before = _entry(home) if source == "keyring" else ""
    write_private(home / _MARKS[source], staged)
    forget_known(home)
    if before and before.encode() != staged:
        drop_staged(before.encode())


def drop_staged(staged: bytes) -> None:
    """What was staged elsewhere than in the file itself."""
    if staged.startswith(_ENTRY.encode()):
        from ostiary.adapters.keys import keyring

        keyring.remove(staged.decode("ascii"))


def overwrite(path: Path) -> None:
    """The bytes on the disk become others, as far as the disk lets one say so."""
    with path.open("r+b") as file:
        file.write(secrets.token_bytes(KEY_SIZE))
        file.flush()
        os.fsync(file.fileno())


def forget_known(home: Path) -> None:
    _known.pop(home, None)


def _create(home: Path, source: Source, ask: Ask) -> bytes:
    locked = next((path for path in _locked(home) if path.exists()), None)
    if source == "file" or locked is not None:
        return load_or_create_key(home / STORE_KEY, unlocks=_locked(home))
    put_key(home, source, secrets.token_bytes(KEY_SIZE), ask=ask)
    return read_key(home, source, ask=ask)


def _by_passphrase(home: Path, ask: Ask) -> bytes:
    from ostiary.adapters.keys.wrapping import load, unwrap

    path = home / WRAPPED
    try:
        wrapped = load(read_private(path))
    except ValueError as error:
        raise StoreRefused(f"{path} is damaged", hint="Put it back from a copy, or restore a backup.") from error
    for left in reversed(range(_TRIES)):
        key = unwrap(wrapped, ask("for the vault" if left == _TRIES - 1 else "again: that one does not open it", False))
        if key is not None:
            return key
        if not getattr(ask, "is_answered_by_a_person", lambda: False)():
            break
    raise StoreRefused("the passphrase does not open the vault", hint="Try again; without it only a backup's recovery key helps.")


def _from_keyring(home: Path) -> bytes:
    from ostiary.adapters.keys import keyring

    key = keyring.read(_entry(home))
    if key is None or len(key) != KEY_SIZE:
        raise StoreRefused(
            f"the system's keyring has no entry {_entry(home)!r} for the vault's key",
            hint="Unlock the keyring this house was made with, or restore a backup.",
        )
    return key


def _new_entry() -> str:
    return f"{_ENTRY}{secrets.token_hex(8)}"


def _entry(home: Path) -> str:
    try:
        return read_private(home / IN_KEYRING).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return ""


def _locked(home: Path) -> tuple[Path, ...]:
    return (home / STORE, home / GATEWAY_DB)
