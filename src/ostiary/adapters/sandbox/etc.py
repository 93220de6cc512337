"""The /etc of commands: a copy of the little that programs look for there, made beforehand, so that one mount shows all of it."""

import os
import shutil
import stat
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from pathlib import Path
from tempfile import mkdtemp

from ostiary.adapters.sandbox.view import UID
from ostiary.contracts.errors import SandboxUnavailable

# Nothing in these names a person, a host or a secret.
_FILES = ("ld.so.cache", "nsswitch.conf", "localtime", "mime.types", "protocols", "services", "ssl/openssl.cnf")
_FOLDERS = ("alternatives", "ssl/certs", "ca-certificates", "pki/tls/certs", "pki/ca-trust/extracted", "fonts")
_LARGEST_COPY = 1024**2
_PASSWD = f"root:x:0:0:root:/nonexistent:/bin/false\nsandbox:x:{UID}:{UID}:sandbox:{{home}}:/bin/sh\n"
_GROUP = f"root:x:0:\nsandbox:x:{UID}:\n"
_HOSTS = "127.0.0.1 localhost sandbox\n::1 localhost\n"


class Etc:
    """One directory for each home, below `state`, and another one when the system's own has changed since."""

    def __init__(self, state: Path, root: Path = Path("/")) -> None:
        self._state = state
        self._system = root / "etc"
        self._made: dict[Path, int] = {}
        self._current: dict[str, Path] = {}
        self._copied: dict[Path, int] = {}

    def directory(self, home: str) -> str:
        """Takes some milliseconds when it is not there yet. Raises SandboxUnavailable."""
        if any(_changed(path) != when for path, when in self._copied.items()):
            self._current.clear()
            self._copied.clear()
        if home not in self._current:
            try:
                self._current[home] = self._make(home)
            except OSError as error:
                raise SandboxUnavailable(
                    f"Commands are not run: their /etc cannot be made ({error.strerror}).", hint=f"Look at {self._state}."
                ) from error
        return str(self._current[home])

    def close(self) -> None:
        for directory, lock in self._made.items():
            shutil.rmtree(directory, ignore_errors=True)
            os.close(lock)
        self._made.clear()
        self._current.clear()

    def _make(self, home: str) -> Path:
        place = self._locked()
        own = {"passwd": _PASSWD.format(home=home), "group": _GROUP, "hosts": _HOSTS}
        for name, text in own.items():
            _file(place / name, text.encode())
        for name in _FOLDERS:
            self._copy_folder(self._system / name, place / name)
        for name in _FILES:
            self._copied[self._system / name] = _changed(self._system / name)
            _copy_file(self._system / name, place / name)
        return place

    def _locked(self) -> Path:
        """An empty one, held as long as we live: by this others know that it is in use."""
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(self._state)
        new = Path(mkdtemp(prefix=".etc-", dir=self._state))
        lock = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        flock(lock, LOCK_SH)
        place = new.rename(self._state / new.name[1:])
        self._made[place] = lock
        place.chmod(0o755)
        return place

    def _copy_folder(self, source: Path, target: Path) -> None:
        """What everybody on this machine may read, and no more of it: we may be root."""
        self._copied[source] = _changed(source)
        if not source.is_dir() or not _is_public(source, 0o005):
            return
        _folder(target)
        for entry in os.scandir(source):
            if entry.is_symlink():
                (target / entry.name).symlink_to(os.readlink(entry.path))
            elif entry.is_dir():
                self._copy_folder(Path(entry.path), target / entry.name)
            else:
                _copy_file(Path(entry.path), target / entry.name)


def _copy_file(source: Path, target: Path) -> None:
    if source.is_file() and _is_public(source, 0o004) and source.stat().st_size <= _LARGEST_COPY:
        _folder(target.parent)
        _file(target, source.read_bytes())


def _is_public(path: Path, wanted: int) -> bool:
    return stat.S_IMODE(path.stat().st_mode) & wanted == wanted


def _folder(path: Path) -> None:
    """Whatever our own umask is: the command is another user when we are root."""
    if not path.is_dir():
        _folder(path.parent)
        path.mkdir()
        path.chmod(0o755)


def _file(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o644)


def _changed(path: Path) -> int:
    """When, or 0 if it is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _sweep(state: Path) -> None:
    """Take away what gateways that were killed have left behind."""
    for left in state.glob("etc-*"):
        lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            flock(lock, LOCK_EX | LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
