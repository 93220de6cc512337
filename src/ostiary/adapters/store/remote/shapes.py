"""Contract values as msgpack and back: plain data only, each read by the type that its place in the contract has.

Events travel as the journal keeps them (kind, version, JSON), so that both sides may be of different releases. Writes travel
under the name of their class.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from ostiary.adapters.store.codec import decode_event, encode_event
from ostiary.contracts import store as words
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import Erased, Event, Recorded
from ostiary.contracts.store import Append, Write

Reader = Callable[[Any], Any]

_ENCODER = msgspec.msgpack.Encoder()
_TAGS = ("kind", "role")
_EVENTS = frozenset(get_args(Event))
_WRITES: Mapping[str, type] = {each.__name__: each for each in get_args(Write)}
_PLAIN = (str, int, bool, bytes, object, type(None))


def pack(value: object) -> bytes:
    """Raises BadInput for what cannot travel (a lone surrogate, an object of another type)."""
    try:
        return _ENCODER.encode(plain(value))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadInput(f"Something cannot be sent to the vault: {error}") from error


def unpack(body: bytes) -> Any:
    """Plain data. Raises ValueError."""
    return msgspec.msgpack.decode(body)


def plain(value: object) -> object:
    """Events and writes marked for what they are; everything else is left to msgpack."""
    kind = type(value)
    if kind is Recorded or kind is Append:
        return {field.name: _event(getattr(value, field.name), field.name) for field in fields(value)}  # type: ignore[arg-type]
    if kind in (tuple, list):
        return [plain(each) for each in value]  # type: ignore[attr-defined]
    if kind is dict:
        return {name: plain(each) for name, each in value.items()}  # type: ignore[attr-defined]
    return value


def plain_writes(writes: Sequence[Write]) -> list[tuple[str, object]]:
    """Raises BadInput for what is no write."""
    for write in writes:
        if _WRITES.get(type(write).__name__) is not type(write):
            raise BadInput(f"The store does not know how to write a {type(write).__name__}")
    return [(type(write).__name__, plain(write)) for write in writes]


def read_writes(raw: Any) -> list[Write]:
    """Raises TypeError, ValueError, KeyError or AttributeError for what does not fit, StoreRefused for an unknown event."""
    return [reader_of(_WRITES[name])(body) for name, body in raw]


def _event(value: object, name: str) -> object:
    if name != "event":
        return value
    if isinstance(value, Erased):
        return ["", 0, [value.kind, value.digest]]
    return encode_event(value)  # type: ignore[arg-type]


def _read_event(raw: Any) -> Event:
    kind, version, body = raw
    if not kind:
        return Erased(kind=body[0], digest=body[1])
    return decode_event(kind, version, body)


@cache
def reader_of(hint: Any) -> Reader:
    """What makes a value of that type from plain data. Raises TypeError for a type that has no place in a contract."""
    if hint in _PLAIN or hint is None:
        return _same
    if hint is float:
        return float
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _union(get_args(hint))
    if origin is tuple:
        return _tuple(get_args(hint))
    if origin is Literal:
        return _same
    if origin is not None and issubclass(origin, Mapping):
        inner = reader_of(get_args(hint)[1])
        return _same if inner is _same else lambda raw: {key: inner(value) for key, value in raw.items()}
    if origin is not None and issubclass(origin, Sequence):
        return _tuple((get_args(hint)[0], ...))
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    raise TypeError(f"no reader for {hint!r}")


def _same(raw: Any) -> Any:
    return raw


def _tuple(args: tuple[Any, ...]) -> Reader:
    if len(args) == 2 and args[1] is Ellipsis:
        each = reader_of(args[0])
        return tuple if each is _same else lambda raw: tuple(map(each, raw))
    readers = tuple(map(reader_of, args))
    return lambda raw: tuple(read(value) for read, value in zip(readers, raw, strict=True))


def _union(members: tuple[Any, ...]) -> Reader:
    if _EVENTS.issuperset(members):
        return _read_event
    some = tuple(member for member in members if member is not type(None))
    if len(some) == 1:
        one = reader_of(some[0])
        return _same if one is _same else lambda raw: None if raw is None else one(raw)
    if not all(is_dataclass(member) for member in some):
        return _same
    tag = next(tag for tag in _TAGS if all(tag in get_type_hints(member) for member in some))
    readers = {get_args(get_type_hints(member)[tag])[0]: reader_of(member) for member in some}
    return lambda raw: readers[raw[tag]](raw)


def _dataclass(cls: type) -> Reader:
    hints = get_type_hints(cls)
    steps: list[tuple[str, Reader]] = []

    def read(raw: Any) -> Any:
        if not steps:
            # Compiled at the first use: a type may hold itself.
            steps.extend((name, reader_of(hint)) for name, hint in hints.items())
        return cls(**{name: convert(raw[name]) for name, convert in steps if name in raw})

    return read


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(function, localns=vars(words))
