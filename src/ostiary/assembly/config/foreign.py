"""Checking a plugin's own keys against the JSON Schema it brought along."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ostiary.assembly.config.problems import Path, nearest

if TYPE_CHECKING:
    from ostiary.assembly.config.parse import Reading

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def check(schema: Mapping[str, Any], value: object, path: Path, reading: "Reading") -> None:
    """Add a problem for everything that type, enum, const, bounds, pattern, required, properties and items forbid."""
    kinds = schema.get("type")
    allowed = (kinds,) if isinstance(kinds, str) else tuple(kinds or ())
    if allowed and not any(_is(value, kind) for kind in allowed):
        reading.refuse(path, f"must be {' or '.join(allowed)}")
        return
    if "enum" in schema and value not in schema["enum"]:
        reading.refuse(path, f"must be one of {', '.join(map(str, schema['enum']))}")
    if "const" in schema and value != schema["const"]:
        reading.refuse(path, f"must be {schema['const']}")
    if isinstance(value, str):
        _text(schema, value, path, reading)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _number(schema, value, path, reading)
    elif isinstance(value, Mapping):
        _object(schema, value, path, reading)
    elif isinstance(value, (list, tuple)) and isinstance(schema.get("items"), Mapping):
        for index, item in enumerate(value):
            check(schema["items"], item, (*path, index), reading)


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, ()))


def _text(schema: Mapping[str, Any], value: str, path: Path, reading: "Reading") -> None:
    if len(value) < schema.get("minLength", 0) or len(value) > schema.get("maxLength", len(value)):
        reading.refuse(path, f"must have {schema.get('minLength', 0)} to {schema.get('maxLength', 'any number of')} characters")
    if "pattern" in schema and re.search(schema["pattern"], value) is None:
        reading.refuse(path, f"must match {schema['pattern']}")


def _number(schema: Mapping[str, Any], value: float, path: Path, reading: "Reading") -> None:
    if value < schema.get("minimum", value):
        reading.refuse(path, f"must be at least {schema['minimum']}")
    if value > schema.get("maximum", value):
        reading.refuse(path, f"must be at most {schema['maximum']}")


def _object(schema: Mapping[str, Any], value: Mapping[str, Any], path: Path, reading: "Reading") -> None:
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            reading.refuse((*path, name), "is missing")
    rest = schema.get("additionalProperties", True)
    for name, each in value.items():
        if name in properties:
            check(properties[name], each, (*path, name), reading)
        elif isinstance(rest, Mapping):
            check(rest, each, (*path, name), reading)
        elif rest is False:
            meant = nearest(name, properties)
            reading.refuse((*path, name), f"is not a known key{f'; did you mean {meant}?' if meant else ''}")
