"""What both interfaces check alike: options with a meaning are honoured or refused with their name, never dropped."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ostiary.contracts.model import AnswerForm, ToolChoice
from ostiary.gateway.errors import ApiError

T = TypeVar("T")

_WHERE = re.compile(r"^(?P<what>.*?)(?: - at `\$?\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_TOOLS = 128
_MOST_STOPS = 4
_LONGEST_STOP = 200

# How hard a model thinks: their words and ours.
EFFORTS = {"none": "off", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}


class Function(msgspec.Struct, frozen=True):
    """A tool that runs on the caller's side."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


def decoded(decode: Callable[[bytes], T], body: bytes) -> T:
    """Raises ApiError 400 naming the field that is wrong and what was expected."""
    try:
        return decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        found = _WHERE.match(str(error))
        what, path = (found["what"], found["path"] or "") if found else (str(error), "")
        raise ApiError(400, f"{path or 'The body'}: {what}.", code="invalid_value", param=path) from None


def wrong(path: str, what: str) -> ApiError:
    return ApiError(400, f"{path}: {what}.", code="invalid_value", param=path)


def refuse_unsupported(options: Mapping[str, tuple[bool, str]]) -> None:
    """`options` says of each name whether it was asked for, and why it cannot be had. Raises ApiError 400."""
    for name, (is_wanted, reason) in options.items():
        if is_wanted:
            raise ApiError(400, f"{name}: this value is not supported; {reason}.", code="unsupported_parameter", param=name)


def check_options(*, temperature: float | None, token_limits: Mapping[str, int | None], effort: tuple[str, str | None]) -> None:
    """Raises ApiError 400."""
    for name, value in token_limits.items():
        if value is not None and value < 1:
            raise wrong(name, "expected a whole number of at least 1")
    if temperature is not None and not 0 <= temperature <= 2:
        raise wrong("temperature", "expected a number from 0 to 2")
    name, level = effort
    if level is not None and level not in EFFORTS:
        raise wrong(name, f"expected one of {', '.join(EFFORTS)}")


def check_tools(functions: Sequence[tuple[str, Function]], *, choice: str | Mapping[str, Any] | None) -> None:
    """`functions` come with their paths. Raises ApiError 400."""
    if len(functions) > _MOST_TOOLS:
        raise wrong("tools", f"more than {_MOST_TOOLS}")
    seen: set[str] = set()
    for path, function in functions:
        path = f"{path}.name"
        if not _TOOL_NAME.fullmatch(function.name):
            raise wrong(path, "expected 1 to 64 of A-Z a-z 0-9 _ -")
        if function.name in seen:
            raise wrong(path, f"{function.name!r} is there twice")
        seen.add(function.name)
    chosen = choice_of(choice)
    if chosen is None or chosen.mode == "none":
        return
    if not functions:
        raise wrong("tool_choice", "a call can only be demanded of the tools that the request brings along")
    if chosen.tool and chosen.tool not in seen:
        raise wrong("tool_choice", f"{chosen.tool[:64]!r} is not among the tools")


def choice_of(choice: str | Mapping[str, Any] | None) -> ToolChoice | None:
    """Both interfaces' ways of writing it; None leaves it to the model. Raises ApiError 400."""
    if choice in (None, "auto"):
        return None
    if choice == "none":
        return ToolChoice(mode="none")
    if choice == "required":
        return ToolChoice(mode="required")
    if isinstance(choice, Mapping) and choice.get("type") == "function":
        nested = choice.get("function")
        name = nested.get("name") if isinstance(nested, Mapping) else choice.get("name")
        if isinstance(name, str) and name:
            return ToolChoice(mode="required", tool=name)
    raise wrong("tool_choice", "expected auto, none, required or a function by its name")


def form_of(path: str, kind: str, schema: "NamedSchema | None") -> AnswerForm | None:
    """What the answer must look like; None for plain text. Raises ApiError 400."""
    match kind:
        case "text":
            return None
        case "json_object":
            return AnswerForm()
        case "json_schema" if schema is not None and schema.schema is not None:
            if not _TOOL_NAME.fullmatch(schema.name):
                raise wrong(f"{path}.name", "expected 1 to 64 of A-Z a-z 0-9 _ -")
            return AnswerForm(schema=schema.schema, name=schema.name, description=schema.description or "", strict=schema.strict)
        case "json_schema":
            raise wrong(f"{path}.schema", "is missing")
        case _:
            raise wrong(f"{path}.type", "expected text, json_object or json_schema")


class NamedSchema(msgspec.Struct, frozen=True):
    name: str = ""
    schema: dict[str, Any] | None = None
    description: str | None = None
    strict: bool | None = None


def check_stops(stop: str | list[str] | None) -> None:
    """Raises ApiError 400."""
    stops = stops_of(stop)
    if len(stops) > _MOST_STOPS or any(not each or len(each) > _LONGEST_STOP for each in stops):
        raise wrong("stop", f"expected up to {_MOST_STOPS} texts of 1 to {_LONGEST_STOP} characters")


def stops_of(stop: str | list[str] | None) -> tuple[str, ...]:
    return (stop,) if isinstance(stop, str) else tuple(stop or ())
