import pytest

from ostiary.contracts.errors import (
    BadInput,
    Busy,
    Conflict,
    EmbedderUnavailable,
    NotAllowed,
    OstiaryError,
    QuotaExceeded,
    SandboxUnavailable,
    StoreRefused,
    StoreUnavailable,
    UnknownSession,
)
from ostiary.gateway.errors import from_error
from ostiary.gateway.protocol.errors import from_api
from ostiary.gateway.protocol.errors import from_error as method_error


@pytest.mark.parametrize(
    ("kind", "status", "code", "method"),
    [
        (NotAllowed, 403, "not_allowed", "FORBIDDEN"),
        (UnknownSession, 404, "unknown_session", "NOT_FOUND"),
        (BadInput, 400, "bad_input", "INVALID_PARAMS"),
        (Busy, 429, "busy", "BUSY"),
        (Conflict, 409, "conflict", "CONFLICT"),
        (QuotaExceeded, 507, "quota_exceeded", "TOO_LARGE"),
        (StoreUnavailable, 503, "store_unavailable", "UNAVAILABLE"),
        (StoreRefused, 503, "store_refused", "UNAVAILABLE"),
        (EmbedderUnavailable, 503, "unavailable", "UNAVAILABLE"),
        (SandboxUnavailable, 503, "unavailable", "UNAVAILABLE"),
        (OstiaryError, 500, "internal", "INTERNAL"),
    ],
)
def test_an_error_is_the_same_refusal_over_http_and_over_the_socket(
    kind: type[OstiaryError], status: int, code: str, method: str
) -> None:
    error = kind("the vault is full", hint="Make room.")
    answer, refusal = from_error(error), method_error(error)
    assert (answer.status, answer.code, answer.message) == (status, code, "the vault is full. Make room.")
    assert (refusal.code, refusal.message, refusal.hint) == (method, "The vault is full.", "Make room.")
    # What comes over HTTP from the vault's process and goes on over a socket keeps its meaning, but for faults inside.
    assert from_api(answer).code == (method if method != "INTERNAL" else "UNAVAILABLE")
