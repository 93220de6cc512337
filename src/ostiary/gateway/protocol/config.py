"""The configuration: reading it with secrets masked, changing it if it is still what was read."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from ostiary.gateway.protocol.shape import Effect, Payload

Hash = Annotated[str, Meta(max_length=128, description="The one that was read; another one means somebody changed the file.")]


class ConfigView(Payload):
    """`config` is what is in force, `text` the file; in both, secrets are masked. `problem`: the file is not in force.

    `origins` tells for every key by dotted path where its value comes from: file, posture or default."""

    hash: str
    config: dict[str, Any]
    text: str
    sources: list[str]
    problem: str
    generation: int
    origins: dict[str, str] = field(default_factory=dict)


class ConfigSchema(Payload):
    """JSON Schema, and hints for forms by dotted path."""

    schema: dict[str, Any]
    ui_hints: dict[str, Any]
    version: int


class PatchConfig(Effect):
    """Sets `path` to `value`, or with `unset` removes it so that its default holds again. Comments in the file stay."""

    path: Annotated[str, Meta(min_length=1, max_length=500)]
    hash: Hash
    value: Any | UnsetType = UNSET
    unset: bool = False


class ApplyConfig(Effect):
    """The whole file. A masked secret keeps the value it has."""

    text: Annotated[str, Meta(max_length=1_000_000)]
    hash: Hash


class ConfigChanged(Payload):
    hash: str
    generation: int
