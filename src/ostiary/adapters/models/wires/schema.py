"""Tool schemas as each wire wants them."""

from collections.abc import Mapping
from typing import Any

_MAX_DEPTH = 32

_GEMINI = frozenset(
    [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "maxItems",
        "minItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "anyOf",
        "items",
        "minimum",
        "maximum",
        "default",
    ]
)
_GEMINI_FORMATS = frozenset(("enum", "date-time", "float", "double", "int32", "int64"))
_OLLAMA_DROPS = frozenset(("additionalProperties", "$ref", "format", "$schema", "$defs", "definitions", "$id", "$comment"))


def object_schema(schema: Mapping[str, object]) -> dict[str, Any]:
    """An object schema at the top, as OpenAI and Anthropic demand: no alternatives there, `properties` always present.

    That nothing else may be given is not said for each tool again: it costs tokens with every request, and a call that gives
    more is answered with an error."""
    plain = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "allOf", "$schema")}
    if plain.get("additionalProperties") is False:
        del plain["additionalProperties"]
    properties = dict(_mapping(schema.get("properties")))
    for combination in ("allOf", "anyOf", "oneOf"):
        for option in _list(schema.get(combination)):
            for name, value in _mapping(_mapping(option).get("properties")).items():
                properties.setdefault(name, value)
    return {**plain, "type": "object", "properties": properties}


def gemini_schema(schema: Mapping[str, object]) -> dict[str, Any]:
    """The subset of OpenAPI that Gemini takes; references are resolved, what it does not know is left out."""
    return _gemini(dict(schema), _definitions(schema), 0)


def ollama_schema(schema: Mapping[str, object]) -> dict[str, Any]:
    """Small models stumble over references, formats and closed objects; those are resolved or left out."""
    cleaned = _ollama(dict(schema), _definitions(schema), 0)
    return {"type": "object", "properties": {}, **cleaned}


def _gemini(schema: dict[str, Any], definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        return {"type": "object"}
    schema = _all_of(_resolved(schema, definitions))
    kept = {key: value for key, value in schema.items() if key in _GEMINI}
    if "const" in schema:
        kept["enum"] = [schema["const"]]
    if "oneOf" in schema:
        kept["anyOf"] = schema["oneOf"]
    _single_type(kept)
    if kept.get("format") not in _GEMINI_FORMATS:
        kept.pop("format", None)
    if "enum" in kept:
        kept["enum"] = [str(value) for value in _list(kept["enum"]) if value is not None]
        kept["type"] = "string"
    if "properties" in kept:
        kept["properties"] = {
            name: _gemini(dict(_mapping(value)), definitions, depth + 1) for name, value in _mapping(kept["properties"]).items()
        }
        kept["required"] = [name for name in _list(kept.get("required")) if name in kept["properties"]]
        if not kept["required"]:
            del kept["required"]
    if "items" in kept:
        kept["items"] = _gemini(dict(_mapping(kept["items"])), definitions, depth + 1)
    elif kept.get("type") == "array":
        kept["items"] = {"type": "string"}
    if "anyOf" in kept:
        _any_of(kept, definitions, depth)
    return kept


def _any_of(kept: dict[str, Any], definitions: Mapping[str, Any], depth: int) -> None:
    """`anyOf` with null is Gemini's `nullable`; a single remaining option is the schema itself."""
    options = [dict(_mapping(option)) for option in _list(kept.pop("anyOf"))]
    real = [_gemini(option, definitions, depth + 1) for option in options if option.get("type") != "null"]
    if len(real) < len(options):
        kept["nullable"] = True
    if len(real) == 1:
        kept.update(real[0])
    elif real:
        kept["anyOf"] = real


def _single_type(kept: dict[str, Any]) -> None:
    kinds = kept.get("type")
    if isinstance(kinds, list):
        real = [kind for kind in kinds if kind != "null"]
        if len(real) < len(kinds):
            kept["nullable"] = True
        kept["type"] = real[0] if real else "string"


def _ollama(schema: dict[str, Any], definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        return {"type": "object"}
    schema = _all_of(_resolved(schema, definitions))
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _OLLAMA_DROPS:
            continue
        if key == "properties":
            kept[key] = {name: _ollama(dict(_mapping(item)), definitions, depth + 1) for name, item in _mapping(value).items()}
        elif key == "items":
            kept[key] = _ollama(dict(_mapping(value)), definitions, depth + 1)
        elif key in ("anyOf", "oneOf"):
            kept[key] = [_ollama(dict(_mapping(item)), definitions, depth + 1) for item in _list(value)]
        else:
            kept[key] = value
    return kept


def _resolved(schema: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    target = _mapping(definitions.get(reference.rpartition("/")[2]))
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


def _all_of(schema: dict[str, Any]) -> dict[str, Any]:
    if "allOf" not in schema:
        return schema
    merged: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    required: list[Any] = []
    own = {key: value for key, value in schema.items() if key != "allOf"}
    for part in (*map(_mapping, _list(schema["allOf"])), own):
        merged.update(part)
        properties.update(_mapping(part.get("properties")))
        required += [name for name in _list(part.get("required")) if name not in required]
    return {**merged, **({"properties": properties} if properties else {}), **({"required": required} if required else {})}


def _definitions(schema: Mapping[str, object]) -> dict[str, Any]:
    return {**_mapping(schema.get("definitions")), **_mapping(schema.get("$defs"))}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
