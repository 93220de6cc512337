import msgspec
import pytest

from ostiary.gateway.auth import owner
from ostiary.gateway.auth.sockets import SocketDevices, SocketMemory, socket_gate
from ostiary.gateway.protocol.connect import Connect
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.socket.dedupe import Remembered
from tests.unit.gateway.auth.support import LOCAL, NONCE, NOW, REMOTE, TOKEN, Phone, World, socket

OWNER = owner("token")
SMALLEST = {
    "minProtocol": 3,
    "maxProtocol": 3,
    "client": {"id": "cli", "displayName": "example", "version": "dev", "platform": "node", "mode": "cli"},
}


def request(phone: Phone | None = None, **auth: str) -> Connect:
    said = dict[str, object](SMALLEST)
    if auth:
        said["auth"] = auth
    if phone is not None:
        proof = phone.connect(client_id="cli").device
        assert proof is not None
        said["device"] = {
            "id": proof.id, "publicKey": proof.public_key, "signature": proof.signature, "signedAt": proof.signed_at,
            "nonce": proof.nonce,
        }  # fmt: skip
    return msgspec.convert(said, Connect)


async def test_the_smallest_client_comes_in_with_the_token(world: World) -> None:
    admitted = await socket_gate(world.gate)(socket(), request(token=TOKEN), NONCE)
    assert (admitted.caller.id, admitted.device_token) == ("token", "")


async def test_a_device_gets_its_token_with_the_answer(world: World) -> None:
    admitted = await socket_gate(world.gate)(socket(client=LOCAL), request(Phone(), token=TOKEN), NONCE)
    assert admitted.device_token.startswith("odt_")


async def test_a_device_that_waits_is_told_its_code(world: World) -> None:
    with pytest.raises(MethodError) as caught:
        await socket_gate(world.gate)(socket(client=REMOTE), request(Phone()), NONCE)
    (asked,) = world.gate.desk.list(OWNER).pending
    assert (caught.value.code, caught.value.details and caught.value.details["code"]) == ("NOT_PAIRED", asked.code)


async def test_who_is_refused_is_told_why(world: World) -> None:
    with pytest.raises(MethodError) as caught:
        await socket_gate(world.gate)(socket(), request(token="wrong"), NONCE)
    assert caught.value.code == "UNAUTHORIZED"


async def test_devices_are_listed_approved_rotated_and_revoked_over_sockets(world: World) -> None:
    desk, phone = SocketDevices(world.gate.desk), Phone()
    await world.connect(phone, scopes=("read",))
    before = await desk.list(OWNER)
    paired = await desk.approve(before.pending[0].id, None, OWNER)
    caller = await world.connect(phone, scopes=("read",))
    token = await desk.rotate(phone.id, caller)
    after = await desk.list(OWNER)
    await desk.revoke(phone.id, caller)
    assert (paired.device_id, paired.scopes) == (phone.id, ["read"])
    assert token != caller.device_token
    assert [(device.id, device.current) for device in after.devices] == [(phone.id, False)]
    assert (await desk.list(OWNER)).devices == []


async def test_a_rejected_device_is_gone(world: World) -> None:
    desk = SocketDevices(world.gate.desk)
    asked = await world.connect(Phone())
    await desk.reject(asked.request, OWNER)
    assert (await desk.list(OWNER)).pending == []


async def test_what_was_answered_is_remembered_for_its_caller(world: World) -> None:
    memory = SocketMemory(world.db, lambda: world.now)
    await memory.keep("a", "key", Remembered(digest="d", result=b"{}"), expires_at=NOW + 10)
    assert await memory.find("a", "key") == Remembered(digest="d", result=b"{}")
    assert await memory.find("b", "key") is None
    world.now += 11
    assert await memory.find("a", "key") is None
