"""What the smaller pages show: health, models, usage, logs."""

import time
from typing import TYPE_CHECKING, Any

from tests.browser import fake_data
from tests.browser.fake_gateway.params import PARAMS
from tests.browser.fake_gateway.wire import Socket

if TYPE_CHECKING:
    from tests.browser.fake_gateway.gateway import FakeGateway


class Pages:
    def __init__(self, gateway: "FakeGateway") -> None:
        self.gateway = gateway

    async def on_connect(self, socket: Socket, params: dict[str, Any]) -> Any:
        self.gateway.sockets.add(socket)
        return {
            "type": "hello-ok",
            "protocol": 3,
            "server": {"version": "0.1.0", "connId": "c1"},
            "features": {
                "methods": [name for name in PARAMS if name not in self.gateway.lacks],
                "events": ["tick", "chat", "sessions", "presence", "health", "approval"],
            },
            "snapshot": {
                "presence": [],
                "health": self.health(),
                "stateVersion": {"presence": 1, "health": 1},
                "uptimeMs": 1000,
                "approvals": self.gateway.house.waiting,
            },
            "policy": {"maxPayload": 1 << 20, "maxBufferedBytes": 1 << 20, "tickIntervalMs": 30000},
            "auth": {"scopes": self.gateway.scopes},
        }

    def health(self) -> dict[str, Any]:
        return {"ok": not self.gateway.problems, "uptimeMs": 93_780_000, "version": "0.1.0", "problems": self.gateway.problems}

    async def on_health(self, socket: Socket, params: dict[str, Any]) -> Any:
        return self.health()

    async def on_status(self, socket: Socket, params: dict[str, Any]) -> Any:
        return {
            "version": "0.1.0", "home": "/home/ana/.ostiary", "generation": 3, "configProblem": "", "agents": ["main"],
            "running": len(self.gateway.tasks), "queued": 0, "waiting": 0,
            "sessions": len(self.gateway.conversations), "outbox": 0, "channels": fake_data.CHANNELS,
        }  # fmt: skip

    async def on_system_presence(self, socket: Socket, params: dict[str, Any]) -> Any:
        row = {
            "instanceId": "i1",
            "displayName": "Chrome on Linux",
            "mode": "webchat",
            "platform": "web",
            "version": "1",
            "reason": "connect",
            "scopes": ["admin"],
            "text": "",
        }
        return {"presence": [{**row, "ts": int(time.time() * 1000)}]}

    async def on_commands_list(self, socket: Socket, params: dict[str, Any]) -> Any:
        return {"commands": fake_data.COMMANDS}

    async def on_models_list(self, socket: Socket, params: dict[str, Any]) -> Any:
        return {"models": fake_data.MODELS}

    async def on_models_auth_list(self, socket: Socket, params: dict[str, Any]) -> Any:
        return {"profiles": self.gateway.profiles}

    async def on_models_auth_set(self, socket: Socket, params: dict[str, Any]) -> Any:
        id = params.get("id") or f"{params['provider']}:default"
        secret = params["secret"]
        row = {
            "id": id,
            "provider": params["provider"],
            "kind": params["kind"],
            "masked": f"{secret[:4]}…{secret[-4:]}",
            "expires": 0,
            "standing": "ready",
        }
        self.gateway.profiles = [p for p in self.gateway.profiles if p["id"] != id] + [row]
        return {"id": id}

    async def on_models_auth_delete(self, socket: Socket, params: dict[str, Any]) -> Any:
        self.gateway.profiles = [p for p in self.gateway.profiles if p["id"] != params["id"]]
        return {"ok": True}

    async def on_models_set(self, socket: Socket, params: dict[str, Any]) -> Any:
        return {"ref": params["ref"], "generation": 4}

    async def on_usage_summary(self, socket: Socket, params: dict[str, Any]) -> Any:
        rows = fake_data.usage_rows(params.get("by", "day"), time.time())
        total = {
            "key": "",
            **{name: sum(row[name] for row in rows) for name in ("turns", "input", "output", "cacheRead", "cacheWrite", "cost")},
        }
        return {"rows": rows, "total": total, "isPartial": False}

    async def on_logs_tail(self, socket: Socket, params: dict[str, Any]) -> Any:
        order = ["debug", "info", "warning", "error", "critical"]
        least = order.index(params.get("level", "debug"))
        start = int(params.get("cursor") or 0)
        rows = [
            {
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 600 + i * 7)),
                "level": level,
                "name": name,
                "message": message,
                "trace": "",
            }
            for i, (level, name, message) in enumerate(fake_data.LOG_LINES * 6)
            if order.index(level) >= least
        ]
        return {"lines": rows[start:], "cursor": str(len(rows))}
