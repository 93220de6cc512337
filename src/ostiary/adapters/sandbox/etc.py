"""The /etc of commands: the few files that programs look for there, copied beforehand, so that one mount shows them all."""

import os
import shutil
import stat
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

from ostiary.adapters.sandbox.view import UID
from ostiary.contracts.errors import SandboxUnavailable

# Nothing in these names a person, a host or a secret. Folders hold hundreds of names and are mounted as they are.
_FILES = ("ld.so.cache", "nsswitch.conf", "localtime", "mime.types", "protocols", "services", "ssl/openssl.cnf")
_FOLDERS = ("alternatives", "ssl/certs", "ca-certificates/extracted", "pki/tls/certs", "pki/ca-trust/extracted", "fonts")
_LARGEST_COPY = 1024**2
_PASSWD = f"root:x:0:0:root:/nonexistent:/bin/false\nsandbox:x:{UID}:{UID}:sandbox:{{home}}:/bin/sh\n"
_GROUP = f"root:x:0:\nsandbox:x:{UID}:\n"
_HOSTS = "127.0.0.1 localhost sandbox\n::1 localhost\n"
_BOOT = Path("/proc/sys/kernel/random/boot_id")

Fact = tuple[int, int] | None


class Etc:
    """One directory for each home, below `state`, and another one when the system's own has changed since. `folders` are those of
    the system to be mounted into it.

    It is kept for the next gateway until the machine starts again: what was not yet on the disk when a machine went down would be
    found empty."""

    def __init__(self, state: Path, root: Path = Path("/")) -> None:
        self._state = state
        self._system = str(root / "etc")
        self.folders = tuple(name for name in _FOLDERS if os.path.isdir(f"{self._system}/{name}"))
        self._facts: dict[str, Fact] = {}
        self._current: dict[str, str] = {}
        self._locks: list[int] = []

    def directory(self, home: str) -> str:
        """Takes a few milliseconds when it is not there yet. Raises SandboxUnavailable."""
        if not self._facts or any(_fact(path) != fact for path, fact in self._facts.items()):
            self._facts = {path: _fact(path) for path in (f"{self._system}/{name}" for name in _FILES)}
            self._current.clear()
        if home not in self._current:
            try:
                self._current[home] = self._held(home)
            except OSError as error:
                raise SandboxUnavailable(
                    f"Commands are not run: their /etc cannot be made ({error.strerror}).", hint=f"Look at {self._state}."
                ) from error
        return self._current[home]

    def close(self) -> None:
        for lock in self._locks:
            os.close(lock)
        self._locks.clear()
        self._facts.clear()

    def _held(self, home: str) -> str:
        """Locked as long as we live: by this others know that it is in use."""
        known = (_BOOT.read_text(), home, self.folders, sorted(self._facts.items()))
        place = self._state / f"etc-{sha256(repr(known).encode()).hexdigest()[:16]}"
        if not _is_ours(place):
            self._make(place, home)
        lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._locks.append(lock)
        flock(lock, LOCK_SH)
        # Raises if it was taken away before it was locked.
        place.lstat()
        return str(place)

    def _make(self, place: Path, home: str) -> None:
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(self._state)
        new = mkdtemp(prefix=".etc-", dir=self._state)
        try:
            for name, text in {"passwd": _PASSWD.format(home=home), "group": _GROUP, "hosts": _HOSTS}.items():
                _write(f"{new}/{name}", text.encode())
            for name in self.folders:
                _folder(f"{new}/{name}")
            for name in _FILES:
                _copy_file(f"{self._system}/{name}", f"{new}/{name}")
            os.chmod(new, 0o755)  # noqa: S103 - it names nobody
            # In one step, so that a gateway starting beside us never sees half of it.
            os.rename(new, place)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            # It may have been quicker.
            if not _is_ours(place):
                raise


def _fact(path: str) -> Fact:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _copy_file(source: str, target: str) -> None:
    """If everybody on this machine may read it: we may be root."""
    if not os.path.isfile(source):
        return
    with open(source, "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_mode & 0o004 and found.st_size <= _LARGEST_COPY:
            _folder(os.path.dirname(target))
            _write(target, file.read())


def _folder(path: str) -> None:
    """Whatever our own umask is: the command is another user when we are root."""
    if not os.path.isdir(path):
        _folder(os.path.dirname(path))
        os.mkdir(path)
        os.chmod(path, 0o755)  # noqa: S103


def _write(path: str, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        os.fchmod(file.fileno(), 0o644)


def _is_ours(place: Path) -> bool:
    """A directory that nobody but us could have put there or changed."""
    try:
        found, folder = place.lstat(), place.parent.lstat()
    except OSError:
        return False
    closed = not (found.st_mode & 0o022) and not (folder.st_mode & 0o022)
    return stat.S_ISDIR(found.st_mode) and closed and found.st_uid == folder.st_uid == os.geteuid()


def _sweep(state: Path) -> None:
    """Take away what is of no use any more and used by nobody."""
    for left in state.glob("etc-*"):
        lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            flock(lock, LOCK_EX | LOCK_NB)
            # First out of sight: whoever comes now makes another.
            gone = left.rename(left.with_name(f".{left.name}-gone"))
            shutil.rmtree(gone, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
