"""From a tree of plain values to sections, collecting every problem on the way."""

import dataclasses
import json
import math
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any, Literal

from ostiary.assembly.config.problems import Path, Problem, dotted, nearest
from ostiary.assembly.config.schema import Config
from ostiary.assembly.config.secret import (
    CredentialReference,
    LiteralSecret,
    Reference,
    expand,
    holds_secret,
    is_sensitive,
    looks_secret,
    read_secret,
    variables,
)
from ostiary.assembly.config.section import file_key

Extensions = Mapping[str, Any]
"""What channels and plugins add: a dotted path such as `channels.telegram`, and a section class or a JSON Schema."""

_SECRETS = frozenset({Reference, CredentialReference, LiteralSecret})
_NOTHING: Mapping[str, Any] = {}
_BAD: Any = object()
_KEYS: dict[type, Mapping[str, "dataclasses.Field[Any]"]] = {}


class Reading:
    """One pass over one tree: what it may look up, and what it has found wrong so far."""

    __slots__ = ("environ", "extensions", "problems", "warnings")

    def __init__(self, environ: Mapping[str, str], extensions: Extensions | None = None) -> None:
        self.environ = environ
        self.extensions: Extensions = extensions or {}
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def refuse(self, path: Path, message: str) -> Any:
        self.problems.append(Problem(path=path, message=message))
        return _BAD

    def warn(self, path: Path, message: str) -> None:
        self.warnings.append(Problem(path=path, message=message))


def read_config(tree: Mapping[str, object], reading: Reading) -> Config | None:
    """The configuration, or None with `reading.problems` filled."""
    config = _section(Config, tree, (), reading)
    return None if reading.problems else typing.cast(Config, config)


def read_section(cls: type[Any], tree: object, path: Path, reading: Reading) -> Any:
    """One section by itself, for channels and plugins that bring their own. None with problems filled if it is bad."""
    value = _section(cls, tree, path, reading)
    return None if value is _BAD else value


def keys_of(cls: type[Any]) -> Mapping[str, "dataclasses.Field[Any]"]:
    """A section's fields by the name they have in the file."""
    known = _KEYS.get(cls)
    if known is None:
        open_keys = getattr(cls, "open_keys", "")
        known = _KEYS[cls] = {file_key(each): each for each in dataclasses.fields(cls) if each.name != open_keys}
    return known


def _section(cls: type[Any], raw: object, path: Path, reading: Reading) -> Any:
    shorthand = getattr(cls, "shorthand", "")
    if shorthand and isinstance(raw, str):
        raw = {shorthand: raw}
    if not isinstance(raw, Mapping):
        return reading.refuse(path, f"found {_found(raw, path)}, but {'a text or ' if shorthand else ''}an object is allowed")
    known = keys_of(cls)
    values: dict[str, Any] = {}
    own: dict[str, object] = {}
    for name, value in raw.items():
        each = known.get(name)
        if each is not None:
            values[each.name] = _value(each.type, value, (*path, name), each.metadata, reading)
        elif hasattr(cls, "open_keys"):
            own[name] = value
        else:
            _unknown(name, known, path, reading)
    for name, each in known.items():
        if each.default is MISSING and each.default_factory is MISSING and each.name not in values:
            values[each.name] = reading.refuse((*path, name), "is missing")
    if hasattr(cls, "open_keys"):
        values[cls.open_keys] = _extension(own, path, known, reading)
    if any(value is _BAD for value in values.values()):
        return _BAD
    return cls(**values)


def _unknown(name: str, known: Mapping[str, Any], path: Path, reading: Reading) -> None:
    if name == "$include":
        reading.refuse((*path, name), "is not supported; put everything into the one file")
        return
    meant = nearest(name, known)
    names = ", ".join(sorted(known))
    reading.refuse(
        (*path, name), f"is not a known key; did you mean {meant}?" if meant else f"is not a known key; allowed are {names}"
    )


def _extension(own: Mapping[str, object], path: Path, known: Mapping[str, Any], reading: Reading) -> object:
    schema = reading.extensions.get(dotted(path))
    if schema is None:
        for name in own:
            meant = nearest(name, known)
            if meant:
                reading.warn((*path, name), f"is left to the channel to understand; did you mean {meant}?")
        return dict(own)
    if dataclasses.is_dataclass(schema):
        return _section(typing.cast(type[Any], schema), own, path, reading)
    from ostiary.assembly.config.foreign import check

    before = len(reading.problems)
    check(schema, own, path, reading)
    return dict(own) if len(reading.problems) == before else _BAD


def _value(kind: Any, raw: object, path: Path, limits: Mapping[str, Any], reading: Reading) -> Any:
    origin = typing.get_origin(kind)
    if origin is typing.Union or origin is types.UnionType:
        return _union(typing.get_args(kind), raw, path, limits, reading)
    if raw is None and kind is not object:
        return reading.refuse(path, "found null; leave the key out to get its default")
    if kind is str:
        return _text(raw, path, limits, reading)
    if kind is bool:
        return raw if isinstance(raw, bool) else reading.refuse(path, f"found {_found(raw, path)}, but true or false is allowed")
    if kind is int or kind is float:
        return _number(kind, raw, path, limits, reading)
    if origin is Literal:
        return _choice(typing.get_args(kind), raw, path, reading)
    if origin is tuple:
        return _list(typing.get_args(kind)[0], raw, path, limits, reading)
    if origin is not None:
        return _map(typing.get_args(kind), raw, path, limits, reading)
    if kind is object:
        return _own(raw, path, reading)
    return _section(kind, raw, path, reading)


def _union(members: tuple[Any, ...], raw: object, path: Path, limits: Mapping[str, Any], reading: Reading) -> Any:
    if raw is None and types.NoneType in members:
        return None
    if set(members) >= _SECRETS:
        return _secret(raw, path, reading)
    (only,) = (each for each in members if each is not types.NoneType)
    return _value(only, raw, path, limits, reading)


def _secret(raw: object, path: Path, reading: Reading) -> Any:
    if not isinstance(raw, str):
        return reading.refuse(path, "a secret is a text: ${NAME}, credential:<name>, or the secret itself")
    source = read_secret(raw, dotted(path))
    if isinstance(source, CredentialReference) and not source.name:
        return reading.refuse(path, "credential: must be followed by a name")
    if isinstance(source, LiteralSecret):
        if not raw.strip():
            return reading.refuse(path, "the secret is empty; leave the key out or give ${NAME} or credential:<name>")
        if holds_secret(path):
            reading.warn(path, "holds a secret in plain text; `ostiary doctor --fix` moves it to the credential store")
    return source


def _text(raw: object, path: Path, limits: Mapping[str, Any], reading: Reading) -> Any:
    if isinstance(raw, int) and not isinstance(raw, bool) and isinstance(path[-1], int):
        raw = str(raw)  # ids in lists are often written as numbers
    if not isinstance(raw, str):
        return reading.refuse(path, f"found {_found(raw, path)}, but a text is allowed")
    if "${" in raw:
        missing = [name for name in variables(raw) if name not in reading.environ]
        if missing:
            return reading.refuse(path, f"refers to the environment variable {' and '.join(missing)}, which is not set")
        raw = expand(raw, reading.environ)
    pattern = limits.get("pattern")
    if pattern and re.fullmatch(pattern, raw) is None:
        example = limits.get("placeholder")
        return reading.refuse(
            path, f"found {_found(raw, path)}, but {'a text like ' + example if example else 'the pattern ' + pattern} is allowed"
        )
    return raw


def _number(kind: type, raw: object, path: Path, limits: Mapping[str, Any], reading: Reading) -> Any:
    low, high = limits.get("minimum"), limits.get("maximum")
    word = "a whole number" if kind is int else "a number"
    bounds = (
        f" from {low} to {high}" if low is not None and high is not None else (f" of at least {low}" if low is not None else "")
    )
    fits = isinstance(raw, int if kind is int else (int, float)) and not isinstance(raw, bool)
    if not fits or not math.isfinite(typing.cast(float, raw)):
        return reading.refuse(path, f"found {_found(raw, path)}, but {word}{bounds} is allowed")
    number = typing.cast(float, raw)
    if (low is not None and number < low) or (high is not None and number > high):
        return reading.refuse(path, f"found {raw}, but {word}{bounds} is allowed")
    return kind(number)


def _choice(allowed: tuple[str, ...], raw: object, path: Path, reading: Reading) -> Any:
    if raw in allowed:
        return raw
    meant = nearest(raw, allowed) if isinstance(raw, str) else ""
    hint = f"; did you mean {meant}?" if meant else ""
    return reading.refuse(path, f"found {_found(raw, path)}, but one of {', '.join(allowed)} is allowed{hint}")


def _list(item: Any, raw: object, path: Path, limits: Mapping[str, Any], reading: Reading) -> Any:
    if not isinstance(raw, (list, tuple)):
        return reading.refuse(path, f"found {_found(raw, path)}, but a list is allowed")
    values = tuple(_value(item, each, (*path, index), limits, reading) for index, each in enumerate(raw))
    return _BAD if any(each is _BAD for each in values) else values


def _map(kinds: tuple[Any, ...], raw: object, path: Path, limits: Mapping[str, Any], reading: Reading) -> Any:
    if not isinstance(raw, Mapping):
        return reading.refuse(path, f"found {_found(raw, path)}, but an object is allowed")
    key_kind, value_kind = kinds
    if value_kind is object:
        return dict(raw)
    values: dict[str, Any] = {}
    for name, each in raw.items():
        if typing.get_origin(key_kind) is Literal and _choice(typing.get_args(key_kind), name, (*path, name), reading) is _BAD:
            values[name] = _BAD
        elif limits.get("keys") and re.fullmatch(limits["keys"], name) is None:
            values[name] = reading.refuse((*path, name), f"is not a name of the form {limits['keys']}")
        else:
            values[name] = _value(value_kind, each, (*path, name), limits, reading)
    return _BAD if any(each is _BAD for each in values.values()) else values


def _own(raw: object, path: Path, reading: Reading) -> Any:
    if not isinstance(raw, Mapping):
        return reading.refuse(path, f"found {_found(raw, path)}, but an object is allowed")
    return _extension(raw, path, _NOTHING, reading)


def _found(raw: object, path: Path) -> str:
    """What was found, without ever repeating something that may be a secret."""
    if isinstance(raw, Mapping):
        return "an object"
    if isinstance(raw, (list, tuple)):
        return "a list"
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    if isinstance(raw, str) and (is_sensitive(name) or looks_secret(raw)):
        return "a text"
    return json.dumps(raw, ensure_ascii=False)
