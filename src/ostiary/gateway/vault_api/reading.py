"""What a request says: which document, which version, when, what is expected."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import TypeVar
from urllib.parse import unquote_to_bytes

import msgspec

from ostiary.contracts.content import Trust
from ostiary.gateway.asgi import Receive, Scope, header, query, read_body
from ostiary.gateway.errors import ApiError
from ostiary.gateway.vault_api.desk import JSON_LIMITS

T = TypeVar("T")
_COLLECTION = re.compile(r"[a-z0-9_][a-z0-9_-]{0,63}")
_ETAG = re.compile(r'"?(\d{1,15})"?')


def after(scope: Scope, prefix: str) -> str:
    """The part of the path behind `prefix`, decoded strictly. Raises ApiError 400 for what is not UTF-8."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    rest = raw.partition(b"?")[0].partition(prefix.encode())[2]
    try:
        return unquote_to_bytes(rest).decode()
    except UnicodeDecodeError:
        raise invalid("path", "it is not UTF-8") from None


def place(scope: Scope, prefix: str) -> tuple[str, str]:
    """Collection and path. The path's own rules are the store's. Raises ApiError 400, 404."""
    collection, _, path = after(scope, prefix).partition("/")
    if not path:
        raise ApiError(404, "Say which document: <collection>/<path>.", code="not_found")
    return collection_of(collection), path


def collection_of(name: str) -> str:
    if _COLLECTION.fullmatch(name) is None:
        raise invalid("collection", "expected 1 to 64 of a-z, 0-9, _ and -")
    return name


async def body(scope: Scope, receive: Receive, kind: type[T]) -> T:
    """Raises ApiError 400, 413."""
    return decoded(await read_body(scope, receive, JSON_LIMITS), kind)


def decoded(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, f"The body: {error}.", code="invalid_value") from None


def number(given: Mapping[str, str], name: str) -> int | None:
    """None if it is absent. Raises ApiError 400."""
    text = given.get(name, "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise invalid(name, "expected a whole number")
    return int(text)


def moment(name: str, given: str | float | None) -> float | None:
    """UTC seconds, or a date and time as in ISO 8601 (UTC unless it says otherwise). Raises ApiError 400."""
    if given is None or given == "":
        return None
    try:
        seconds = float(given)
    except ValueError:
        try:
            said = datetime.fromisoformat(str(given))
            seconds = (said if said.tzinfo is not None else said.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            raise invalid(name, "expected seconds since 1970, or a time like 2026-11-16T08:00:00Z") from None
    if not isfinite(seconds):
        raise invalid(name, "expected a time")
    return seconds


def expected(scope: Scope) -> int | None:
    """The version that must be there: `If-Match: "5"`, or none may be there: `If-None-Match: *`. None if nothing is expected.

    Raises ApiError 400."""
    match, none_match = header(scope, b"if-match"), header(scope, b"if-none-match")
    if match and none_match:
        raise invalid("If-Match", "not together with If-None-Match")
    if none_match:
        if none_match != "*":
            raise invalid("If-None-Match", "expected *")
        return 0
    if not match:
        return None
    found = _ETAG.fullmatch(match)
    if found is None or int(found[1]) == 0:
        raise invalid("If-Match", 'expected a version, like "5"')
    return int(found[1])


def executable(scope: Scope) -> bool | None:
    """`X-Ostiary-Executable`: true or false; None keeps what it was."""
    said = header(scope, b"x-ostiary-executable").lower()
    if said not in ("", "true", "false", "1", "0"):
        raise invalid("X-Ostiary-Executable", "expected true or false")
    return said in ("true", "1") if said else None


def trust(said: str) -> Trust | None:
    """`X-Ostiary-Trust`: a writer may say that nobody vouches for the text."""
    try:
        return Trust(said) if said else None
    except ValueError:
        raise invalid("X-Ostiary-Trust", "expected owner, contact or untrusted") from None


def parameters(scope: Scope) -> Mapping[str, str]:
    try:
        return query(scope)
    except ValueError:
        raise ApiError(400, "The query has too many parameters.", code="invalid_value") from None


def invalid(name: str, problem: str) -> ApiError:
    return ApiError(400, f"{name}: {problem}.", code="invalid_value", param=name)
