"""A random key, sealed so that only a passphrase, a recovery key or another key opens it again.

A passphrase goes through scrypt, so that every try costs a second and 128 MB; the other two are random already.
"""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any, Literal

from ostiary.contracts.errors import BadInput, StoreRefused
from ostiary.contracts.records import dataclass

Kind = Literal["passphrase", "recovery", "key"]

KEY_SIZE = 32
SHORTEST_PASSPHRASE = 8
_NONCE = 12
_SALT = 16
_RECOVERY = 20
_GROUP = 4
_TYPOS = str.maketrans("018", "OIB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one try of a passphrase takes: 128 · n · r bytes, p times over."""

    n: int = 2**17
    r: int = 8
    p: int = 1


# What a file may ask of this machine: 1 GiB.
_MOST = 2**23
_MOST_PARALLEL = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    """A sealed key. `purpose` is bound to it: a key sealed for one purpose does not open for another."""

    kind: Kind
    purpose: str
    salt: bytes
    sealed: bytes
    cost: Cost | None = None


def wrap_by_passphrase(key: bytes, passphrase: str, *, purpose: str, cost: Cost | None = None) -> Wrapped:
    """Raises BadInput for a passphrase that protects nothing."""
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise BadInput(f"a passphrase has at least {SHORTEST_PASSPHRASE} characters", hint="Four random words are easy to keep.")
    cost = cost or Cost()
    salt = secrets.token_bytes(_SALT)
    return _wrapped(key, "passphrase", purpose, salt, _stretched(passphrase, salt, cost), cost)


def wrap_by_recovery_key(key: bytes, recovery: bytes, *, purpose: str) -> Wrapped:
    salt = secrets.token_bytes(_SALT)
    return _wrapped(key, "recovery", purpose, salt, _derived(recovery, salt), None)


def wrap_by_key(key: bytes, by: bytes, *, purpose: str) -> Wrapped:
    """For a content of any length under a random key."""
    salt = secrets.token_bytes(_SALT)
    return _wrapped(key, "key", purpose, salt, _derived(by, salt), None)


def unwrap(wrapped: Wrapped, by: bytes | str) -> bytes | None:
    """What was sealed, None if `by` (a passphrase as text, else bytes) does not open it. Raises StoreRefused for a cost that no
    machine should pay."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    if isinstance(by, str) != (wrapped.kind == "passphrase"):
        return None
    derived = _stretched(by, wrapped.salt, wrapped.cost or Cost()) if isinstance(by, str) else _derived(by, wrapped.salt)
    try:
        return ChaCha20Poly1305(derived).decrypt(wrapped.sealed[:_NONCE], wrapped.sealed[_NONCE:], _bound(wrapped))
    except (InvalidTag, ValueError):
        return None


def to_json(wrapped: Wrapped) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": wrapped.kind,
        "purpose": wrapped.purpose,
        "salt": _text(wrapped.salt),
        "sealed": _text(wrapped.sealed),
    }
    if wrapped.cost is not None:
        told["scrypt"] = {"n": wrapped.cost.n, "r": wrapped.cost.r, "p": wrapped.cost.p}
    return told


def from_json(given: Mapping[str, Any]) -> Wrapped:
    """Raises ValueError for what cannot have come from `to_json`."""
    try:
        cost = given.get("scrypt")
        if given["kind"] not in ("passphrase", "recovery", "key"):
            raise ValueError(f"{given['kind']!r} is no kind of sealed key")
        return Wrapped(
            kind=given["kind"],
            purpose=str(given["purpose"]),
            salt=base64.b64decode(given["salt"], validate=True),
            sealed=base64.b64decode(given["sealed"], validate=True),
            cost=Cost(n=int(cost["n"]), r=int(cost["r"]), p=int(cost["p"])) if cost is not None else None,
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a sealed key: {error}") from error


def dump(wrapped: Wrapped) -> bytes:
    return json.dumps(to_json(wrapped), indent=2).encode() + b"\n"


def load(content: bytes) -> Wrapped:
    """Raises ValueError."""
    given = json.loads(content)
    if not isinstance(given, dict):
        raise ValueError("not a sealed key")
    return from_json(given)


def new_recovery_key() -> bytes:
    return secrets.token_bytes(_RECOVERY)


def spoken(recovery: bytes) -> str:
    """As it is shown: groups of four letters and digits, the last two a checksum."""
    text = base64.b32encode(recovery).decode() + _checksum(recovery)
    return "-".join(text[place : place + _GROUP] for place in range(0, len(text), _GROUP))


def heard(text: str) -> bytes:
    """A recovery key as somebody typed it. Raises BadInput, which tells a typing error from a wrong key."""
    letters = "".join(letter for letter in text.upper().translate(_TYPOS) if letter.isalnum())
    try:
        recovery = base64.b32decode(letters[:-2])
    except ValueError:
        recovery = b""
    if len(recovery) != _RECOVERY or not hmac.compare_digest(_checksum(recovery), letters[-2:]):
        raise BadInput("this is not a recovery key", hint="It has nine groups of letters and digits; one of them is mistyped.")
    return recovery


def _checksum(recovery: bytes) -> str:
    return base64.b32encode(hashlib.sha256(b"ostiary recovery" + recovery).digest())[:2].decode()


def _wrapped(key: bytes, kind: Kind, purpose: str, salt: bytes, derived: bytes, cost: Cost | None) -> Wrapped:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    empty = Wrapped(kind=kind, purpose=purpose, salt=salt, sealed=b"", cost=cost)
    nonce = secrets.token_bytes(_NONCE)
    sealed = nonce + ChaCha20Poly1305(derived).encrypt(nonce, key, _bound(empty))
    return Wrapped(kind=kind, purpose=purpose, salt=salt, sealed=sealed, cost=cost)


def _bound(wrapped: Wrapped) -> bytes:
    return f"ostiary {wrapped.kind} {wrapped.purpose}".encode()


def _stretched(passphrase: str, salt: bytes, cost: Cost) -> bytes:
    if not 1 < cost.n * cost.r <= _MOST or not 0 < cost.p <= _MOST_PARALLEL or cost.n & (cost.n - 1):
        raise StoreRefused("the sealed key asks for more work than a machine should do", hint="The file is not ours: restore it.")
    memory = 128 * cost.n * cost.r * 2 + 2**20
    return hashlib.scrypt(passphrase.encode(), salt=salt, n=cost.n, r=cost.r, p=cost.p, maxmem=memory, dklen=KEY_SIZE)


def _derived(by: bytes, salt: bytes) -> bytes:
    return hmac.digest(by, b"ostiary wrapping" + salt, "sha256")


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
