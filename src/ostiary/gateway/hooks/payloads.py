"""The two shapes of our own, `wake` and `agent`. What they may not choose is refused by name, not passed over."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from ostiary.contracts.model import ThinkingLevel
from ostiary.contracts.records import dataclass
from ostiary.gateway.errors import ApiError

_LONGEST_NAME = 100
_DECIDED_ELSEWHERE = ("sessionKey", "session", "channel", "to", "role", "principal", "system", "deliverTo")


class _Wake(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    mode: Literal["now", "next-heartbeat"] = "now"


class _Agent(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    message: str
    name: str = ""
    agent_id: str = ""
    model: str = ""
    thinking: str = ""
    timeout_seconds: int | None = None
    deliver: bool = False
    wake_mode: Literal["now", "next-heartbeat"] = "now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a caller of ours asks for. `agent` empty: the default one; the rest empty: as configured."""

    text: str
    agent: str = ""
    model: str = ""
    thinking: str = ""
    timeout_seconds: int = 0


def parse_object(body: bytes) -> dict[str, Any]:
    """Raises ApiError 400 unless the body is one JSON object."""
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ApiError(400, "The body: expected one JSON object.", code="invalid_value") from None


def parse_wake(payload: Mapping[str, Any]) -> Asked:
    wake = _converted(payload, _Wake)
    _refuse_heartbeat("mode", wake.mode)
    return Asked(text=wake.text)


def parse_agent(payload: Mapping[str, Any]) -> Asked:
    """The name is part of the text: it says who claims to speak and gives them nothing."""
    asked = _converted(payload, _Agent)
    _refuse_heartbeat("wakeMode", asked.wake_mode)
    if asked.deliver:
        raise _wrong("deliver", "where an answer goes is configured, in hooks.mappings")
    if asked.thinking and asked.thinking not in get_args(ThinkingLevel):
        raise _wrong("thinking", f"expected one of {', '.join(get_args(ThinkingLevel))}")
    if asked.timeout_seconds is not None and not 1 <= asked.timeout_seconds <= 86_400:
        raise _wrong("timeoutSeconds", "expected a whole number from 1 to 86400")
    name = " ".join(asked.name.split())[:_LONGEST_NAME]
    return Asked(
        text=f"From: {name}\n\n{asked.message}" if name else asked.message,
        agent=asked.agent_id,
        model=asked.model,
        thinking=asked.thinking,
        timeout_seconds=asked.timeout_seconds or 0,
    )


def _converted(payload: Mapping[str, Any], kind: Any) -> Any:
    for name in _DECIDED_ELSEWHERE:
        if name in payload:
            raise _wrong(name, "a delivery does not choose this; the configuration does")
    try:
        return msgspec.convert(payload, type=kind)
    except msgspec.ValidationError as error:
        raise ApiError(400, f"The body: {error}.", code="invalid_value") from None


def _refuse_heartbeat(name: str, mode: str) -> None:
    if mode != "now":
        raise ApiError(400, f"{name}: no heartbeat runs here; use now.", code="unsupported_parameter", param=name)


def _wrong(name: str, what: str) -> ApiError:
    return ApiError(400, f"{name}: {what}.", code="invalid_value", param=name)
