import base64

from ostiary.client.device import DeviceKey
from ostiary.gateway.auth import Connect, DeviceProof
from ostiary.gateway.auth.proof import Proofs


async def test_the_gateway_accepts_the_proof_of_a_device() -> None:
    key, secret = DeviceKey.new()
    assert DeviceKey(secret).id == key.id
    nonce = "n" * 32
    proof = key.proof(nonce=nonce, client="phone", role="operator", scopes=["read", "chat"], at_ms=1_000_000)
    said = Connect(client_id="phone", scopes=("read", "chat"))
    given = DeviceProof(
        id=proof["id"], public_key=proof["publicKey"], signature=proof["signature"], signed_at=proof["signedAt"], nonce=nonce
    )
    proven, why = await Proofs().check(said, given, nonce, 1000.0)
    assert (proven, why) == (key.public, "")
    assert base64.b64decode(proof["publicKey"]) == key.public
