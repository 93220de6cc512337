"""One writing process per store. The lock lives beside the database and is held even while the writer thread rests."""

import fcntl
import os
from pathlib import Path

from ostiary.contracts.errors import StoreHeld

_WORDS = 2


def hold_writer_lock(path: Path) -> int:
    """A file descriptor; closing it, or the end of the process, lets go. Raises OSError, or StoreHeld naming the holder."""
    handle = os.open(path.with_name(path.name + "-lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
    except BlockingIOError as error:
        holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(handle)
        raise StoreHeld(
            f"{path} is in use by another process ({_named(holder)})",
            hint="Stop it if it is a gateway, wait if it is another command, or use another OSTIARY_HOME.",
        ) from error
    except OSError:
        os.close(handle)
        raise
    return handle


def _named(holder: str) -> str:
    """The number and, where it can be told, the command; never its arguments, for they may be anybody's words."""
    try:
        words = Path(f"/proc/{int(holder)}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except (OSError, ValueError):
        return f"pid {holder}"
    place = next((place for place, word in enumerate(words) if word.rpartition("/")[2] in ("ostiary", "ostiary.cli")), None)
    if place is None:
        return f"pid {holder}"
    said: list[str] = []
    for word in words[place + 1 : place + 1 + _WORDS]:
        if not (word.isascii() and word.isalpha() and word.islower()):
            break
        said.append(word)
    return f"pid {holder}: {' '.join(['ostiary', *said])}"
