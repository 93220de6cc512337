"""The schema as JSON Schema for editors, with hints for forms."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any, Literal

from ostiary.assembly.config.explain import plain
from ostiary.assembly.config.parse import Extensions, keys_of
from ostiary.assembly.config.schema import VERSION, Config
from ostiary.assembly.config.secret import LiteralSecret, SecretSource

_HINTS = ("label", "help", "advanced", "placeholder")


def export(extensions: Extensions | None = None) -> dict[str, Any]:
    """`schema` (draft 2020-12), `uiHints` by dotted path with `*` for free names, and `version`."""
    schema = _section(Config)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Ostiary configuration"
    hints: dict[str, dict[str, Any]] = {}
    _hints(Config, "", hints)
    for path, extra in (extensions or {}).items():
        _extend(schema, path, extra)
        if dataclasses.is_dataclass(extra):
            _hints(typing.cast(type[Any], extra), path, hints)
    return {"schema": schema, "uiHints": hints, "version": VERSION}


def _section(cls: type[Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, each in keys_of(cls).items():
        properties[name] = _key(each)
        if each.default is MISSING and each.default_factory is MISSING:
            required.append(name)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": hasattr(cls, "open_keys")}
    if required:
        schema["required"] = required
    if cls.__doc__:
        schema["description"] = cls.__doc__
    if hasattr(cls, "shorthand"):
        return {"anyOf": [{"type": "string"}, schema]}
    return schema


def _key(field: "dataclasses.Field[Any]") -> dict[str, Any]:
    schema = _kind(field.type, field.metadata)
    if field.metadata.get("help"):
        schema["description"] = field.metadata["help"]
    if field.default is not MISSING and field.default is not None:
        schema["default"] = plain(field.default)
    return schema


def _kind(kind: Any, limits: Mapping[str, Any]) -> dict[str, Any]:
    origin, members = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or origin is types.UnionType:
        if LiteralSecret in members:
            return {"type": "string", "writeOnly": True}
        (only,) = (each for each in members if each is not types.NoneType)
        return {"anyOf": [_kind(only, limits), {"type": "null"}]} if types.NoneType in members else _kind(only, limits)
    if origin is Literal:
        return {"enum": list(members)}
    if origin is tuple:
        return {"type": "array", "items": _kind(members[0], limits)}
    if origin is not None:
        return _map(members, limits)
    if kind is object:
        return {"type": "object"}
    if kind is bool:
        return {"type": "boolean"}
    if kind is str:
        return {"type": "string", "pattern": f"^(?:{limits['pattern']})$"} if limits.get("pattern") else {"type": "string"}
    if kind is int or kind is float:
        bounds = {name: limits[name] for name in ("minimum", "maximum") if limits.get(name) is not None}
        return {"type": "integer" if kind is int else "number", **bounds}
    return _section(kind)


def _map(members: tuple[Any, ...], limits: Mapping[str, Any]) -> dict[str, Any]:
    names, values = members
    schema: dict[str, Any] = {"type": "object"}
    schema["additionalProperties"] = True if values is object else _kind(values, limits)
    if typing.get_origin(names) is Literal:
        schema["propertyNames"] = {"enum": list(typing.get_args(names))}
    elif limits.get("keys"):
        schema["propertyNames"] = {"pattern": f"^(?:{limits['keys']})$"}
    return schema


def _hints(cls: type[Any], path: str, hints: dict[str, dict[str, Any]]) -> None:
    for name, each in keys_of(cls).items():
        here = f"{path}.{name}" if path else name
        hint = {word: each.metadata[word] for word in _HINTS if each.metadata.get(word)}
        if _is_secret(each.type):
            hint["sensitive"] = True
        if hint:
            hints[here] = hint
        for inner, below in _sections_in(each.type):
            _hints(inner, here + below, hints)


def _is_secret(kind: Any) -> bool:
    return kind is LiteralSecret or any(_is_secret(each) for each in typing.get_args(kind))


def _sections_in(kind: Any) -> list[tuple[type[Any], str]]:
    origin, members = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or origin is types.UnionType:
        return [found for each in members for found in _sections_in(each)]
    if origin is tuple:
        return [(inner, f"[]{below}") for inner, below in _sections_in(members[0])]
    if origin is not None and origin is not Literal:
        return [(inner, f".*{below}") for inner, below in _sections_in(members[1])]
    if dataclasses.is_dataclass(kind) and kind not in typing.get_args(SecretSource):
        return [(typing.cast(type[Any], kind), "")]
    return []


def _extend(schema: dict[str, Any], path: str, extra: Any) -> None:
    """Put a channel's or plugin's own keys where they belong."""
    node = schema
    for step in path.split("."):
        node = node.setdefault("properties", {}).setdefault(step, dict(node.get("additionalProperties") or {"type": "object"}))
    own = _section(typing.cast(type[Any], extra)) if dataclasses.is_dataclass(extra) else dict(extra)
    node["properties"] = {**node.get("properties", {}), **own.get("properties", {})}
    node["additionalProperties"] = own.get("additionalProperties", False)
