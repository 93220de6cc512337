"""Contract values as plain JSON data and back, by their declared types. Used for files that people keep and carry about."""

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ostiary.contracts.errors import BadInput

_TAGS = ("kind", "role")


def to_plain(value: object) -> Any:
    """Dataclasses become objects, tuples lists, enums their words. What JSON cannot say becomes null or text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    return str(value)


def from_plain(wanted: Any, value: object) -> Any:
    """The inverse of `to_plain`. Unknown fields are ignored; raises BadInput naming the field that does not fit."""
    return _reader(wanted)(value, "")


_Read = Callable[[object, str], Any]


@cache
def _reader(wanted: Any) -> _Read:
    origin = get_origin(wanted)
    if origin is Literal:
        return _literal(get_args(wanted))
    if origin is Union or origin is types.UnionType:
        return _union(get_args(wanted))
    if origin is tuple:
        return _tuple(get_args(wanted)[0])
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(get_args(wanted)[1])
    if wanted is object or wanted is Any:
        return lambda value, _: value
    if wanted is type(None):
        return _check(lambda value: value is None, "null")
    if isinstance(wanted, type) and issubclass(wanted, StrEnum):
        return _literal(tuple(wanted), make=wanted)
    if is_dataclass(wanted):
        return _dataclass(wanted)
    return _SCALARS[wanted]


def _check(fits: Callable[[object], bool], name: str, make: Callable[[Any], Any] = lambda value: value) -> _Read:
    def read(value: object, path: str) -> Any:
        if not fits(value):
            raise BadInput(f"{path.strip('.') or 'the value'} should be {name}")
        return make(value)

    return read


_SCALARS: dict[Any, _Read] = {
    str: _check(lambda value: isinstance(value, str), "text"),
    bool: _check(lambda value: isinstance(value, bool), "true or false"),
    int: _check(lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number"),
    float: _check(
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300, "a number", float
    ),
}


def _literal(words: tuple[Any, ...], make: Callable[[Any], Any] = lambda value: value) -> _Read:
    return _check(lambda value: isinstance(value, str) and value in words, " or ".join(map(str, words)), make)


def _tuple(item: Any) -> _Read:
    read_item = _reader(item)

    def read(value: object, path: str) -> Any:
        if not isinstance(value, list):
            raise BadInput(f"{path.strip('.') or 'the value'} should be a list")
        return tuple(read_item(each, f"{path}[{index}]") for index, each in enumerate(value))

    return read


def _mapping(item: Any) -> _Read:
    read_item = _reader(item)

    def read(value: object, path: str) -> Any:
        if not isinstance(value, dict):
            raise BadInput(f"{path.strip('.') or 'the value'} should be an object")
        return {key: read_item(each, f"{path}.{key}") for key, each in value.items()}

    return read


def _union(choices: tuple[Any, ...]) -> _Read:
    """Told apart by null and by the tag field (`kind` or `role`) that every variant of ours carries."""
    optional = type(None) in choices
    some = [choice for choice in choices if choice is not type(None)]
    if len(some) == 1:
        read_one = _reader(some[0])
        return lambda value, path: None if value is None and optional else read_one(value, path)
    by_tag = {tag: _reader(choice) for choice in some for tag in _tag_values(choice)}

    def read(value: object, path: str) -> Any:
        if value is None and optional:
            return None
        tags = [value.get(name) for name in _TAGS] if isinstance(value, dict) else []
        found = next((by_tag[tag] for tag in tags if isinstance(tag, str) and tag in by_tag), None)
        if found is None:
            raise BadInput(f"{path.strip('.') or 'the value'} is of no known kind")
        return found(value, path)

    return read


def _tag_values(choice: Any) -> tuple[Any, ...]:
    hints = get_type_hints(choice)
    return next(get_args(hints[name]) for name in _TAGS if name in hints)


def _dataclass(wanted: Any) -> _Read:
    hints = get_type_hints(wanted)
    readers = {field.name: _reader(hints[field.name]) for field in fields(wanted)}

    def read(value: object, path: str) -> Any:
        if not isinstance(value, dict):
            raise BadInput(f"{path.strip('.') or 'the value'} should be an object")
        given = {name: reader(value[name], f"{path}.{name}") for name, reader in readers.items() if name in value}
        try:
            return wanted(**given)
        except TypeError as error:
            missing = [name for name in readers if name not in value]
            raise BadInput(f"{path.strip('.') or 'the value'} lacks {', '.join(missing)}") from error

    return read
