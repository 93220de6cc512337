"""One socket, and a refusal."""

import json
from contextlib import suppress
from typing import Any

from aiohttp import web


class Refused(Exception):
    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.frame = {"code": code, "message": message, **more}


class Socket:
    def __init__(self, ws: web.WebSocketResponse, request: web.Request) -> None:
        self.ws = ws
        self.transport = request.transport
        self.keys: set[str] = set()
        self._seq = 0

    async def send(self, frame: dict[str, Any]) -> None:
        with suppress(ConnectionError):
            await self.ws.send_str(json.dumps(frame))

    async def event(self, name: str, payload: dict[str, Any], *, is_lost: bool = False) -> None:
        self._seq += 1
        if not is_lost:
            await self.send({"type": "event", "event": name, "payload": payload, "seq": self._seq})
