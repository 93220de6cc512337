"""A client of the gateway's WebSocket protocol: typed calls, events, and answers as they are written.

async with connect("http://127.0.0.1:18789", token=token) as gateway:
    print(await gateway.call("health"))
    async for piece in gateway.chat("agent:main:main", "Good morning"):
        print(piece.text, end="")
"""

from ostiary.client.chat import Piece
from ostiary.client.device import DeviceKey
from ostiary.client.errors import CallRefused, Unreachable
from ostiary.client.gateway import Event, Gateway, connect
from ostiary.client.run_file import connect_home

__all__ = ["CallRefused", "DeviceKey", "Event", "Gateway", "Piece", "Unreachable", "connect", "connect_home"]
