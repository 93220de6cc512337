"""The arguments of a tool call: the model's JSON text is parsed once, bounded, and checked against the tool's schema.

Every error is a ToolError whose text tells the model what to write instead.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from ostiary.contracts.errors import ToolError

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 64
_MAX_PROBLEMS = 5
_SHOWN = 60

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def parse_arguments(text: str, schema: Mapping[str, object]) -> dict[str, object]:
    """The arguments as a checked object; no text at all means no arguments. Raises ToolError."""
    arguments = parse_object(text)
    problems = validate(arguments, schema)
    if problems:
        raise ToolError("; ".join(problems) + ".")
    return arguments


def parse_object(text: str) -> dict[str, object]:
    """One JSON object of at most MAX_CHARACTERS and MAX_DEPTH levels, without duplicate keys. Raises ToolError."""
    if not text or text.isspace():
        return {}
    if len(text) > MAX_CHARACTERS:
        raise ToolError(f"The arguments are {len(text):,} characters long; at most {MAX_CHARACTERS:,} are accepted.")
    if _depth(text) > MAX_DEPTH:
        raise ToolError(f"The arguments are nested more than {MAX_DEPTH} levels deep.")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        near = text[max(0, error.pos - 15) : error.pos + 15]
        raise ToolError(f"The arguments are not valid JSON: {error.msg} at character {error.pos + 1}, near {near!r}.") from None
    except ValueError as error:
        raise ToolError(f"The arguments are not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise ToolError(f"The arguments must be a JSON object, not {_kind(value)}.")
    if (_SURROGATE.search(text) or not text.isascii()) and _has_lone_surrogate(value):
        raise ToolError("The arguments contain half of a surrogate pair, which is not text.")
    return value


def validate(value: object, schema: Mapping[str, object]) -> list[str]:
    """Problems, at most five, each beginning with the place it is at. Empty if the value fits.

    Understands type, enum, const, required, properties, additionalProperties, items, anyOf and the bounds of numbers,
    strings and arrays. Other keywords are left to the tool itself.
    """
    problems: list[str] = []
    for problem in _problems(value, schema, ""):
        problems.append(problem)
        if len(problems) == _MAX_PROBLEMS:
            break
    return problems


def _problems(value: object, schema: object, place: str) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        if schema is False:
            yield f"{place or 'arguments'} is not allowed"
        return
    where = place or "arguments"
    types = schema.get("type")
    wanted = (types,) if isinstance(types, str) else tuple(types) if isinstance(types, list | tuple) else ()
    if wanted and not any(_is(value, str(kind)) for kind in wanted):
        yield f"{where} must be {' or '.join(map(str, wanted))}, not {_kind(value)}"
        return
    if "enum" in schema and not any(_same(value, choice) for choice in _sequence(schema["enum"])):
        yield f"{where} must be one of {', '.join(_show(choice) for choice in _sequence(schema['enum']))}, not {_show(value)}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{where} must be {_show(schema['const'])}"
    options = _sequence(schema.get("anyOf"))
    if options and all(validate(value, option) for option in options if isinstance(option, Mapping)):
        yield f"{where} fits none of the allowed forms"
    yield from _bounds(value, schema, where)
    if isinstance(value, dict):
        yield from _properties(value, schema, place)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _problems(item, schema["items"], f"{where}[{index}]")


def _properties(value: Mapping[str, object], schema: Mapping[str, object], place: str) -> Iterator[str]:
    known = schema.get("properties")
    properties: Mapping[str, object] = known if isinstance(known, Mapping) else {}
    prefix = f"{place}." if place else ""
    for name in _sequence(schema.get("required")):
        if isinstance(name, str) and name not in value:
            yield f"{prefix}{name} is required"
    extra = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from _problems(item, properties[name], f"{prefix}{name}")
        elif extra is False:
            allowed = ", ".join(sorted(properties)) or "none"
            yield f"{prefix}{name[:_SHOWN]} is not an argument (allowed: {allowed})"
        else:
            yield from _problems(item, extra, f"{prefix}{name[:_SHOWN]}")


def _bounds(value: object, schema: Mapping[str, object], where: str) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if _exceeds(schema.get("minimum"), value):
            yield f"{where} must be at least {schema['minimum']}, not {_show(value)}"
        if _exceeds(value, schema.get("maximum")):
            yield f"{where} must be at most {schema['maximum']}, not {_show(value)}"
    if isinstance(value, str):
        yield from _length(len(value), schema.get("minLength"), schema.get("maxLength"), where, "characters")
    if isinstance(value, list):
        yield from _length(len(value), schema.get("minItems"), schema.get("maxItems"), where, "items")


def _length(length: int, least: object, most: object, where: str, unit: str) -> Iterator[str]:
    if _exceeds(least, length):
        yield f"{where} must have at least {least} {unit}"
    if _exceeds(length, most):
        yield f"{where} must have at most {most} {unit}, not {length}"


def _exceeds(high: object, low: object) -> bool:
    return isinstance(high, int | float) and isinstance(low, int | float) and high > low


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, ()))


def _same(value: object, choice: object) -> bool:
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


def _kind(value: object) -> str:
    return next((name for name in ("null", "boolean", "integer", "number", "string", "array", "object") if _is(value, name)), "?")


def _show(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _depth(text: str) -> int:
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return 0
    depth = deepest = 0
    for token in _TOKENS.finditer(text):
        if token[1]:
            depth += 1
            deepest = max(deepest, depth)
        elif token[2]:
            depth -= 1
    return deepest


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:_SHOWN]!r} appears twice")
            seen.add(key)
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:_SHOWN]} is too large")
    return number


def _has_lone_surrogate(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
