"""What the tables hold, as records."""

from typing import Literal

from ostiary.contracts.records import dataclass

Kind = Literal["operator", "node", "browser"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """`id` is the SHA-256 of `public_key`, or chance for a browser, which has none. Times are UTC seconds, 0 never.

    `token_due`: it was approved and has not fetched its token yet."""

    id: str
    kind: Kind
    public_key: bytes
    display_name: str
    platform: str
    scopes: tuple[str, ...]
    created_at: float
    seen_at: float
    expires_at: float = 0.0
    revoked_at: float = 0.0
    token_due: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRequest:
    """A device that asks to be let in. `code` is shown on the device and to the owner, who compares the two."""

    id: str
    device: str
    kind: Kind
    public_key: bytes
    display_name: str
    platform: str
    scopes: tuple[str, ...]
    code: str
    address: str
    at: float
    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`digest` covers what was asked, so that another question under the same key is noticed."""

    digest: str
    result: bytes
