"""From what `connect` says to who it is: the gate decides, here its decision becomes an answer."""

from collections.abc import Awaitable
from typing import Protocol

from ostiary.gateway.asgi import Scope
from ostiary.gateway.auth import callers
from ostiary.gateway.auth.callers import NeedsPairing, Refused
from ostiary.gateway.protocol import connect
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.socket.callers import Admitted, Identify


class SocketGate(Protocol):
    def identify_socket(
        self, scope: Scope, connect: callers.Connect, challenge: str
    ) -> Awaitable[callers.Caller | NeedsPairing | Refused]: ...


def admission(gate: SocketGate) -> Identify:
    """The gate as sockets ask it."""

    async def identify(scope: Scope, said: connect.Connect, challenge: str) -> Admitted:
        match await gate.identify_socket(scope, claim_of(said), challenge):
            case NeedsPairing(request=request, device=device, code=code, expires_at=expires_at):
                details = {"requestId": request, "deviceId": device, "code": code, "expiresAt": expires_at}
                raise MethodError(
                    "NOT_PAIRED",
                    "This device is not paired yet.",
                    hint=f"Compare the code {code}, approve the device, then connect again.",
                    details=details,
                )
            case Refused(code=refusal, message=message, hint=hint, retry_after=wait):
                raise MethodError(refusal, message, hint=hint, retry_after_ms=wait * 1000)
            case caller:
                return Admitted(caller=caller, device_token=caller.device_token)

    return identify


def claim_of(said: connect.Connect) -> callers.Connect:
    auth, device = said.auth or connect.Auth(), said.device
    return callers.Connect(
        client_id=said.client.id,
        display_name=said.client.display_name,
        platform=said.client.platform,
        role=said.role,
        scopes=tuple(said.scopes) if said.scopes is not None else None,
        token=auth.token or "",
        password=auth.password or "",
        device_token=auth.device_token or "",
        device=callers.DeviceProof(
            id=device.id,
            public_key=device.public_key,
            signature=device.signature,
            signed_at=device.signed_at,
            nonce=device.nonce,
        )
        if device is not None
        else None,
    )
