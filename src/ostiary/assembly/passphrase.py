"""How a passphrase comes in: by a file descriptor, the environment, the service manager, or a person at the terminal."""

import os
import stat
import sys
from pathlib import Path

from ostiary.contracts.errors import StoreRefused

VARIABLE = "OSTIARY_PASSPHRASE"
_LONGEST = 4096


class AskPassphrase:
    """Asks again only where a person answers."""

    def __init__(self, variable: str = VARIABLE) -> None:
        self._variable = variable
        self._read: str | None = None

    def __call__(self, why: str, is_new: bool) -> str:
        """Raises StoreRefused where there is nobody to ask."""
        given = self._given()
        if given:
            return given
        if not sys.stdin.isatty():
            raise StoreRefused(
                f"a passphrase is needed {why}, and there is no terminal to ask for it",
                hint=f"Set {self._variable}, or pass it by a file descriptor named in {self._descriptor}.",
            )
        return _typed(why, is_new)

    def is_answered_by_a_person(self) -> bool:
        return not self._given() and sys.stdin.isatty()

    @property
    def _descriptor(self) -> str:
        return f"{self._variable}_FD"

    def _given(self) -> str:
        if self._read is None and os.environ.get(self._descriptor, "").isdecimal():
            # A descriptor can be read once; what came by it is kept for a second use.
            self._read = _from_descriptor(int(os.environ[self._descriptor]))
        if self._read:
            return self._read
        return os.environ.get(self._variable, "") or _from_service_manager(self._variable)


ask_passphrase = AskPassphrase()


def _typed(why: str, is_new: bool) -> str:
    from getpass import getpass

    try:
        first = getpass(f"{'A new passphrase' if is_new else 'Passphrase'} {why}: ")
        if is_new and getpass("The same again: ") != first:
            raise StoreRefused("the two passphrases differ", hint="Try again.")
    except (EOFError, KeyboardInterrupt) as error:
        raise StoreRefused("no passphrase was given") from error
    return first


def _from_descriptor(number: int) -> str:
    try:
        content = b""
        while len(content) <= _LONGEST and (more := os.read(number, _LONGEST)):
            content += more
    except OSError as error:
        raise StoreRefused(f"no passphrase can be read from descriptor {number}: {error.strerror}") from error
    return _line(content)


def _from_service_manager(variable: str) -> str:
    """What systemd's LoadCredential hands over, as `ostiary-passphrase`."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY", "")
    path = Path(folder) / variable.lower().replace("_", "-")
    try:
        if not folder or not stat.S_ISREG(path.stat().st_mode):
            return ""
        return _line(path.read_bytes()[:_LONGEST])
    except OSError:
        return ""


def _line(content: bytes) -> str:
    return content.decode("utf-8", "replace").split("\n")[0].rstrip("\r")
