"""Taking secrets out of text that other people wrote before anyone reads it."""

import re
from base64 import b64encode
from collections.abc import Iterable
from urllib.parse import quote

REDACTED = "[redacted]"
_SHORTEST_SECRET = 4
_PREFIX_THAT_IDENTIFIES = 8


def redact(text: str, secrets: Iterable[str]) -> str:
    """Every form of each secret that a server is known to echo: plain, URL-quoted, base64, and its first characters masked."""
    for secret in secrets:
        if len(secret) < _SHORTEST_SECRET:
            continue
        encoded = b64encode(secret.encode()).decode().rstrip("=")
        for form in (secret, quote(secret, safe=""), encoded):
            text = text.replace(form, REDACTED)
        if len(secret) > _PREFIX_THAT_IDENTIFIES:
            text = re.sub(re.escape(secret[:_PREFIX_THAT_IDENTIFIES]) + r"[^\s\"',;<>]*", REDACTED, text)
    return text
