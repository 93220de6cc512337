"""Secrets: how they are made, kept, compared, and which are none."""

import hashlib
import hmac
import secrets
from typing import Literal

# What broken scripts and templates send in place of a token.
_NEVER = frozenset({"", "undefined", "null", "none", "nil", "nan", "false", "true", "[object object]"})
_PLACEHOLDERS = frozenset(
    {
        "changeme", "changemeplease", "placeholder", "replaceme", "yourtoken", "yourtokenhere", "yourpassword", "yoursecret",
        "yourpasswordhere", "yoursecrethere", "mytoken", "mysecret", "mypassword", "token", "secret", "password", "gatewaytoken",
        "gatewaypassword", "example", "exampletoken", "test", "testtoken", "todo", "fixme", "insertyourtokenhere", "apikey",
        "yourapikey", "yourapikeyhere", "ostiary", "openclaw", "letmein", "admin", "qwerty", "generatearandomtoken",
    }
)  # fmt: skip
_TEMPLATES = ("changeme", "replaceme", "placeholder", "your", "insert", "generate")
_SHORTEST = {"token": 16, "password": 8}
_FEWEST_DIFFERENT = 5
_DIGITS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def new_secret(prefix: str = "") -> str:
    """256 bits: nobody guesses it, so nobody who holds it is ever locked out."""
    return f"{prefix}{secrets.token_urlsafe(32)}"


def new_code() -> str:
    """Eight characters that people can compare and type; none is mistaken for another."""
    drawn = "".join(secrets.choice(_DIGITS) for _ in range(8))
    return f"{drawn[:4]}-{drawn[4:]}"


def digest(secret: str) -> bytes:
    """What is kept in place of a secret that we made. A person's password would need a slow one."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def same(given: str, expected: str) -> bool:
    """In constant time, whatever the lengths. A blank is never the same as anything, itself included."""
    equal = hmac.compare_digest(digest(given), digest(expected))
    return equal and not is_blank(given) and not is_blank(expected)


def same_digest(given: bytes, kept: bytes) -> bool:
    return hmac.compare_digest(given, kept)


def is_blank(secret: str) -> bool:
    return secret.strip().lower() in _NEVER


def is_template(secret: str) -> bool:
    """Empty, or what a template leaves for somebody to replace: it was never meant to be a secret."""
    bare = "".join(letter for letter in secret.lower() if letter.isalnum())
    bracketed = secret[:1] + secret[-1:] in ("<>", "{}", "[]") or "${" in secret
    return is_blank(secret) or bracketed or (bare in _PLACEHOLDERS and bare.startswith(_TEMPLATES))


def check_secret_strength(secret: str, kind: Literal["token", "password"] = "token") -> str:
    """A sentence saying why the gateway must not start with this secret; empty if it may."""
    bare = "".join(letter for letter in secret.lower() if letter.isalnum())
    if is_blank(secret):
        return f"The {kind} is empty or a placeholder ({secret.strip()[:20]!r})."
    if secret[0].isspace() or secret[-1].isspace() or not secret.isprintable():
        return f"The {kind} holds spaces at an end, or characters that cannot be seen."
    if bare in _PLACEHOLDERS or not bare or secret[0] + secret[-1] in ("<>", "{}", "[]") or "${" in secret:
        return f"The {kind} is a placeholder, not a secret."
    if len(secret) < _SHORTEST[kind]:
        return f"The {kind} is shorter than {_SHORTEST[kind]} characters."
    if len(set(secret)) < _FEWEST_DIFFERENT:
        return f"The {kind} repeats the same few characters."
    return ""
