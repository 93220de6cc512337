"""Models and the credentials they are asked with."""

from typing import Annotated, Literal

from msgspec import Meta

from ostiary.gateway.protocol.shape import Effect, Name, Params, Payload, Repeatable

Kind = Literal["api_key", "oauth", "token"]
Ref = Annotated[str, Meta(min_length=1, max_length=200, description="provider/model")]


class ListModels(Params):
    """`agent` empty: the default one."""

    agent: Annotated[str, Meta(max_length=64)] = ""


class Model(Payload):
    """`current` is the one that answers now; `usable`: there is a key for it, or it needs none."""

    ref: str
    name: str
    context_window: int
    reasons: bool
    sees_images: bool
    alias: str
    current: bool
    usable: bool


class Models(Payload):
    models: list[Model]


class Profile(Payload):
    """`masked` is enough to recognise a key by; `expires` is UTC seconds, 0 never; `standing` is ready, resting, expired, ..."""

    id: str
    provider: str
    kind: str
    masked: str
    expires: float
    standing: str


class Profiles(Payload):
    profiles: list[Profile]


class SetProfile(Effect):
    """`id` empty: `<provider>:default`. The secret is stored encrypted and never shown again."""

    provider: Name
    secret: Annotated[str, Meta(min_length=1, max_length=65_536)]
    kind: Kind = "api_key"
    id: Annotated[str, Meta(max_length=128)] = ""


class ProfileNamed(Payload):
    id: str


class DeleteProfile(Repeatable):
    id: Name


class SetModel(Repeatable):
    ref: Ref


class ModelSet(Payload):
    ref: str
    generation: int
