"""Who has come in, and what they may do. Every door hands a `Caller` on; nothing behind it asks again who that is."""

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Literal, Protocol, get_args

from ostiary.contracts.identity import EXTERNAL, OWNER, Principal
from ostiary.contracts.messages import UserId
from ostiary.contracts.records import dataclass

Scope = Literal["read", "chat", "approve", "admin"]
CallerKind = Literal["token", "password", "device", "browser", "run", "local"]
Role = Literal["operator", "node"]

ALL_SCOPES: frozenset[Scope] = frozenset(get_args(Scope))
# What a stranger's device asks for if it names nothing.
MODEST_SCOPES: frozenset[Scope] = frozenset({"read", "chat"})
OWNER_PRINCIPAL = Principal(user=UserId(channel="api", stable_id="token"), role=OWNER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """`scopes` are written out: `admin` stands beside everything it implies, so a door asks `scope in caller.scopes`.

    `device` is the device's or browser's id. `device_token` is set once, for hello-ok, when a device gets its token.
    """

    id: str
    principal: Principal
    scopes: frozenset[Scope]
    kind: CallerKind
    device: str = ""
    device_token: str = field(default="", repr=False)


class Holder(Protocol):
    """A caller, as far as giving and taking rights goes."""

    @property
    def scopes(self) -> frozenset[Scope]: ...
    @property
    def device(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsPairing:
    """The device is not known (yet). `code` is to be shown on it, for the owner to compare; ask again after approval."""

    request: str
    device: str
    code: str
    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """`code` is one of the protocol's error codes. `retry_after` is seconds, 0 if waiting does not help."""

    code: Literal["UNAUTHORIZED", "FORBIDDEN", "INVALID_PARAMS", "BUSY", "UNAVAILABLE"]
    message: str
    hint: str = ""
    retry_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProof:
    """What `connect` says of the device. Key and signature are base64, `signed_at` is UTC milliseconds."""

    id: str
    public_key: str
    signature: str = field(repr=False)
    signed_at: int
    nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    """The part of `connect` that says who is there. `scopes` None: none were named; the order is as sent, for it is signed."""

    client_id: str = ""
    display_name: str = ""
    platform: str = ""
    role: str = "operator"
    scopes: tuple[str, ...] | None = None
    token: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    device_token: str = field(default="", repr=False)
    device: DeviceProof | None = None


def spelled_out(scopes: Iterable[str]) -> frozenset[Scope]:
    """`admin` implies all others; nothing else implies anything; an unknown word gives nothing."""
    named = frozenset(scope for scope in ALL_SCOPES if scope in frozenset(scopes))
    return ALL_SCOPES if "admin" in named else named


def may_grant(granter: Holder, scopes: Iterable[str]) -> bool:
    """Nobody gives what they have not: an approver cannot make an administrator."""
    asked = frozenset(scopes)
    return asked <= ALL_SCOPES and spelled_out(asked) <= granter.scopes


def owner(kind: CallerKind, *, device: str = "") -> Caller:
    """The owner, by one of the owner's own credentials."""
    id = f"{kind}:{device}" if device else kind
    return Caller(id=id, principal=OWNER_PRINCIPAL, scopes=ALL_SCOPES, kind=kind, device=device)


def of_device(id: str, scopes: Iterable[str], *, token: str = "") -> Caller:
    """A device speaks for the owner only if it may do all the owner may; else it is a person of its own, whatever it says."""
    granted = spelled_out(scopes)
    user = UserId(channel="device", stable_id=id)
    return Caller(
        id=device_caller(id),
        principal=Principal(user=user, role=OWNER if "admin" in granted else EXTERNAL),
        scopes=granted,
        kind="device",
        device=id,
        device_token=token,
    )


def device_caller(id: str) -> str:
    return f"device:{id}"


def narrowed(caller: Caller, asked: tuple[str, ...] | None) -> Caller:
    """With no more scopes than it asked for. Who it is stays: it holds the credential for more."""
    if asked is None:
        return caller
    return replace(caller, scopes=caller.scopes & spelled_out(asked))
