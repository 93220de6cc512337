"""What providers say when they refuse, read once: their many shapes in, our error tree out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from ostiary.adapters.egress.errors import EgressFailed
from ostiary.adapters.models.wires.retry_after import from_details, from_headers, from_words
from ostiary.contracts.errors import (
    ContextOverflow,
    EgressRefused,
    ImageTooLarge,
    ModelBilling,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelRejected,
    ModelUnauthorized,
    ModelUnavailable,
    RoleOrdering,
    ThinkingUnsupported,
)
from ostiary.contracts.records import dataclass

if TYPE_CHECKING:
    from ostiary.adapters.egress.transport import Response

_MAX_WORDS = 500
_NO_HEADERS: Mapping[str, str] = {}
_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh")

_STATUS_OF = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
}

_BILLING = re.compile(
    r"insufficient[_ ](quota|balance|credits?|funds)|credit balance is too low|out of credits?|payment required"
    r"|billing[_ ](hard[_ ]limit|not[_ ]active|error)|requires more credits",
    re.I,
)
_UNAUTHORIZED = re.compile(r"api[_ ]key[_ ](not valid|invalid|expired)|invalid[_ ]api[_ ]key|incorrect api key", re.I)
_UNKNOWN_MODEL = re.compile(
    r"model[_ ]not[_ ]found|model .{0,120}(does not exist|not found|is not (supported|found))", re.I | re.S
)
_OF_A_MODEL = re.compile(r"\bmodels?\b", re.I)
_OVERFLOW = re.compile(
    r"context[_ ](length|window)|maximum context|prompt is too long|input is too long|too many (input )?tokens"
    r"|input token count .*exceeds|exceeds? the (maximum|available) .*(tokens|context)|request_too_large|reduce the length",
    re.I | re.S,
)
_IMAGE = re.compile(r"image.{0,80}(exceed|too large|too big|dimension|maximum)|image_(file_)?too_large", re.I | re.S)
_ROLES = re.compile(
    r"roles must alternate|incorrect role|first message must|must alternate between|tool_use.{0,80}without.{0,40}tool_result"
    r"|tool_use_id|tool_call_ids? did not|tool_calls.{0,20}must be followed|must be a response to a prece"
    r"|function (call|response) (turn|parts?)|no tool (output|call) found|unexpected role|assistant message prefill",
    re.I | re.S,
)
_THINKING = re.compile(r"reasoning[_. ]effort|reasoning\.summary|thinking|\bthink\b|budget_tokens|output_config\.effort", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a provider's error body says, whatever its shape. `words` are the provider's own."""

    words: str = ""
    code: str = ""
    status: int = 0
    retry_after: float | None = None


def read_error(text: str) -> Said:
    """Understands the error shapes of every wire; a body that is none of them is taken as words."""
    try:
        body = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return Said(words=_shortened(text))
    return said(body)


def said(body: object) -> Said:
    """The same for a body that is decoded already."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return Said(words=_shortened(str(body)))
    error = body.get("error", body)
    if not isinstance(error, dict):
        return Said(words=_shortened(str(error)), code=_word(body.get("code")))
    words = error.get("message") or error.get("detail") or error.get("msg") or ""
    codes = [_word(error.get(name)) for name in ("code", "type", "status")]
    details = error.get("details")
    if isinstance(details, list):
        codes += [_word(detail.get("reason")) for detail in details if isinstance(detail, dict)]
    number = error.get("code")
    return Said(
        words=_shortened(words if isinstance(words, str) else str(words)),
        code=" ".join(code for code in codes if code),
        status=number if isinstance(number, int) and 100 <= number < 600 else 0,
        retry_after=from_details(details),
    )


class UnknownModel(ModelMisconfigured):
    """The provider is there, the model is not."""

    kind = "unknown_model"


def refusal(who: str, what: Said, *, status: int = 0, headers: Mapping[str, str] = _NO_HEADERS) -> ModelError:
    """The error for a refusal. Without `status` (an error inside a stream) the provider's own code decides."""
    status = status or what.status or next((_STATUS_OF[code] for code in what.code.split() if code in _STATUS_OF), 500)
    everything = f"{what.code} {what.words}"
    words = f": {what.words}" if what.words else "."
    if status == 402 or _BILLING.search(everything):
        return ModelBilling(f"{who} wants to be paid first ({status}){words}", hint="Top up the account or use another profile.")
    if status == 429:
        wait = from_headers(headers)
        wait = wait if wait is not None else what.retry_after if what.retry_after is not None else from_words(what.words)
        return ModelRateLimited(f"{who} limits the rate ({status}){words}", retry_after=wait)
    if (status in (401, 403) and not _UNKNOWN_MODEL.search(everything)) or _UNAUTHORIZED.search(everything):
        return ModelUnauthorized(f"{who} does not accept the key ({status}){words}", hint=f"Check the key of {who}.")
    if status >= 500 or status in (408, 409, 425):
        return ModelUnavailable(f"{who} is not available ({status}){words}")
    if status in (400, 413, 422):
        return _rejected(who, status, everything, words)
    if _UNKNOWN_MODEL.search(everything) or (status == 404 and _OF_A_MODEL.search(what.words)):
        return UnknownModel(f"{who} does not know this model ({status}){words}", hint="Check the model's name.")
    if status in (404, 405):
        return ModelMisconfigured(f"{who} does not know this model or address ({status}){words}", hint="Check model and baseUrl.")
    return ModelRejected(f"{who} refused the request ({status}){words}")


async def from_response(who: str, response: Response) -> ModelError:
    """The error for an answer that is not 200. Its text is bounded and free of the secrets that were sent."""
    text = await response.error_text()
    if response.status < 400:
        return ModelUnavailable(f"{who} answered with status {response.status}, which was not expected.")
    return refusal(who, read_error(text), status=response.status, headers=response.headers)


def from_egress(who: str, error: EgressFailed | EgressRefused) -> ModelError:
    if isinstance(error, EgressRefused):
        return ModelMisconfigured(str(error), hint=error.hint or f"Check the address of {who}.")
    if error.failure == "too_large":
        return ModelError(f"The answer of {who} is too large: {error}")
    if error.failure == "cut":
        return ModelUnavailable(f"The answer of {who} was cut off: {error}")
    return ModelUnavailable(str(error), hint=error.hint)


def _rejected(who: str, status: int, everything: str, words: str) -> ModelError:
    text = f"{who} refused the request ({status}){words}"
    if _IMAGE.search(everything):
        return ImageTooLarge(text, hint="Send a smaller image.")
    if _OVERFLOW.search(everything) or status == 413:
        return ContextOverflow(text)
    if _UNKNOWN_MODEL.search(everything):
        return UnknownModel(text, hint="Check the model's name.")
    if _ROLES.search(everything):
        return RoleOrdering(text)
    if _THINKING.search(everything):
        return ThinkingUnsupported(text, supported=_supported(words))
    return ModelRejected(text)


def _supported(words: str) -> tuple[str, ...]:
    """Levels a provider lists after "supported"; none named means that only "off" is sure to work."""
    _, _, listed = words.lower().partition("support")
    _, colon, listed = listed.partition(":")
    named = set(re.findall(r"[a-z]+", listed)) if colon else set()
    if "none" in named:
        named.add("off")
    return tuple(level for level in _LEVELS if level in named) or ("off",)


def _word(value: object) -> str:
    return value[:100] if isinstance(value, str) else ""


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_WORDS else text[:_MAX_WORDS] + "…"
