"""The first request of every socket, and what it is answered with."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from ostiary.gateway.protocol.approvals import Approval
from ostiary.gateway.protocol.registry import Scope
from ostiary.gateway.protocol.shape import Name, Params, Payload
from ostiary.gateway.protocol.system import Health, Presence

Short = Annotated[str, Meta(max_length=200)]
Token = Annotated[str, Meta(max_length=4096)]


class Client(Params):
    """What the client says of itself: shown to people, trusted in nothing."""

    id: Name
    version: Short
    platform: Short
    mode: Short
    display_name: Short = ""
    instance_id: Short = ""


class Auth(Params):
    """One of these. A browser that is signed in, by its cookie, sends none."""

    token: Token | None = None
    password: Token | None = None
    device_token: Token | None = None


class Device(Params):
    """A device's identity and its proof: the signature over the challenge."""

    id: Name
    public_key: Token
    signature: Token
    signed_at: int
    nonce: Short


class Connect(Params):
    min_protocol: Annotated[int, Meta(ge=0, le=1_000_000)]
    max_protocol: Annotated[int, Meta(ge=0, le=1_000_000)]
    client: Client
    role: Literal["operator", "node"] = "operator"
    scopes: Annotated[list[Scope], Meta(max_length=8)] | None = None
    auth: Auth | None = None
    device: Device | None = None
    locale: Short = ""
    user_agent: Annotated[str, Meta(max_length=1000)] = ""


class Server(Payload):
    version: str
    conn_id: str


class Features(Payload):
    """What this caller may use here."""

    methods: list[str]
    events: list[str]


class StateVersion(Payload):
    presence: int
    health: int


class Snapshot(Payload):
    """`approvals` are what waits for a person; empty for who may not see it."""

    presence: list[Presence]
    health: Health
    state_version: StateVersion
    uptime_ms: int
    approvals: list[Approval]


class Limits(Payload):
    """`maxPayload` bounds a frame in bytes; beyond `maxBufferedBytes` unsent, deltas are skipped, then the socket is closed."""

    max_payload: int
    max_buffered_bytes: int
    tick_interval_ms: int


class Granted(Payload, omit_defaults=True):
    """`deviceToken` is set when a device was given a new one: keep it."""

    scopes: list[Scope]
    device_token: str = ""


class HelloOk(Payload, kw_only=True):
    type: Literal["hello-ok"] = "hello-ok"
    protocol: int
    server: Server
    features: Features
    snapshot: Snapshot
    policy: Limits
    auth: Granted


class Challenge(Payload):
    """Sent before `connect`; a device signs the nonce."""

    nonce: str
    ts: int


Details = dict[str, Any]
