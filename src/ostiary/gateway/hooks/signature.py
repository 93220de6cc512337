"""Signatures of sources: HMAC-SHA256 over the body exactly as it came. Only the canonical spelling is right."""

import binascii
import hmac
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256

from ostiary.gateway.hooks.rules import SignatureRules

GITHUB = "x-hub-signature-256"
STRIPE = "stripe-signature"
_MOST_SIGNATURES = 8
_LONGEST = 2000


def header_of(rules: SignatureRules) -> str:
    """Where the signature stands, in lower case."""
    return {"github": GITHUB, "stripe": STRIPE}.get(rules.scheme, rules.header.lower())


def is_signed(rules: SignatureRules, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """False for anything wrong: no secret, no header, an old or absent time, another spelling, another body."""
    secret = rules.secret()
    given = headers.get(header_of(rules), "")
    if not secret or not given or len(given) > _LONGEST or not given.isascii():
        return False
    match rules.scheme:
        case "github":
            return _same(given, "sha256=" + _hex(secret, body))
        case "stripe":
            return _is_stripes(rules, secret, given, body, now)
        case "generic":
            return _is_generic(rules, secret, given, headers, body, now)


def _is_stripes(rules: SignatureRules, secret: str, given: str, body: bytes, now: float) -> bool:
    fields = [tuple(part.strip().partition("=")[::2]) for part in given.split(",")[: _MOST_SIGNATURES + 1]]
    times = [value for name, value in fields if name == "t"]
    if len(times) != 1 or not _is_recent(times[0], now, rules.tolerance):
        return False
    expected = _hex(secret, times[0].encode() + b"." + body)
    return any(_same(value, expected) for name, value in fields if name == "v1")


def _is_generic(rules: SignatureRules, secret: str, given: str, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    signed = body
    if rules.timestamp_header:
        at = headers.get(rules.timestamp_header.lower(), "")
        if not _is_recent(at, now, rules.tolerance):
            return False
        signed = at.encode() + b"." + body
    digest = _hex(secret, signed)
    if rules.encoding == "base64":
        digest = b64encode(binascii.unhexlify(digest)).decode()
    return _same(given, rules.prefix + digest)


def _is_recent(at: str, now: float, tolerance: float) -> bool:
    return at.isascii() and at.isdigit() and len(at) <= 12 and abs(now - int(at)) <= tolerance


def _hex(secret: str, content: bytes) -> str:
    return hmac.new(secret.encode(), content, sha256).hexdigest()


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())
