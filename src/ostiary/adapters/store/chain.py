"""The hash chain of a journal. It covers envelopes and payload digests, so an erased payload leaves a verifiable hole."""

import hashlib
import secrets
import struct

GENESIS = bytes(32)
_HEAD = struct.Struct(">QIdIII")


def seal(body: bytes) -> tuple[bytes, bytes]:
    """Salt and digest of a payload. The salt is erased with the payload, so that a short one cannot be guessed back."""
    salt = secrets.token_bytes(16)
    return salt, digest_of(salt, body)


def digest_of(salt: bytes, body: bytes) -> bytes:
    return hashlib.sha256(salt + body).digest()


def link(before: bytes, *, session: str, seq: int, turn: str, kind: str, version: int, at: float, digest: bytes) -> bytes:
    """The chain value of one event. Lengths are hashed too: no two envelopes share an encoding."""
    name, run, sort = session.encode(), turn.encode(), kind.encode()
    head = _HEAD.pack(seq, version, at, len(name), len(run), len(sort))
    return hashlib.sha256(b"".join((before, head, name, run, sort, digest))).digest()
