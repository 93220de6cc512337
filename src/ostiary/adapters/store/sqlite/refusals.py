"""The one place where SQLite's errors become ours: a sentence, what to do, and a class that says whether to try again."""

import errno
from pathlib import Path

import apsw

from ostiary.contracts.errors import BadInput, OstiaryError, StoreRefused, StoreUnavailable

_PLAIN_HEADER = b"SQLite format 3\0"
# A database of ours keeps bytes 16 to 23 of its header readable: page size, WAL format, reserved bytes, payload fractions.
_OUR_HEADER = bytes((0x10, 0x00, 0x02, 0x02, 0x20, 0x40, 0x20, 0x20))


def explain(error: Exception, path: Path) -> OstiaryError:
    """Never raises. What is not recognised is StoreUnavailable: nothing was written."""
    match error:
        case OstiaryError():
            return error
        case apsw.FullError() | OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return StoreUnavailable(f"The disk that holds {path} is full", hint="Free some space; nothing was half written.")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | PermissionError() | OSError(errno=errno.EROFS):
            return StoreUnavailable(
                f"{path} cannot be written", hint="Check that the disk is not read-only and who owns the file."
            )
        case apsw.BusyError() | apsw.LockedError():
            return StoreUnavailable(f"{path} is locked by another program", hint="Close what else has it open, then try again.")
        case apsw.CorruptError():
            return StoreRefused(f"{path} is damaged", hint="Stop, keep a copy of the file, and restore the last backup.")
        case apsw.NotADBError():
            return _not_readable(path)
        case apsw.CantOpenError() | FileNotFoundError() | NotADirectoryError() | IsADirectoryError():
            return StoreUnavailable(f"{path} cannot be opened", hint="Check that its folder exists and is yours.")
        case apsw.IOError() | OSError():
            return StoreUnavailable(f"Reading or writing {path} failed: {error}", hint="Check the disk and its free space.")
        case apsw.ConstraintError() | apsw.TooBigError() | apsw.MismatchError() | UnicodeError() | OverflowError() | TypeError():
            return BadInput(f"A write does not fit the store: {error}")
        case _:
            return StoreUnavailable(f"The store failed: {type(error).__name__}: {error}", hint="Run `ostiary doctor`.")


def _not_readable(path: Path) -> StoreRefused:
    try:
        with path.open("rb") as file:
            head = file.read(24)
    except OSError:
        head = b""
    if head.startswith(_PLAIN_HEADER):
        return StoreRefused(f"{path} is a database without encryption, so it is not one of ours", hint="Move it away.")
    if head[16:24] == _OUR_HEADER:
        return StoreRefused(
            f"The key does not open {path}, or the file's first page is damaged",
            hint="Put back the key file that belongs to it, or restore the last backup.",
        )
    return StoreRefused(f"{path} is not a database of ours", hint="Move it away, or restore the last backup.")
