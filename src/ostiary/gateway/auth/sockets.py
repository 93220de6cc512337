"""The gate as sockets and their methods want it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from ostiary.gateway.asgi import Scope as AsgiScope
from ostiary.gateway.auth.callers import Caller, Connect, DeviceProof, NeedsPairing, Refused, Scope
from ostiary.gateway.auth.desk import DeviceDesk
from ostiary.gateway.auth.gate import Gate
from ostiary.gateway.auth.ports import Books, Device, PairingRequest
from ostiary.gateway.protocol.connect import Connect as Request
from ostiary.gateway.protocol.devices import DeviceList, KnownDevice, Paired, Pending
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.socket.callers import Admitted
from ostiary.gateway.socket.callers import Caller as AnyCaller
from ostiary.gateway.socket.dedupe import Remembered


def socket_gate(gate: Gate) -> Callable[[AsgiScope, Request, str], Awaitable[Admitted]]:
    """`Identify` of gateway.socket: admits, or raises MethodError saying why not. Raises StoreError."""

    async def identify(scope: AsgiScope, request: Request, nonce: str) -> Admitted:
        answer = await gate.identify_socket(scope, _connect(request), nonce)
        match answer:
            case Caller():
                return Admitted(caller=answer, device_token=answer.device_token)
            case NeedsPairing():
                details = {
                    "requestId": answer.request,
                    "deviceId": answer.device,
                    "code": answer.code,
                    "expiresAt": answer.expires_at,
                }
                hint = f"Approve it: ostiary devices approve {answer.code}"
                raise MethodError("NOT_PAIRED", "This device waits for approval.", hint=hint, details=details)
            case Refused():
                raise MethodError(answer.code, answer.message, hint=answer.hint, retry_after_ms=answer.retry_after * 1000)

    return identify


class SocketDevices:
    """The desk for the `device.*` methods."""

    def __init__(self, desk: DeviceDesk, url: Callable[[], str] = str) -> None:
        self._desk = desk
        self._url = url

    async def link(self, by: AnyCaller) -> str:
        return await self._desk.make_link(by, self._url())

    async def list(self, by: AnyCaller) -> DeviceList:
        found = self._desk.list(by)
        return DeviceList(
            pending=[_pending(request) for request in found.pending],
            devices=[_known(device, by.device) for device in found.devices],
        )

    async def approve(self, request: str, scopes: Sequence[str] | None, by: AnyCaller) -> Paired:
        device = await self._desk.approve(request, by, scopes)
        return Paired(device_id=device.id, scopes=_scopes(device.scopes))

    async def reject(self, request: str, by: AnyCaller) -> None:
        await self._desk.reject(request, by)

    async def rotate(self, device: str, by: AnyCaller) -> str:
        return await self._desk.rotate(device, by)

    async def revoke(self, device: str, by: AnyCaller) -> None:
        await self._desk.revoke(device, by)


class SocketMemory:
    """`Memory` of gateway.socket.dedupe, in gateway.db."""

    def __init__(self, books: Books, now: Callable[[], float]) -> None:
        self._books = books
        self._now = now

    async def find(self, caller: str, key: str) -> Remembered | None:
        found = self._books.reads.answers.find(caller, key, self._now())
        return Remembered(digest=found.digest, result=found.result) if found else None

    async def keep(self, caller: str, key: str, remembered: Remembered, *, expires_at: float) -> None:
        digest, result, now = remembered.digest, remembered.result, self._now()
        await self._books.write(
            lambda ledger: ledger.answers.keep(caller, key, digest=digest, result=result, now=now, expires_at=expires_at)
        )


def _connect(request: Request) -> Connect:
    auth, device = request.auth, request.device
    proof = None
    if device is not None:
        proof = DeviceProof(
            id=device.id,
            public_key=device.public_key,
            signature=device.signature,
            signed_at=device.signed_at,
            nonce=device.nonce,
        )
    return Connect(
        client_id=request.client.id,
        display_name=request.client.display_name,
        platform=request.client.platform,
        role=request.role,
        scopes=None if request.scopes is None else tuple(request.scopes),
        token=(auth.token or "") if auth else "",
        password=(auth.password or "") if auth else "",
        device_token=(auth.device_token or "") if auth else "",
        device=proof,
    )


def _pending(request: PairingRequest) -> Pending:
    return Pending(
        id=request.id,
        device_id=request.device,
        display_name=request.display_name,
        platform=request.platform,
        scopes=_scopes(request.scopes),
        at=request.at,
        code=request.code,
    )


def _known(device: Device, own: str) -> KnownDevice:
    return KnownDevice(
        id=device.id,
        display_name=device.display_name,
        platform=device.platform,
        kind=device.kind,
        scopes=_scopes(device.scopes),
        created_at=device.created_at,
        last_seen=device.seen_at,
        current=device.id == own,
    )


def _scopes(scopes: Sequence[str]) -> list[Scope]:
    """Only scopes are ever stored as scopes."""
    return [cast(Scope, scope) for scope in scopes]
