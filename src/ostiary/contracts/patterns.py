"""Patterns that are compiled when they are first used: a process that starts needs few of those it knows."""

import re
from typing import TYPE_CHECKING, Any

__all__ = ["late"]


class _Late:
    """Becomes a stand-in for the compiled pattern with the first look at it; from then on nothing stands between."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        vars(self).update({each: getattr(compiled, each) for each in _USED})
        return getattr(compiled, name)


_USED = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "pattern", "groupindex")

if TYPE_CHECKING:

    def late(source: str, flags: int = 0) -> re.Pattern[str]: ...
else:
    late = _Late
