"""A device proves itself by signing the challenge of this very connection with the key its id is made of."""

import base64
import binascii
import hashlib
import re
from collections import OrderedDict

import anyio.to_thread

from ostiary.gateway.auth.callers import Connect, DeviceProof
from ostiary.gateway.auth.secret import same

_CLIENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@ -]{0,127}")
_SHORTEST_NONCE = 16
_SKEW_MS = 10 * 60 * 1000
_SPENT = 4096


def signed_text(connect: Connect, proof: DeviceProof) -> str:
    """What the device signs, in UTF-8. Scopes are joined by commas in the order sent."""
    scopes = ",".join(connect.scopes or ())
    parts = ("ostiary-connect", "v3", proof.nonce, proof.id, connect.client_id, connect.role, scopes, str(proof.signed_at))
    return "|".join(parts)


class Proofs:
    """Remembers spent challenges, so that one which is asked about twice is answered once."""

    def __init__(self) -> None:
        self._spent: OrderedDict[str, None] = OrderedDict()

    async def check(self, connect: Connect, proof: DeviceProof, nonce: str, now: float) -> tuple[bytes | None, str]:
        """The proven public key, or None and why not."""
        key, signature = _decoded(proof.public_key, 32), _decoded(proof.signature, 64)
        if key is None or signature is None:
            return None, "The device's key or signature is not base64 of the right length."
        if not same(hashlib.sha256(key).hexdigest(), proof.id):
            return None, "The device's id is not the SHA-256 of its key."
        if len(nonce) < _SHORTEST_NONCE or not same(nonce, proof.nonce) or nonce in self._spent:
            return None, "The device signed another challenge than this connection's."
        if abs(proof.signed_at - now * 1000) > _SKEW_MS:
            return None, "The signature is too old or from the future; check the device's clock."
        if _CLIENT_ID.fullmatch(connect.client_id) is None or connect.role not in ("operator", "node"):
            return None, "client.id or role is not well formed."
        self._spend(nonce)
        # In a thread: the library is loaded at the first use and must not hold up the others.
        if not await anyio.to_thread.run_sync(
            _verified, key, signature, signed_text(connect, proof).encode("utf-8", "surrogatepass")
        ):
            return None, "The device's signature does not fit."
        return key, ""

    def _spend(self, nonce: str) -> None:
        self._spent[nonce] = None
        if len(self._spent) > _SPENT:
            self._spent.popitem(last=False)


def _verified(key: bytes, signature: bytes, text: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True


def _decoded(text: str, size: int) -> bytes | None:
    """Base64, ordinary or for URLs, with or without its padding."""
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    if len(bare) > 2 * size:
        return None
    try:
        found = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if len(found) == size else None
