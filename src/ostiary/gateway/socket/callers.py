"""Who is on the other side, as far as sockets need to know."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Literal, Protocol

from ostiary.contracts.identity import Principal
from ostiary.contracts.records import dataclass
from ostiary.gateway.asgi import Scope as AsgiScope
from ostiary.gateway.protocol.connect import Connect
from ostiary.gateway.protocol.registry import Scope

Kind = Literal["token", "password", "device", "browser", "run", "local"]


class Caller(Protocol):
    """`id` names the credential that was used: what is revoked, and whose idempotency keys are whose."""

    @property
    def id(self) -> str: ...

    @property
    def principal(self) -> Principal: ...

    @property
    def scopes(self) -> frozenset[Scope]: ...

    @property
    def kind(self) -> Kind: ...

    @property
    def device(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """`device_token` is a new one for the device to keep, empty if it has one."""

    caller: Caller
    device_token: str = ""


# Given the handshake, what `connect` said and the nonce of the challenge. Raises MethodError, ApiError or OstiaryError.
Identify = Callable[[AsgiScope, Connect, str], Awaitable[Admitted]]
# Ids of callers that may not stay, from now on.
Revocations = Callable[[], AsyncIterator[str]]


async def never_revoked() -> AsyncIterator[str]:
    """For doors whose callers cannot be revoked."""
    nobody: tuple[str, ...] = ()
    for caller in nobody:
        yield caller
