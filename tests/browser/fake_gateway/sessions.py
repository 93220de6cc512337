"""Conversations: their list, one of them, what was said, and who hears of it."""

import secrets
import time
from typing import TYPE_CHECKING, Any

from tests.browser import fake_data
from tests.browser.fake_gateway.wire import Refused, Socket

if TYPE_CHECKING:
    from tests.browser.fake_gateway.gateway import FakeGateway


class Sessions:
    def __init__(self, gateway: "FakeGateway") -> None:
        self.gateway = gateway

    async def on_sessions_list(self, socket: Socket, params: dict[str, Any]) -> Any:
        return {"sessions": [_line(c) for c in self.gateway.conversations.values()]}

    async def on_sessions_get(self, socket: Socket, params: dict[str, Any]) -> Any:
        return _line(self.conversation(params["key"]))

    async def on_sessions_patch(self, socket: Socket, params: dict[str, Any]) -> Any:
        conversation = self.conversation(params["key"], make=True)
        conversation["settings"].update(params.get("settings", {}))
        conversation["title"] = params.get("title") or conversation["title"]
        await self.tell_session(conversation)
        return {"settings": conversation["settings"], "title": conversation["title"]}

    async def on_sessions_reset(self, socket: Socket, params: dict[str, Any]) -> Any:
        self.conversation(params["key"])["turns"].clear()
        return {"ok": True}

    async def on_sessions_delete(self, socket: Socket, params: dict[str, Any]) -> Any:
        self.gateway.conversations.pop(params["key"], None)
        return {"ok": True}

    async def on_sessions_branch(self, socket: Socket, params: dict[str, Any]) -> Any:
        source = self.conversation(params["key"])
        ids = [turn["id"] for turn in source["turns"]]
        if params["atTurn"] not in ids:
            raise Refused("NOT_FOUND", "There is no such turn.")
        key = f"agent:main:webchat:direct:{secrets.token_hex(4)}"
        branch = self.conversation(key, make=True)
        branch["title"] = source["title"]
        branch["turns"] = [dict(turn) for turn in source["turns"][: ids.index(params["atTurn"])]]
        return {"key": key}

    async def on_sessions_events(self, socket: Socket, params: dict[str, Any]) -> Any:
        rows = fake_data.events(time.time() - 300) if params["key"] == "agent:main:main" else []
        if self.gateway.house.trusted:
            rows.append({"seq": len(rows) + 1, "turn": "", "at": time.time(), "kind": "session.declassified", "by": "api:token"})
        wanted = params.get("turn")
        return {
            "events": [row for row in rows if row["seq"] > params.get("after", 0) and wanted in (None, "", row["turn"])],
            "more": False,
        }

    async def on_sessions_subscribe(self, socket: Socket, params: dict[str, Any]) -> Any:
        socket.keys.update(params["keys"])
        return {"keys": sorted(socket.keys)}

    async def on_sessions_unsubscribe(self, socket: Socket, params: dict[str, Any]) -> Any:
        socket.keys.difference_update(params["keys"])
        return {"keys": sorted(socket.keys)}

    async def on_chat_history(self, socket: Socket, params: dict[str, Any]) -> Any:
        conversation = self.conversation(params["key"], make=True)
        socket.keys.add(params["key"])
        turns = conversation["turns"]
        before = params.get("before")
        if before:
            turns = turns[: [turn["id"] for turn in turns].index(before)]
        limit = params.get("limit", 50)
        return {
            "turns": turns[-limit:],
            "more": len(turns) > limit,
            "settings": conversation["settings"],
            "model": conversation["settings"].get("model") or "anthropic/claude-sonnet-5",
            "contextTokens": 14_820 if turns else 0,
            "contextWindow": 200_000,
            "usage": fake_data.usage(9_400, 2_210, 0.31, 41_000) if turns else fake_data.usage(),
            "label": self._label(params["key"]),
            "summarised": conversation.get("summarised"),
        }

    def _label(self, key: str) -> dict[str, Any]:
        if self.gateway.label and key not in self.gateway.house.trusted:
            return self.gateway.label
        return {"trust": "owner", "private": True, "sources": ["api:token", "ostiary"]}

    def conversation(self, key: str, *, make: bool = False) -> dict[str, Any]:
        if key not in self.gateway.conversations and make:
            now = time.time()
            self.gateway.conversations[key] = {
                "key": key,
                "title": "",
                "createdAt": now,
                "updatedAt": now,
                "turns": [],
                "settings": {},
                "running": False,
                "queued": 0,
                "waitingFor": "",
            }
        if key not in self.gateway.conversations:
            raise Refused("NOT_FOUND", "There is no such session.")
        return self.gateway.conversations[key]

    async def tell(self, key: str, payload: dict[str, Any]) -> None:
        for socket in list(self.gateway.sockets):
            if key in socket.keys or "*" in socket.keys:
                await socket.event("chat", {"key": key, **payload}, is_lost=self.gateway.lose_events)

    async def tell_session(self, conversation: dict[str, Any]) -> None:
        facts = {name: conversation[name] for name in ("key", "title", "updatedAt", "running")}
        for socket in list(self.gateway.sockets):
            await socket.event("sessions", {**facts, "change": "updated"}, is_lost=self.gateway.lose_events)


def _line(conversation: dict[str, Any]) -> dict[str, Any]:
    names = ("key", "title", "createdAt", "updatedAt", "running", "waitingFor", "queued")
    return {**{name: conversation[name] for name in names}, "events": 8 * len(conversation["turns"]), "origin": ""}
