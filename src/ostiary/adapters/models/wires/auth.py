"""Credentials as headers."""

from collections.abc import Mapping


def bearer(secret: str) -> Mapping[str, str]:
    """No key, no header: local servers want none."""
    return {"Authorization": f"Bearer {secret}"} if secret else {}
