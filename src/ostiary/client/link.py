"""One WebSocket to the gateway, from the challenge to hello-ok."""

import ssl
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from ostiary import __version__
from ostiary.client.device import DeviceKey
from ostiary.client.errors import CallRefused, Unreachable
from ostiary.contracts.records import dataclass

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

PROTOCOL = 3
LARGEST_FRAME = 16 * 1024 * 1024
_OPEN_SECONDS = 10.0

decode = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who connects. One of token, password or device; `device_token` is what a paired device was given."""

    token: str = ""
    password: str = ""
    device: DeviceKey | None = None
    device_token: str = ""
    scopes: Sequence[str] | None = None
    client_id: str = "ostiary-python"
    display_name: str = ""
    mode: str = "cli"
    instance_id: str = ""


async def open_link(url: str, who: Identity, tls: ssl.SSLContext | None) -> "tuple[ClientConnection, Mapping[str, Any]]":
    """A connection and its hello-ok. Raises Unreachable, CallRefused."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException

    address = socket_url(url)
    try:
        with anyio.fail_after(_OPEN_SECONDS):
            connection = await connect(
                address,
                ssl=tls,
                compression=None,
                proxy=None,
                max_size=LARGEST_FRAME,
                open_timeout=None,
                user_agent_header=f"ostiary/{__version__}",
            )
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
        raise Unreachable(f"no gateway answers at {url}: {error}", hint="Is it running? Start it: ostiary up") from None
    try:
        with anyio.fail_after(_OPEN_SECONDS):
            return connection, await _greet(connection, who)
    except (WebSocketException, TimeoutError) as error:
        await connection.close()
        raise Unreachable(f"the gateway at {url} hung up: {error}") from None
    except BaseException:
        await connection.close()
        raise


async def _greet(connection: "ClientConnection", who: Identity) -> Mapping[str, Any]:
    nonce = ""
    while True:
        frame = decode(await connection.recv())
        if frame.get("event") == "connect.challenge":
            nonce = frame["payload"]["nonce"]
            await connection.send(encode(_connect(who, nonce)).decode())
        elif frame.get("type") == "res" and frame.get("id") == "connect":
            if not frame["ok"]:
                raise CallRefused(frame["error"])
            hello: Mapping[str, Any] = frame["payload"]
            return hello


def _connect(who: Identity, nonce: str) -> Mapping[str, Any]:
    secrets = {"token": who.token, "password": who.password, "deviceToken": who.device_token}
    client = {
        "id": who.client_id,
        "version": __version__,
        "platform": "python",
        "mode": who.mode,
        "displayName": who.display_name,
        "instanceId": who.instance_id,
    }
    params: dict[str, Any] = {"minProtocol": PROTOCOL, "maxProtocol": PROTOCOL, "client": client}
    if any(secrets.values()):
        params["auth"] = {name: value for name, value in secrets.items() if value}
    if who.scopes is not None:
        params["scopes"] = list(who.scopes)
    if who.device is not None:
        params["device"] = who.device.proof(
            nonce=nonce, client=who.client_id, role="operator", scopes=who.scopes, at_ms=int(time.time() * 1000)
        )
    return {"type": "req", "id": "connect", "method": "connect", "params": params}


def socket_url(url: str) -> str:
    """Of an http address, or a ws one as it is; the path is /ws behind what the address has."""
    scheme, _, rest = url.partition("://")
    name = {"http": "ws", "https": "wss"}.get(scheme, scheme)
    path = "" if rest.rstrip("/").endswith("/ws") else "/ws"
    return f"{name}://{rest.rstrip('/')}{path}"
