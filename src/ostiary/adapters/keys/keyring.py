"""A key in the system's keyring (Secret Service, KWallet, macOS Keychain), by the package `keyring`."""

import threading
from collections.abc import Callable
from typing import TypeVar

from ostiary.contracts.errors import StoreRefused

T = TypeVar("T")

_SERVICE = "ostiary"
# Long enough for a person to type the password that unlocks it.
_LONGEST = 120.0
_ELSEWHERE = "On a machine without a desktop keep the key in a file or under a passphrase: vault.key.source."
# These keep what they are given in plain files, or nowhere.
_UNSAFE = ("keyrings.alt.", "keyring.backends.null", "keyring.backends.fail")


def read(name: str) -> bytes | None:
    """None if there is no such entry. Raises StoreRefused if there is no keyring, or it stays locked."""

    def get() -> str | None:
        import keyring

        return keyring.get_password(_SERVICE, name)

    found = _asked(get)
    if found is None:
        return None
    try:
        return bytes.fromhex(found)
    except ValueError as error:
        raise StoreRefused(f"the entry {name!r} of the system's keyring holds no key") from error


def write(name: str, key: bytes) -> None:
    """Raises StoreRefused, also if the keyring does not give back what it took."""

    def put() -> None:
        import keyring

        keyring.set_password(_SERVICE, name, key.hex())

    _asked(put)
    if read(name) != key:
        raise StoreRefused("the system's keyring did not keep the key", hint=_ELSEWHERE)


def remove(name: str) -> None:
    """An entry that is not there is no fault. Raises StoreRefused."""
    if read(name) is None:
        return

    def drop() -> None:
        import keyring

        keyring.delete_password(_SERVICE, name)

    _asked(drop)


def _asked(ask: Callable[[], T]) -> T:
    outcome: list[T] = []
    failure: list[Exception] = []

    def run() -> None:
        try:
            _check()
            outcome.append(ask())
        except Exception as error:  # noqa: BLE001 - its backends raise what their platforms do
            failure.append(error)

    # Asking a desktop may wait for a person: a thread can be given up.
    thread = threading.Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(_LONGEST)
    if outcome:
        return outcome[0]
    raise _refused(failure[0] if failure else TimeoutError("it did not answer"))


def _check() -> None:
    import keyring

    kind = type(keyring.get_keyring())
    if f"{kind.__module__}.".startswith(_UNSAFE) or kind.__module__.startswith(_UNSAFE):
        raise LookupError("there is none that keeps secrets")


def _refused(error: Exception) -> StoreRefused:
    if isinstance(error, StoreRefused):
        return error
    if isinstance(error, ImportError):
        return StoreRefused(
            "the system's keyring cannot be used, because the package `keyring` is not installed",
            hint="Install it with: pip install 'ostiary[keyring]'",
        )
    return StoreRefused(f"the system's keyring cannot be used: {error or type(error).__name__}", hint=_ELSEWHERE)
