"""Contract dataclasses to JSON bytes and back.

Encoding is msgspec's own. Decoding goes through plain objects, because a union of dataclasses is told apart by its `kind` or
`role` field: a reader for each class is compiled once from its type hints. Unknown fields, written by a newer minor release,
are ignored; missing ones take their default.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from ostiary.adapters.store.upcasters import UPCASTERS, Upcaster
from ostiary.contracts.content import Label
from ostiary.contracts.errors import BadInput, StoreRefused
from ostiary.contracts.events import KIND_OF, KINDS, VERSIONS, Event
from ostiary.contracts.messages import InboundMessage, OutboundMessage
from ostiary.contracts.store import InboxItem, SessionRecord

T = TypeVar("T")
Reader = Callable[[Any], Any]

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder()
_TAGS = ("kind", "role")

# What a finished inbox row gives up: everything a person or a caller wrote.
_SPOKEN_MESSAGE = ("text", "attachments", "quoted", "sender_name")
_SPOKEN_ITEM = ("instructions", "context", "client_tools", "directives")
# Columns of the row hold these; the encoded halves do not repeat them.
_ROW_ITEM = ("id", "state", "turn", "ready_at", "message")
_KEPT_MESSAGE = tuple(f.name for f in fields(InboundMessage) if f.name not in _SPOKEN_MESSAGE)
_KEPT_ITEM = tuple(f.name for f in fields(InboxItem) if f.name not in (*_SPOKEN_ITEM, *_ROW_ITEM))


def encode(value: object) -> bytes:
    """Raises BadInput for what JSON cannot hold (a lone surrogate, an object of another type, a huge integer)."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadInput(f"A {type(value).__name__} holds something that cannot be stored: {error}") from error


def encode_event(event: Event) -> tuple[str, int, bytes]:
    """Kind, version and body. Raises BadInput for `Erased`, which is only ever read."""
    kind = KIND_OF.get(type(event))
    if kind is None:
        raise BadInput(f"A {type(event).__name__} is not an event of the journal")
    return kind, VERSIONS[kind], encode(event)


def decode_event(
    kind: str,
    version: int,
    body: bytes,
    *,
    versions: Mapping[str, int] = VERSIONS,
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
) -> Event:
    """Raises StoreRefused for a kind or version newer than this release, and for a body that does not fit its kind."""
    known = versions.get(kind)
    if known is None or version > known:
        raise StoreRefused(
            f"The journal holds an event {kind!r} version {version} that this release does not know",
            hint="It was written by a newer release: run that one, or restore the backup made before the update.",
        )
    raw = _plain(body, f"event {kind!r}")
    for step in range(version, known):
        raw = upcasters[kind, step](raw)
    return _build(KINDS[kind], raw)


def encode_inbox(item: InboxItem) -> tuple[bytes, bytes]:
    """Two halves: what stays for ever, and what people said, which a finished row gives up."""
    message = item.message
    kept: dict[str, object] = {name: getattr(item, name) for name in _KEPT_ITEM}
    kept["message"] = {name: getattr(message, name) for name in _KEPT_MESSAGE}
    spoken: dict[str, object] = {name: getattr(item, name) for name in _SPOKEN_ITEM}
    spoken["message"] = {name: getattr(message, name) for name in _SPOKEN_MESSAGE}
    return encode(kept), encode(spoken)


def decode_inbox(kept: bytes, spoken: bytes | None, row: Mapping[str, object]) -> InboxItem:
    """`row` holds the columns `id`, `state`, `turn` and `ready_at`. Without `spoken` the message's text is empty."""
    raw = _plain(kept, "inbox row")
    said = _plain(spoken, "inbox row") if spoken is not None else {"message": {"text": ""}}
    message = {**raw["message"], **said["message"]}
    return _build(InboxItem, {**raw, **said, **row, "message": message})


def decode_outbound(body: bytes) -> OutboundMessage:
    return _build(OutboundMessage, _plain(body, "outbox row"))


def decode_record(body: bytes, *, last_seq: int) -> SessionRecord:
    return _build(SessionRecord, {**_plain(body, "session record"), "last_seq": last_seq})


def decode_label(body: bytes | None) -> Label | None:
    return None if body is None else _label(body)


# Many versions carry the same few labels, and a label cannot change.
@lru_cache(maxsize=256)
def _label(body: bytes) -> Label:
    return _build(Label, _plain(body, "label"))


def _plain(body: bytes, what: str) -> dict[str, Any]:
    try:
        raw = _DECODER.decode(body)
    except msgspec.DecodeError as error:
        raise StoreRefused(f"A stored {what} is damaged: {error}") from error
    if not isinstance(raw, dict):
        raise StoreRefused(f"A stored {what} is damaged: it is not an object")
    return raw


def _build(cls: type[T], raw: dict[str, Any]) -> T:
    try:
        return cast(T, _dataclass_reader(cast(type, cls))(raw))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise StoreRefused(f"A stored {cls.__name__} does not fit this release: {error}") from error


def _number(value: Any) -> float:
    """JSON has no NaN or infinity; msgspec writes null for them."""
    return float("nan") if value is None else float(value)


@cache
def _dataclass_reader(cls: type) -> Reader:
    hints = get_type_hints(cls)
    known = frozenset(hints)
    steps = tuple((name, reader) for name, hint in hints.items() if (reader := _reader(hint)) is not None)

    def read(raw: Any) -> Any:
        values = raw if raw.keys() <= known else {name: raw[name] for name in known & raw.keys()}
        for name, convert in steps:
            if name in values:
                values[name] = convert(values[name])
        return cls(**values)

    return read


def _reader(hint: Any) -> Reader | None:
    """None means the decoded JSON already is the value."""
    if hint is float:
        return _number
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass_reader(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    origin = get_origin(hint)
    if origin is tuple:
        return _tuple_reader(_reader(get_args(hint)[0]))
    if origin in (Union, types.UnionType):
        return _union_reader(get_args(hint))
    if hint in (str, int, bool, object) or origin is Literal or origin is Mapping:
        return None
    raise TypeError(f"no reader for {hint!r}")


def _tuple_reader(each: Reader | None) -> Reader:
    if each is None:
        return tuple
    return lambda raw: tuple(map(each, raw))


def _union_reader(members: tuple[Any, ...]) -> Reader:
    some = [member for member in members if member is not type(None)]
    if len(some) == 1:
        one = _reader(some[0]) or (lambda raw: raw)
        return lambda raw: None if raw is None else one(raw)
    tag = next(tag for tag in _TAGS if all(tag in get_type_hints(member) for member in some))
    readers = {get_args(get_type_hints(member)[tag])[0]: _dataclass_reader(member) for member in some}

    def read(raw: Any) -> Any:
        reader = readers.get(raw[tag])
        if reader is None:
            raise ValueError(f"unknown {tag} {raw[tag]!r}")
        return reader(raw)

    return read
