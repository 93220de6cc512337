"""Reading and writing the file itself: bounded, private, atomic."""

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostiary.contracts.errors import Busy, ConfigInvalid, StoreUnavailable

MAX_BYTES = 1_048_576
PRIVATE = 0o600

_WAIT_SECONDS = 5.0
_STEP_SECONDS = 0.05


def read_text(path: Path) -> str | None:
    """The file's text, None if there is no file. Raises ConfigInvalid for what cannot be a configuration."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, f"cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise unreadable(path, "is not an ordinary file")
    with os.fdopen(handle, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise unreadable(path, f"is larger than {MAX_BYTES // 1024} KiB")
    return decode(data, path)


def decode(data: bytes, path: Path) -> str:
    """UTF-8, with or without a byte order mark. Raises ConfigInvalid."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise unreadable(path, "is written in UTF-16", "Save it as UTF-8.")
    if b"\0" in data:
        raise unreadable(path, "is a binary file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise unreadable(path, f"is not UTF-8 at line {line}", "Save it as UTF-8.") from error


def unreadable(path: Path, reason: str, hint: str = "") -> ConfigInvalid:
    sentence = f"{path} {reason}"
    return ConfigInvalid(sentence, problems=(sentence,), hint=hint or "Correct or remove the file.")


def write_private(path: Path, text: str) -> None:
    """Replace the file in one step, readable by its owner only: after a crash there is the old one or the new one.

    Raises StoreUnavailable, and then the old one is untouched."""
    try:
        _replace(Path(os.path.realpath(path)), text)  # a link into somebody's dotfiles stays a link
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be written: {error.strerror}", hint="Check its rights and the free space."
        ) from error


def _replace(target: Path, text: str) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(handle)
        os.replace(fresh, target)
    finally:
        fresh.unlink(missing_ok=True)
    directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def make_private(path: Path) -> str:
    """Take the file away from other users. A sentence if something had to be done or could not be."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & 0o077:
            return ""
        path.chmod(PRIVATE)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{path} can be read by other users, and that could not be changed: {error.strerror}"
    return f"{path} could be read by other users (mode {mode:o}); it is private now"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One writer at a time, over processes. Raises Busy after five seconds."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Busy("another command is changing the configuration", hint="Try again.") from None
                time.sleep(_STEP_SECONDS)
        yield
    finally:
        os.close(handle)
