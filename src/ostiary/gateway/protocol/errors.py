"""Why a request was refused, as codes that programs read and sentences that people do."""

from collections.abc import Mapping
from typing import Literal, get_args

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
from ostiary.gateway.errors import ApiError

Code = Literal[
    "BAD_FRAME",
    "UNKNOWN_METHOD",
    "INVALID_PARAMS",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "NOT_PAIRED",
    "NOT_FOUND",
    "BUSY",
    "CONFLICT",
    "UNAVAILABLE",
    "TOO_LARGE",
    "INTERNAL",
    "PROTOCOL_MISMATCH",
]

CODES: Mapping[str, str] = dict(
    zip(
        get_args(Code),
        (
            "The text is not a frame: no JSON object, no `type`, an `id` that is missing or in use.",
            "There is no such method; `hello-ok` lists those there are.",
            "The params do not fit the method's schema. `details.path` says where, `details.expected` what was expected.",
            "No valid token, password, device or browser session.",
            "The caller lacks the scope that the method needs.",
            "The device is not paired yet; `details.requestId` names its request, which an owner approves.",
            "What the params name does not exist.",
            "Too much at once; try again after `retryAfterMs`.",
            "It was changed meanwhile, or the idempotency key was used for something else.",
            "This cannot be done now, or not by this gateway.",
            "The value is larger than allowed.",
            "A fault inside; the gateway's log says why.",
            "No protocol version is understood by both sides; `details.supported` holds the gateway's.",
        ),
        strict=True,
    )
)


class MethodError(Exception):
    """A refusal that is sent to the caller as it is: no secret and nothing of the inside belongs in it."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        hint: str = "",
        details: Mapping[str, object] | None = None,
        retry_after_ms: int = 0,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details
        self.retry_after_ms = retry_after_ms


_OF_STATUS: Mapping[int, Code] = {
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    409: "CONFLICT",
    413: "TOO_LARGE",
    429: "BUSY",
    507: "TOO_LARGE",
}


def from_error(error: OstiaryError) -> MethodError:
    """The error's own sentence and hint, with the code its class stands for."""
    message = _sentence(str(error))
    match error:
        case NotAllowed():
            return MethodError("FORBIDDEN", message, hint=error.hint)
        case UnknownSession():
            return MethodError("NOT_FOUND", message, hint=error.hint)
        case BadInput():
            return MethodError("INVALID_PARAMS", message, hint=error.hint)
        case Busy():
            return MethodError("BUSY", message, hint=error.hint, retry_after_ms=1000)
        case Conflict():
            return MethodError("CONFLICT", message, hint=error.hint)
        case QuotaExceeded():
            return MethodError("TOO_LARGE", message, hint=error.hint)
        case StoreUnavailable():
            return MethodError("UNAVAILABLE", message, hint=error.hint, retry_after_ms=5000)
        case StoreRefused() | EmbedderUnavailable() | SandboxUnavailable():
            return MethodError("UNAVAILABLE", message, hint=error.hint)
        case _:
            return MethodError("INTERNAL", message, hint=error.hint)


def from_api(error: ApiError) -> MethodError:
    """What the gate says of a request, for a socket."""
    code = _OF_STATUS.get(error.status, "INVALID_PARAMS" if error.status < 500 else "UNAVAILABLE")
    return MethodError(code, error.message, retry_after_ms=error.retry_after * 1000)


def _sentence(text: str) -> str:
    text = text.rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
