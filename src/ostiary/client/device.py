"""A device's own key: its id is made of it, and it signs the gateway's challenge."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any


class DeviceKey:
    """An Ed25519 key from its 32 secret bytes; keep those private. `new()` makes one."""

    def __init__(self, secret: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._key = Ed25519PrivateKey.from_private_bytes(secret)
        self.public = self._key.public_key().public_bytes_raw()
        self.id = hashlib.sha256(self.public).hexdigest()

    @classmethod
    def new(cls) -> tuple["DeviceKey", bytes]:
        """A fresh key and its secret bytes, to be kept."""
        import secrets

        secret = secrets.token_bytes(32)
        return cls(secret), secret

    def proof(self, *, nonce: str, client: str, role: str, scopes: Sequence[str] | None, at_ms: int) -> Mapping[str, Any]:
        """The `device` of `connect`."""
        text = "|".join(("ostiary-connect", "v3", nonce, self.id, client, role, ",".join(scopes or ()), str(at_ms)))
        return {
            "id": self.id,
            "publicKey": base64.b64encode(self.public).decode(),
            "signature": base64.b64encode(self._key.sign(text.encode())).decode(),
            "signedAt": at_ms,
            "nonce": nonce,
        }
