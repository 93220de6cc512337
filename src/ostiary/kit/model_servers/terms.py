"""What OpenAI's two interfaces check alike about the terms of an answer: its form, and which tools it must call."""

import re
from collections.abc import Collection
from typing import Any, Literal

import msgspec

from ostiary.kit.model_servers.server import Refused

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class JsonSchema(_Strict):
    name: str
    schema: dict[str, Any]
    description: str | None = None
    strict: bool | None = None


class JsonObject(_Strict, tag="json_object", tag_field="type"):
    pass


class PlainText(_Strict, tag="text", tag_field="type"):
    pass


class NamedSchema(_Strict, tag="json_schema", tag_field="type"):
    json_schema: JsonSchema


class FlatSchema(_Strict, tag="json_schema", tag_field="type"):
    name: str
    schema: dict[str, Any]
    description: str | None = None
    strict: bool | None = None


class TextOptions(_Strict):
    format: PlainText | JsonObject | FlatSchema | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ChosenFunction(_Strict):
    name: str


class NestedChoice(_Strict):
    function: ChosenFunction
    type: Literal["function"]


class FlatChoice(_Strict):
    name: str
    type: Literal["function"]


Word = Literal["auto", "none", "required"]


def check_schema(schema: JsonSchema | FlatSchema) -> None:
    if not _NAME.fullmatch(schema.name):
        raise Refused("rejected", f"Invalid name of a schema: it must match {_NAME.pattern}.")
    if schema.schema.get("type") != "object":
        raise Refused("rejected", "Invalid schema for response_format: schema must be of type object.")
    if schema.strict and schema.schema.get("additionalProperties") is not False:
        raise Refused("rejected", "Invalid schema for response_format: 'additionalProperties' must be false.")


def check_json_is_spoken_of(is_wanted: bool, words: str) -> None:
    if is_wanted and "json" not in words.lower():
        raise Refused("rejected", "'messages' must contain the word 'json' in some form, to use a JSON object as the format.")


def check_choice(choice: str, parallel: bool | None, tools: Collection[str]) -> None:
    """`choice` is empty, a word or the name of a function."""
    if not tools and choice:
        raise Refused("rejected", "Invalid value for 'tool_choice': it is only allowed when 'tools' are specified.")
    if not tools and parallel is not None:
        raise Refused("rejected", "Invalid value for 'parallel_tool_calls': it is only allowed when 'tools' are specified.")
    if choice not in ("", "auto", "none", "required") and choice not in tools:
        raise Refused("rejected", f"Tool choice '{choice}' not found in 'tools' parameter.")
