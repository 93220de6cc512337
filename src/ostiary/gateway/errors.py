"""Errors in the shape OpenAI's clients read: `{"error": {"message", "type", "param", "code"}}`."""

import math
import re

from ostiary.contracts.engine import Outcome
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

_NAMED = re.compile(r"(response_format|tool_choice|parallel_tool_calls): ")

# What a provider that limits the rate, but not for how long, is given: seconds.
_UNTOLD_WAIT = 60

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}

# What became of a turn, as a status that tells a client's retry logic the truth.
_OUTCOMES = {
    "rate_limit": (429, "rate_limit_exceeded"),
    "auth": (502, "provider_auth"),
    "billing": (402, "insufficient_quota"),
    "rejected": (400, "provider_rejected"),
    "context_overflow": (400, "context_length_exceeded"),
    "role_ordering": (400, "provider_rejected"),
    "image_size": (400, "image_too_large"),
    "thinking": (400, "provider_rejected"),
    "unknown_model": (404, "model_not_found"),
    "misconfigured": (500, "model_misconfigured"),
    "unavailable": (502, "provider_unavailable"),
    "empty": (502, "empty_answer"),
    "timeout": (504, "timeout"),
}


class ApiError(Exception):
    """An answer that is a refusal. `param` is the JSON path of what was wrong; `is_early`: the caller is still sending.

    `is_repeatable`: the same request again does nothing twice."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str = "",
        param: str = "",
        retry_after: int = 0,
        is_early: bool = False,
        is_repeatable: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.retry_after = retry_after
        self.is_early = is_early
        self.is_repeatable = is_repeatable

    def body(self) -> dict[str, dict[str, str | None]]:
        return {
            "error": {
                "message": self.message,
                "type": _TYPES.get(self.status, "invalid_request_error" if self.status < 500 else "server_error"),
                "param": self.param or None,
                "code": self.code or None,
            }
        }


def sentence(error: OstiaryError) -> str:
    """What happened and what to do, as running text."""
    said = str(error).rstrip(".") + "."
    return f"{said} {error.hint}".strip()


def from_error(error: OstiaryError) -> ApiError:
    """Say the error's own sentence and hint, with the status its class stands for."""
    message = sentence(error)
    match error:
        case NotAllowed():
            return ApiError(403, message, code="not_allowed")
        case UnknownSession():
            return ApiError(404, message, code="unknown_session")
        case BadInput():
            return ApiError(400, message, code="bad_input")
        case Busy():
            return ApiError(429, message, code="busy", retry_after=1)
        case Conflict():
            return ApiError(409, message, code="conflict")
        case QuotaExceeded():
            return ApiError(507, message, code="quota_exceeded")
        case StoreUnavailable():
            return ApiError(503, message, code="store_unavailable", retry_after=5)
        case StoreRefused():
            return ApiError(503, message, code="store_refused")
        case EmbedderUnavailable() | SandboxUnavailable():
            return ApiError(503, message, code="unavailable", retry_after=30)
        case _:
            return ApiError(500, message, code="internal")


def from_outcome(outcome: Outcome) -> ApiError:
    """For a turn that ended `failed` or `timeout`."""
    kind = outcome.error_kind or ("timeout" if outcome.status == "timeout" else "")
    status, code = _OUTCOMES.get(kind, (500, kind or "turn_failed"))
    said = outcome.text if outcome.status == "failed" else outcome.reason
    if kind == "rejected" and (named := _NAMED.match(outcome.reason)) is not None:
        # Not the provider: the wire knows that this model cannot do what the request demands.
        return ApiError(status, outcome.reason.rstrip(".") + ".", code="unsupported_parameter", param=named[1])
    param = "model" if kind == "unknown_model" else ""
    wait = math.ceil(outcome.retry_after) or (_UNTOLD_WAIT if status == 429 else 0)
    return ApiError(status, said or outcome.reason or "The turn failed.", code=code, param=param, retry_after=wait)
