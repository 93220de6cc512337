"""How the pieces of a backup are named and sealed: by a keyed hash of what they hold, and by a cipher that notices every change.

Who has the folder and not the key learns how large things are and when they changed, and nothing else.
"""

import hashlib
import secrets
import zlib

from ostiary.contracts.errors import StoreRefused

ID_SIZE = 32
_NONCE = 12
_LARGEST = 64 * 1024 * 1024


class Damaged(StoreRefused):
    """A piece of a backup is missing or not what was written."""


class Seal:
    """Seals and opens under one backup key of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        self._naming = _derived(key, b"names")
        self._cipher = ChaCha20Poly1305(_derived(key, b"content"))
        self.house = _derived(key, b"house")[:8].hex()

    def name(self, content: bytes) -> bytes:
        return hashlib.blake2b(content, key=self._naming, digest_size=ID_SIZE).digest()

    def close(self, content: bytes, bound_to: bytes) -> bytes:
        """Compressed if that makes it smaller. `bound_to` must be given again to open it."""
        small = zlib.compress(content, 1)
        plain = b"z" + small if len(small) < len(content) else b"r" + content
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self._cipher.encrypt(nonce, plain, bound_to)

    def open(self, sealed: bytes, bound_to: bytes) -> bytes:
        """Raises Damaged."""
        from cryptography.exceptions import InvalidTag

        try:
            plain = self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], bound_to)
        except (InvalidTag, ValueError) as error:
            raise Damaged("it was changed or cut") from error
        if plain[:1] == b"r":
            return plain[1:]
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(plain[1:], _LARGEST)
        if not unpacking.eof:
            raise Damaged("it is larger than a piece can be")
        return content

    def open_named(self, sealed: bytes, name: bytes) -> bytes:
        """A piece that must hold what its name says. Raises Damaged."""
        content = self.open(sealed, name)
        if self.name(content) != name:
            raise Damaged("it holds something else than its name says")
        return content


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hashlib.blake2b(purpose, key=key, digest_size=32, person=b"ostiary-backup").digest()
