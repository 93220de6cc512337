"""A gate over real books in a temporary folder, devices with real keys, and scopes as the server makes them."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ostiary.adapters.gateway_db import SharedGatewayDb, open_gateway_db
from ostiary.gateway.asgi import App
from ostiary.gateway.auth import AccessRules, Caller, Connect, DeviceProof, FailureRules, Gate
from ostiary.gateway.auth.proof import signed_text

TOKEN = "the-token-of-this-gateway"
RUN_TOKEN = "the-token-of-this-very-run"
PASSWORD = "correct horse battery"
NOW = 1_800_000_000.0
KEY = bytes(range(32))
HOST = "127.0.0.1:18789"
LOCAL = ("127.0.0.1", 50000)
REMOTE = ("192.0.2.7", 50000)
NONCE = "a-nonce-of-this-connection"


def http(
    method: str = "GET", path: str = "/v1/models", *, client: tuple[str, int] | None = LOCAL, scheme: str = "http", **headers: str
) -> dict[str, Any]:
    """Header names are written with underscores; an empty `host` leaves it out."""
    given = {"host": HOST, **headers}
    named = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in given.items()]
    return {
        "type": "http", "method": method, "path": path, "query_string": b"", "scheme": scheme, "client": client,
        "server": ("127.0.0.1", 18789), "headers": [pair for pair in named if pair != (b"host", b"")],
    }  # fmt: skip


def socket(*, client: tuple[str, int] | None = LOCAL, scheme: str = "ws", **headers: str) -> dict[str, Any]:
    scope = http(client=client, scheme=scheme, **headers)
    del scope["method"]
    return {**scope, "type": "websocket", "path": "/ws"}


def bearer(secret: str, **more: Any) -> dict[str, Any]:
    return http(authorization=f"Bearer {secret}", **more)


class Phone:
    """A device with a key of its own."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()
        self.public = self._key.public_key().public_bytes_raw()
        self.id = hashlib.sha256(self.public).hexdigest()

    def connect(self, nonce: str = NONCE, *, at: float = NOW, **fields: Any) -> Connect:
        """A signed `connect`; fields are as in Connect."""
        unsigned = DeviceProof(
            id=self.id,
            public_key=base64.b64encode(self.public).decode(),
            signature="",
            signed_at=int(at * 1000),
            nonce=nonce,
        )
        said = Connect(**{"client_id": "phone", "display_name": "A phone", "platform": "test", "device": unsigned, **fields})
        signature = self._key.sign(signed_text(said, unsigned).encode())
        return replace(said, device=replace(unsigned, signature=base64.urlsafe_b64encode(signature).decode()))


class World:
    """A gate, and what a test changes under it."""

    def __init__(self, db: SharedGatewayDb) -> None:
        self.db = db
        self.now = NOW
        self.ticks = 0.0
        self.token = TOKEN
        self.rules = AccessRules(poll_seconds=0.01)
        self.failure_rules = FailureRules(attempts=3, window=60.0, lockout=300.0, attempts_of_all=20)
        self.nonces = 0
        self.gate = self.new_gate()

    def new_gate(self) -> Gate:
        return Gate(
            lambda: self.token,
            monotonic=lambda: self.ticks,
            run_token=RUN_TOKEN,
            password=lambda: PASSWORD,
            rules=lambda: self.rules,
            failure_rules=lambda: self.failure_rules,
            books=self.db,
            now=lambda: self.now,
        )

    async def connect(self, phone: Phone, *, client: tuple[str, int] = REMOTE, **fields: Any) -> Any:
        """A fresh connection of `phone`, each with a challenge of its own."""
        self.nonces += 1
        nonce = f"nonce-number-{self.nonces:08}"
        return await self.gate.identify_socket(socket(client=client), phone.connect(nonce, at=self.now, **fields), nonce)

    async def pair(self, phone: Phone, *scopes: str) -> Caller:
        """Asked for, approved by the owner, token fetched."""
        asked = await self.connect(phone, scopes=scopes)
        await self.gate.desk.approve(asked.request, self.gate.identify(bearer(TOKEN)))
        caller = await self.connect(phone, scopes=scopes)
        assert isinstance(caller, Caller)
        return caller

    async def sign_in(self) -> str:
        """The cookie of a browser that is signed in."""
        return f"ostiary={await self.gate.desk.sign_in_browser('Firefox', 'test')}"


@pytest.fixture
async def world(tmp_path: Path) -> Any:
    async with open_gateway_db(tmp_path / "gateway.db", KEY) as db:
        yield World(db)


class Reply:
    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def call(app: App, scope: dict[str, Any], body: Mapping[str, object] | bytes = b"") -> Reply:
    reply = Reply()
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    unread = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return unread.pop()

    async def send(event: Any) -> None:
        if event["type"] == "http.response.start":
            reply.status = event["status"]
            reply.headers = {key.decode(): value.decode() for key, value in event["headers"]}
        else:
            reply.body += event.get("body", b"")

    with anyio.fail_after(5):
        await app(scope, receive, send)
    return reply
