"""Checks that several providers make alike."""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ostiary.kit.model_servers.server import Refused

Shape = TypeVar("Shape")

IMAGE_TYPES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_MAGIC = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MAX_IMAGE = 5 * 1024 * 1024


def decode(body: bytes, shape: type[Shape]) -> Shape:
    """The body in a shape that forbids unknown fields."""
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.DecodeError as error:
        raise Refused("rejected", f"Invalid request body: {error}") from None


def check_json(headers: Mapping[str, str]) -> None:
    if headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refused("rejected", "The content type must be application/json.")


def check_bearer(headers: Mapping[str, str], key: str) -> None:
    """As the originals do, the refusal quotes the key that was sent."""
    sent = headers.get("authorization", "")
    if sent != f"Bearer {key}":
        raise Refused("auth", f"Incorrect API key provided: {sent.removeprefix('Bearer ')}.")


def check_image(media_type: str, data: str) -> None:
    if media_type not in IMAGE_TYPES:
        raise Refused("rejected", f"The media type {media_type} is not supported.")
    try:
        content = b64decode(data, validate=True)
    except ValueError:
        raise Refused("rejected", "The image is not valid base64.") from None
    if len(content) > _MAX_IMAGE:
        raise Refused("image", f"image exceeds 5 MB maximum: {len(content)} bytes > {_MAX_IMAGE} bytes")
    if not any(content.startswith(magic) and kind == media_type for magic, kind in _MAGIC.items()):
        raise Refused("rejected", f"The image does not match the media type {media_type}.")


def check_data_url(url: str) -> None:
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        raise Refused("rejected", "The image must be a base64 data URL.")
    check_image(head.removeprefix("data:").removesuffix(";base64"), data)


def check_tool(name: str, parameters: Mapping[str, Any]) -> None:
    if not _TOOL_NAME.fullmatch(name):
        raise Refused("rejected", f"The tool name {name!r} does not match the pattern {_TOOL_NAME.pattern}.")
    if parameters.get("type") != "object" or "properties" not in parameters:
        raise Refused("rejected", f"Invalid schema for {name}: it must be an object schema with properties.")
    if {"anyOf", "oneOf", "allOf"} & parameters.keys():
        raise Refused("rejected", f"Invalid schema for {name}: oneOf, allOf and anyOf are not supported at the top level.")


def check_object(text: str) -> None:
    try:
        msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        raise Refused("rejected", "Tool call arguments must be the text of a JSON object.") from None


def check_answered(asked: Sequence[str], answered: Sequence[str], words: str) -> None:
    """Each call has exactly one result, and each result its call."""
    if sorted(asked) != sorted(answered) or len(set(asked)) != len(asked):
        raise Refused("roles", words)


def dump(value: object) -> bytes:
    return msgspec.json.encode(value)


def sse(value: object, name: str = "") -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + dump(value) + b"\n\n"
