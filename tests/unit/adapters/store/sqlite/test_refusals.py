import errno
from pathlib import Path

import apsw
import pytest

from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.contracts.errors import BadInput, Conflict, OstiaryError, StoreRefused, StoreUnavailable


@pytest.mark.parametrize(
    ("error", "kind", "named"),
    [
        (apsw.FullError(), StoreUnavailable, "full"),
        (OSError(errno.ENOSPC, "no space"), StoreUnavailable, "full"),
        (OSError(errno.EDQUOT, "quota"), StoreUnavailable, "full"),
        (apsw.ReadOnlyError(), StoreUnavailable, "cannot be written"),
        (OSError(errno.EROFS, "read-only"), StoreUnavailable, "cannot be written"),
        (PermissionError(errno.EACCES, "no"), StoreUnavailable, "cannot be written"),
        (apsw.BusyError(), StoreUnavailable, "locked"),
        (apsw.CantOpenError(), StoreUnavailable, "cannot be opened"),
        (FileNotFoundError(errno.ENOENT, "gone"), StoreUnavailable, "cannot be opened"),
        (apsw.IOError("disk I/O error"), StoreUnavailable, "disk I/O error"),
        (OSError(errno.EIO, "I/O"), StoreUnavailable, "failed"),
        (apsw.CorruptError(), StoreRefused, "damaged"),
        (apsw.NotADBError(), StoreRefused, "not a database"),
        (apsw.InternalError("surprise"), StoreUnavailable, "surprise"),
        (RuntimeError("a bug"), StoreUnavailable, "a bug"),
    ],
)
def test_each_trouble_says_what_is_wrong_and_what_to_do(error: Exception, kind: type[OstiaryError], named: str) -> None:
    explained = explain(error, Path("/nowhere/store.db"))
    assert type(explained) is kind
    assert named in str(explained)
    assert explained.hint


def test_a_value_that_does_not_fit_is_the_callers_fault() -> None:
    assert isinstance(explain(apsw.TooBigError("too big"), Path("x")), BadInput)


def test_our_own_errors_pass_unchanged() -> None:
    error = Conflict("no")
    assert explain(error, Path("x")) is error
