"""Devices: which are known, which ask to come in."""

from typing import Annotated

from msgspec import Meta

from ostiary.gateway.protocol.registry import Scope
from ostiary.gateway.protocol.shape import Effect, Name, Payload, Repeatable


class Pending(Payload):
    """A device that asks to be paired. `code` is shown on both sides, so that people can compare."""

    id: str
    device_id: str
    display_name: str
    platform: str
    scopes: list[Scope]
    at: float
    code: str


class KnownDevice(Payload):
    """`current`: it is the caller's own."""

    id: str
    display_name: str
    platform: str
    kind: str
    scopes: list[Scope]
    created_at: float
    last_seen: float
    current: bool


class DeviceList(Payload):
    pending: list[Pending]
    devices: list[KnownDevice]


class Approve(Effect):
    """`scopes` narrows what was asked for; never wider than the granter's own."""

    id: Name
    scopes: Annotated[list[Scope], Meta(max_length=8)] | None = None


class OfRequest(Repeatable):
    id: Name


class OfDevice(Repeatable):
    id: Name


class Paired(Payload):
    device_id: str
    scopes: list[Scope]


class MakeLink(Effect):
    """A link that signs one more browser in."""


class SignInLink(Payload):
    """Good once, for ten minutes. The code stands behind the #, so it is sent to no server."""

    url: str


class Rotated(Payload):
    """Shown once: it replaces the old token at once."""

    device_id: str
    device_token: str
