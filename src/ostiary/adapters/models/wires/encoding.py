"""Turning messages into request bytes, each message once: a long history is joined from ready pieces."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from ostiary.contracts.content import Image, Message, Thinking, ToolCall
from ostiary.contracts.model import ToolSchema

Encoded = TypeVar("Encoded")

_MAX_CACHED = 8 * 1024 * 1024
_MAX_PIECE = 1024 * 1024
_MAX_TOOL_SETS = 64
_MAX_VARIANTS = 16
_ENTRY_OVERHEAD = 400
_GOOD_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_encoder = msgspec.json.Encoder()

EMPTY = "(empty)"
UNSEEN = "[An image is here that this model cannot see.]"
MISSING = "[An image was here; its bytes are gone.]"


class MessageCache(Generic[Encoded]):
    """Encoded messages by identity: messages never change, and the cache holds them so that an identity is never reused.

    Bounded by bytes; when full, the older half goes.
    """

    __slots__ = ("_entries", "_size")

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Message, Encoded, int]] = {}
        self._size = 0

    def gather(self, messages: Sequence[Message], encode: Callable[[Message], tuple[Encoded, int]]) -> list[Encoded]:
        """One piece per message. `encode` gives the piece and its size; a negative size is not kept."""
        entries = self._entries
        pieces: list[Encoded] = []
        for message in messages:
            entry = entries.get(id(message))
            pieces.append(entry[1] if entry is not None else self._add(message, encode))
        return pieces

    def _add(self, message: Message, encode: Callable[[Message], tuple[Encoded, int]]) -> Encoded:
        piece, size = encode(message)
        if 0 <= size <= _MAX_PIECE:
            self._entries[id(message)] = (message, piece, size + _ENTRY_OVERHEAD)
            self._size += size + _ENTRY_OVERHEAD
            if self._size > _MAX_CACHED:
                self._shrink()
        return piece

    def _shrink(self) -> None:
        for key in list(self._entries):
            if self._size <= _MAX_CACHED // 2:
                return
            self._size -= self._entries.pop(key)[2]


class Caches(Generic[Encoded]):
    """One message cache per way of encoding (provider, sight), and the encoded tool sets of a wire."""

    __slots__ = ("_messages", "_tools")

    def __init__(self) -> None:
        self._messages: dict[object, MessageCache[Encoded]] = {}
        self._tools: dict[tuple[int, ...], tuple[tuple[ToolSchema, ...], bytes]] = {}

    def messages(self, variant: object) -> MessageCache[Encoded]:
        cache = self._messages.get(variant)
        if cache is None:
            if len(self._messages) >= _MAX_VARIANTS:
                self._messages.clear()
            cache = self._messages[variant] = MessageCache()
        return cache

    def tools(self, tools: tuple[ToolSchema, ...], encode: Callable[[tuple[ToolSchema, ...]], bytes]) -> bytes:
        key = tuple(map(id, tools))
        known = self._tools.get(key)
        if known is None:
            if len(self._tools) >= _MAX_TOOL_SETS:
                self._tools.clear()
            known = self._tools[key] = (tools, encode(tools))
        return known[1]


def to_json(value: object) -> bytes:
    """JSON bytes; half a surrogate pair, which no server takes, becomes a question mark."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_mended(value))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in value]
    return value


def call_id(text: str) -> str:
    """An id every provider accepts: another provider's stranger ids are replaced, the same one always alike."""
    if _GOOD_CALL_ID.fullmatch(text):
        return text
    return "call_" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


def arguments_text(call: ToolCall) -> str:
    """The arguments as the text of a JSON object, whatever the model wrote: servers that parse it must not stumble."""
    try:
        msgspec.json.decode(call.arguments, type=dict)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return to_json({"invalid_arguments": call.arguments}).decode()
    return call.arguments


def arguments_object(call: ToolCall) -> msgspec.Raw:
    return msgspec.Raw(arguments_text(call).encode())


def raw_arguments(raw: msgspec.Raw) -> str:
    """The text of arguments that came as JSON; none or null is an empty object."""
    text = bytes(raw).decode()
    return "{}" if text in ("", "null") else text


def image_base64(image: Image, blobs: Mapping[str, bytes]) -> str | None:
    content = blobs.get(image.digest)
    return None if content is None else b64encode(content).decode()


def pack_replay(wire: str, **fields: object) -> str:
    """The opaque proof kept with a part; `wire` says who may read it."""
    return to_json({"wire": wire, **fields}).decode()


def unpack_replay(part: Thinking | ToolCall, wire: str) -> dict[str, Any]:
    """What this wire packed, or nothing: another wire's proof is none of our business."""
    if not part.replay:
        return {}
    try:
        fields = msgspec.json.decode(part.replay, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
    return fields if fields.get("wire") == wire else {}


@lru_cache(maxsize=1024)
def cache_key(session: str) -> str:
    """Names a session to a provider's prompt cache without telling who is in it."""
    return hashlib.sha256(f"ostiary prompt cache {session}".encode("utf-8", "replace")).hexdigest()[:32]
