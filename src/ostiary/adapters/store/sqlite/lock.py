"""One writing process per store. The lock lives beside the database and is held even while the writer thread rests."""

import fcntl
import os
from pathlib import Path

from ostiary.contracts.errors import StoreRefused


def hold_writer_lock(path: Path) -> int:
    """A file descriptor; closing it, or the end of the process, lets go. Raises OSError, or StoreRefused naming the holder."""
    handle = os.open(path.with_name(path.name + "-lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
    except BlockingIOError as error:
        holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(handle)
        raise StoreRefused(
            f"{path} is in use by another process (pid {holder})",
            hint="Stop it if it is a gateway, wait if it is another command, or use another OSTIARY_HOME.",
        ) from error
    except OSError:
        os.close(handle)
        raise
    return handle
