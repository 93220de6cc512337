"""A delivery counts once. Its id goes into the inbox, which refuses what it has seen; ids are decided here."""

import secrets
from collections.abc import Callable
from hashlib import sha256

import anyio

from ostiary.contracts.store import SetValue, Store
from ostiary.gateway.errors import ApiError
from ostiary.gateway.hooks.rules import Hook

_SPACE = "hooks.seen"
_LONGEST_KEY = 255


class Once:
    """A signed body is the same delivery for as long as the inbox remembers, for nobody but its source could send another.
    Else the caller's key decides, else the body, within a window: two equal bodies an hour apart are two events."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._deciding = anyio.Lock()

    async def id_of(self, hook: Hook, body: bytes, *, key: str, window: float) -> str:
        """Raises ApiError 400 for a key that is none, and StoreError."""
        digest = sha256(hook.name.encode() + b"\0" + body).hexdigest()
        if hook.signature is not None:
            # The key is not covered by the signature: whoever replays the body could choose another.
            return f"signed:{digest}"
        if key:
            if len(key) > _LONGEST_KEY or not key.isprintable():
                raise ApiError(400, "Idempotency-Key: expected at most 255 printable characters.", code="invalid_value")
            return f"key:{sha256(key.encode()).hexdigest()}"
        if not window:
            return f"fresh:{secrets.token_hex(12)}"
        async with self._deciding:
            seen = await self._store.value(_SPACE, digest)
            if seen is not None:
                return seen.decode()
            id = f"body:{digest[:32]}:{secrets.token_hex(6)}"
            # Written before it is used: after a crash in between the repeated delivery is the first to arrive.
            await self._store.commit([SetValue(space=_SPACE, key=digest, value=id.encode(), expires_at=self._now() + window)])
            return id
