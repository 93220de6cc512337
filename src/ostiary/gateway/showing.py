"""What a caller is shown of what is kept: all of it to who may change it, to others without secrets."""

from collections.abc import Callable

import anyio.to_thread

from ostiary.contracts.pictures import PICTURES
from ostiary.contracts.records import dataclass
from ostiary.gateway.auth import Caller
from ostiary.gateway.errors import ApiError
from ostiary.gateway.media import media_type_of

Redact = Callable[[str], str]
_LOOKED_AT_ASIDE = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Bytes as they go out. `is_whole`: nothing was taken out of them."""

    content: bytes
    kind: str
    is_whole: bool = True


def words_for(caller: Caller, redact: Redact | None) -> Redact:
    """How this caller is shown texts. Raises ApiError 403 where nobody can tell a secret."""
    if "admin" in caller.scopes:
        return str
    if redact is None:
        raise _hidden("Texts are shown here only to who may change them.")
    return redact


async def content_for(
    caller: Caller, redact: Redact | None, content: bytes, *, as_they_are: frozenset[str] = PICTURES
) -> Content:
    """Text without its secrets, pictures as they are. Raises ApiError 403 for anything else that a secret could hide in."""
    kind = media_type_of(content)
    if "admin" in caller.scopes or kind in as_they_are:
        return Content(content=content, kind=kind)
    if kind != "text/plain":
        raise _hidden("A file that is neither text nor a picture is given only to who may change it.")
    words, text = words_for(caller, redact), content.decode()
    shown = words(text) if len(text) <= _LOOKED_AT_ASIDE else await anyio.to_thread.run_sync(words, text)
    return Content(content=shown.encode(), kind=kind, is_whole=shown == text)


def _hidden(why: str) -> ApiError:
    return ApiError(403, why, code="missing_scope")
