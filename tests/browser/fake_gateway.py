"""A pretended gateway that speaks the socket's protocol with scripted answers, for the web app's tests and for working on it.

    python -m tests.browser.fake_gateway --port 8123      prints a sign-in link

What is asked decides what happens: "slow" waits for `release`, "tools" calls tools, "write and run" writes a file and asks
before it runs it, "ask three" asks three like questions, "fail" fails, "echo …" repeats, a command is answered at once. It
checks what it receives as strictly as the original: unknown fields are refused.
"""

import asyncio
import hashlib
import json
import secrets
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from ostiary.gateway.errors import ApiError
from ostiary.gateway.protocol import chat, config, connect, devices, models, sessions, system, usage
from ostiary.gateway.protocol.shape import Nothing
from ostiary.gateway.ui import Ui, ui_pages
from tests.browser import fake_data, fake_house
from tests.browser.fake_house import FakeHouse

PARAMS: dict[str, Any] = {
    "connect": connect.Connect,
    "health": Nothing,
    "status": Nothing,
    "system-presence": Nothing,
    "commands.list": Nothing,
    "models.list": models.ListModels,
    "models.auth.list": Nothing,
    "models.auth.set": models.SetProfile,
    "models.auth.delete": models.DeleteProfile,
    "models.set": models.SetModel,
    "sessions.list": sessions.ListSessions,
    "sessions.get": sessions.OfSession,
    "sessions.patch": sessions.PatchSession,
    "sessions.reset": sessions.ChangeSession,
    "sessions.delete": sessions.ChangeSession,
    "sessions.branch": sessions.BranchSession,
    "sessions.events": sessions.ListEvents,
    "sessions.subscribe": sessions.Subscribe,
    "sessions.unsubscribe": sessions.Unsubscribe,
    "chat.history": chat.GetHistory,
    "chat.send": chat.Send,
    "chat.abort": chat.Abort,
    "usage.summary": usage.Summarise,
    "config.get": Nothing,
    "config.schema": Nothing,
    "config.patch": config.PatchConfig,
    "config.apply": config.ApplyConfig,
    "logs.tail": system.Tail,
    "device.pair.list": Nothing,
    "device.pair.approve": devices.Approve,
    "device.pair.reject": devices.OfRequest,
    "device.revoke": devices.OfDevice,
    **fake_house.PARAMS,
}


NAMES = ("Ana", "Ben", "Cleo")


class Refused(Exception):
    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.frame = {"code": code, "message": message, **more}


class FakeGateway:
    """`pace` is the time between two pieces of an answer. `requests` lists every HTTP path that was asked for."""

    def __init__(self, *, pace: float = 0.004, base_path: str = "/") -> None:
        self.pace = pace
        self.ui: Ui = ui_pages(base_path)
        self.base = "/" + base_path.strip("/")
        self.conversations = fake_data.conversations()
        self.codes: set[str] = set()
        self.cookies: set[str] = set()
        self.requests: list[str] = []
        self.methods: list[tuple[str, dict[str, Any]]] = []
        self.results: dict[str, Any] = {}
        self.blobs: dict[str, tuple[bytes, str]] = {}
        self.profiles = [dict(row) for row in fake_data.PROFILES]
        self.problems: list[str] = []
        self.config_text = fake_data.CONFIG
        # Where the words of the last answer came from, if that is to be another than usual.
        self.label: dict[str, Any] = {}
        self.scopes = ["read", "chat", "approve", "admin"]
        # Methods that this gateway does not offer.
        self.lacks: set[str] = set()
        self.house = FakeHouse(self.broadcast)
        self.house.resume = self._answered
        self._questions: dict[str, asyncio.Future[str]] = {}
        self.pending = [
            {
                "id": "r1",
                "deviceId": "d9",
                "displayName": "Pixel 9",
                "platform": "android",
                "scopes": ["read", "chat", "approve"],
                "at": time.time() - 90,
                "code": "417 203",
            }
        ]
        self.devices = [
            {
                "id": "b1",
                "displayName": "Chrome on Linux",
                "platform": "web",
                "kind": "browser",
                "scopes": ["read", "chat", "approve", "admin"],
                "createdAt": time.time() - 9e5,
                "lastSeen": time.time() - 5,
                "current": True,
            },
            {
                "id": "d2",
                "displayName": "Ana's laptop",
                "platform": "macos",
                "kind": "device",
                "scopes": ["read", "chat"],
                "createdAt": time.time() - 4e6,
                "lastSeen": time.time() - 8e4,
                "current": False,
            },
        ]
        # Sent into the void: the sequence numbers go on, the events are gone.
        self.lose_events = False
        # While it is not set, a command that was allowed goes on running.
        self.progress = asyncio.Event()
        self.progress.set()
        self._sockets: set[_Socket] = set()
        self._release = asyncio.Event()
        self._released = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._items = 0
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.base.rstrip('/')}/"

    def link(self) -> str:
        code = secrets.token_urlsafe(24)
        self.codes.add(code)
        return f"{self.url}#k={code}"

    async def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        app = web.Application(client_max_size=20 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def crash(self) -> None:
        """Gone at once, as when the process is killed: nobody is told, running answers stop."""
        for task in list(self._tasks):
            task.cancel()
        for socket in list(self._sockets):
            transport = socket.transport
            if transport is not None:
                transport.abort()
        self._sockets.clear()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def release(self) -> None:
        """Let the slow answers go on, also one that has not come to its pause yet."""
        self._released = self._items
        self._release.set()
        self._release = asyncio.Event()

    async def idle(self) -> None:
        """Until no answer is being written."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def push_answer(self, key: str, text: str) -> None:
        """A turn that somebody else began, all at once."""
        self._items += 1
        pace, self.pace = self.pace, 0.0
        await self._run_turn({"key": key, "text": f"echo {text}"}, self._items)
        self.pace = pace

    async def close_sockets(self) -> None:
        for socket in list(self._sockets):
            await socket.ws.close(code=1012)

    def finish_running(self, text: str) -> None:
        """What a restarted gateway does: the turn that was under way goes on and ends."""
        for conversation in self.conversations.values():
            for turn in conversation["turns"]:
                if turn["status"] == "running":
                    turn.update(status="completed", reply=text, steps=[fake_data.step(1, text)])
            conversation["running"] = False

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        rest = request.path.removeprefix(self.base.rstrip("/"))
        self.requests.append(request.path)
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._talk(request)
        if rest == "/auth/session" and request.method == "POST":
            return await self._sign_in(request)
        if rest == "/auth/session":
            return web.json_response({"signedIn": request.cookies.get("ostiary") in self.cookies, "mode": "token"})
        if rest == "/auth/logout" and request.method == "POST":
            self.cookies.discard(request.cookies.get("ostiary", ""))
            return web.Response(status=204)
        if rest.startswith("/v1/"):
            return await self._blobs(request, rest)
        return await _through_asgi(self.ui, request)

    async def _sign_in(self, request: web.Request) -> web.Response:
        code = (await request.json())["code"]
        if code not in self.codes or request.headers.get("X-Ostiary") != "1":
            return web.json_response({"error": {"message": "This link was used already, or it is too old."}}, status=401)
        self.codes.discard(code)
        cookie = secrets.token_urlsafe(24)
        self.cookies.add(cookie)
        response = web.Response(status=204)
        response.set_cookie("ostiary", cookie, httponly=True, samesite="Strict", path=self.base)
        return response

    async def _blobs(self, request: web.Request, rest: str) -> web.Response:
        if request.cookies.get("ostiary") not in self.cookies:
            return web.json_response({"error": {"message": "Sign in first."}}, status=401)
        if request.method == "POST" and rest == "/v1/ostiary/blobs":
            if request.headers.get("X-Ostiary") != "1":
                return web.json_response({"error": {"message": "no"}}, status=403)
            body = await request.read()
            digest = hashlib.sha256(body).hexdigest()
            self.blobs[digest] = (body, request.content_type)
            return web.json_response({"digest": digest, "size": len(body), "mediaType": request.content_type})
        found = self.blobs.get(rest.rpartition("/")[2])
        if found is None:
            return web.json_response({"error": {"message": "nothing here"}}, status=404)
        return web.Response(body=found[0], content_type=found[1], headers={"Content-Security-Policy": "sandbox"})

    async def _talk(self, request: web.Request) -> web.StreamResponse:
        ws = web.WebSocketResponse(max_msg_size=1 << 20)
        await ws.prepare(request)
        socket = _Socket(ws, request)
        await socket.send(
            {"type": "event", "event": "connect.challenge", "payload": {"nonce": "n", "ts": int(time.time() * 1000)}}
        )
        signed_in = request.cookies.get("ostiary") in self.cookies
        async for message in ws:
            if message.type is not WSMsgType.TEXT:
                break
            frame = json.loads(message.data)
            await self._answer(socket, frame, signed_in)
        self._sockets.discard(socket)
        return ws

    async def _answer(self, socket: "_Socket", frame: dict[str, Any], signed_in: bool) -> None:
        import msgspec

        method, params = frame["method"], frame["params"]
        self.methods.append((method, params))
        try:
            if method not in PARAMS:
                raise Refused("UNKNOWN_METHOD", f"There is no method {method}.")
            if not signed_in:
                raise Refused("UNAUTHORIZED", "Sign in first.")
            try:
                msgspec.convert(params, PARAMS[method])
            except msgspec.ValidationError as error:
                raise Refused("INVALID_PARAMS", f"{method}: {error}") from None
            key = params.get("idempotencyKey")
            if key in self.results:
                result = self.results[key]
            else:
                result = await self._handle(socket, method, params)
                if key:
                    self.results[key] = result
            await socket.send({"type": "res", "id": frame["id"], "ok": True, "payload": result})
        except Refused as refused:
            await socket.send({"type": "res", "id": frame["id"], "ok": False, "error": refused.frame})

    async def _handle(self, socket: "_Socket", method: str, params: dict[str, Any]) -> Any:
        name = method.replace(".", "_").replace("-", "_")
        if method in fake_house.PARAMS:
            try:
                return await getattr(self.house, f"on_{name}")(params)
            except KeyError as error:
                raise Refused("CONFLICT", str(error.args[0])) from None
        handler: Callable[[_Socket, dict[str, Any]], Awaitable[Any]] = getattr(self, f"_on_{name}")
        return await handler(socket, params)

    async def broadcast(self, event: str, payload: dict[str, Any]) -> None:
        for socket in list(self._sockets):
            await socket.event(event, payload, is_lost=self.lose_events)

    def _answered(self, row: dict[str, Any], answer: str) -> None:
        waiting = self._questions.pop(row["id"], None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    async def _on_connect(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        self._sockets.add(socket)
        return {
            "type": "hello-ok",
            "protocol": 3,
            "server": {"version": "0.1.0", "connId": "c1"},
            "features": {
                "methods": [name for name in PARAMS if name not in self.lacks],
                "events": ["tick", "chat", "sessions", "presence", "health", "approval"],
            },
            "snapshot": {
                "presence": [],
                "health": self._health(),
                "stateVersion": {"presence": 1, "health": 1},
                "uptimeMs": 1000,
                "approvals": self.house.waiting,
            },
            "policy": {"maxPayload": 1 << 20, "maxBufferedBytes": 1 << 20, "tickIntervalMs": 30000},
            "auth": {"scopes": self.scopes},
        }

    def _health(self) -> dict[str, Any]:
        return {"ok": not self.problems, "uptimeMs": 93_780_000, "version": "0.1.0", "problems": self.problems}

    async def _on_health(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        return self._health()

    async def _on_status(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        return {
            "version": "0.1.0", "home": "/home/ana/.ostiary", "generation": 3, "configProblem": "", "agents": ["main"],
            "running": len(self._tasks), "queued": 0, "waiting": 0, "sessions": len(self.conversations), "outbox": 0,
            "channels": fake_data.CHANNELS,
        }  # fmt: skip

    async def _on_system_presence(self, socket: "_Socket", params: dict[str, Any]) -> Any:
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

    async def _on_commands_list(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        return {"commands": fake_data.COMMANDS}

    async def _on_models_list(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        return {"models": fake_data.MODELS}

    async def _on_models_auth_list(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        return {"profiles": self.profiles}

    async def _on_models_auth_set(self, socket: "_Socket", params: dict[str, Any]) -> Any:
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
        self.profiles = [p for p in self.profiles if p["id"] != id] + [row]
        return {"id": id}

    async def _on_models_auth_delete(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        self.profiles = [p for p in self.profiles if p["id"] != params["id"]]
        return {"ok": True}

    async def _on_models_set(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        return {"ref": params["ref"], "generation": 4}

    async def _on_sessions_list(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        return {"sessions": [_line(c) for c in self.conversations.values()]}

    async def _on_sessions_get(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        return _line(self._conversation(params["key"]))

    async def _on_sessions_patch(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        conversation = self._conversation(params["key"], make=True)
        conversation["settings"].update(params.get("settings", {}))
        conversation["title"] = params.get("title") or conversation["title"]
        await self._tell_session(conversation)
        return {"settings": conversation["settings"], "title": conversation["title"]}

    async def _on_sessions_reset(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        self._conversation(params["key"])["turns"].clear()
        return {"ok": True}

    async def _on_sessions_delete(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        self.conversations.pop(params["key"], None)
        return {"ok": True}

    async def _on_sessions_branch(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        source = self._conversation(params["key"])
        ids = [turn["id"] for turn in source["turns"]]
        if params["atTurn"] not in ids:
            raise Refused("NOT_FOUND", "There is no such turn.")
        key = f"agent:main:webchat:direct:{secrets.token_hex(4)}"
        branch = self._conversation(key, make=True)
        branch["title"] = source["title"]
        branch["turns"] = [dict(turn) for turn in source["turns"][: ids.index(params["atTurn"])]]
        return {"key": key}

    async def _on_sessions_events(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        rows = fake_data.events(time.time() - 300) if params["key"] == "agent:main:main" else []
        if self.label:
            rows[-2]["label"] = self.label
        if self.house.trusted:
            rows.append({"seq": len(rows) + 1, "turn": "", "at": time.time(), "kind": "session.declassified", "by": "api:token"})
        wanted = params.get("turn")
        return {
            "events": [row for row in rows if row["seq"] > params.get("after", 0) and wanted in (None, "", row["turn"])],
            "more": False,
        }

    async def _on_sessions_subscribe(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        socket.keys.update(params["keys"])
        return {"keys": sorted(socket.keys)}

    async def _on_sessions_unsubscribe(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        socket.keys.difference_update(params["keys"])
        return {"keys": sorted(socket.keys)}

    async def _on_chat_history(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        conversation = self._conversation(params["key"], make=True)
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
        }

    async def _on_chat_send(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        text = params["text"]
        if text.startswith("/"):
            return {"status": "answered", "item": None, "text": f"**{text}** is answered at once.\n\n- model: sonnet"}
        if "refuse" in text:
            raise Refused("BUSY", "Too many messages wait already.", hint="Wait until some are answered.")
        self._items += 1
        item = self._items
        task = asyncio.create_task(self._run_turn(params, item))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {"status": "accepted", "item": item}

    async def _on_chat_abort(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        conversation = self._conversation(params["key"])
        running = [turn for turn in conversation["turns"] if turn["status"] == "running"]
        for task in list(self._tasks):
            task.cancel()
        for turn in running:
            turn.update(status="aborted", reason="stopped")
            await self._tell(
                params["key"],
                {
                    "turn": turn["id"],
                    "state": "error",
                    "status": "aborted",
                    "reply": "",
                    "reason": "stopped",
                    "errorKind": "",
                    "partial": turn.get("shown", ""),
                },
            )
        conversation["running"] = False
        await self._tell_session(conversation)
        return {"turns": len(running), "queued": 0}

    async def _on_usage_summary(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        rows = fake_data.usage_rows(params.get("by", "day"), time.time())
        total = {
            "key": "",
            **{name: sum(row[name] for row in rows) for name in ("turns", "input", "output", "cacheRead", "cacheWrite", "cost")},
        }
        return {"rows": rows, "total": total, "isPartial": False}

    def _config(self, text: str) -> Any:
        from ostiary.assembly.config.load import understand
        from ostiary.contracts.errors import ConfigInvalid

        try:
            return understand(text, {}, source=Path("ostiary.json5"))
        except ConfigInvalid as error:
            raise Refused("INVALID_PARAMS", str(error), hint=error.hint) from None

    def _hash(self) -> str:
        return hashlib.sha256(self.config_text.encode()).hexdigest()

    async def _on_config_get(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        from ostiary.assembly.config.explain import explain, shown

        loaded = self._config(self.config_text)
        return {
            "hash": self._hash(), "config": shown(loaded), "text": self.config_text, "problem": "",
            "sources": ["/home/ana/.ostiary/ostiary.json5"], "generation": 3,
            "origins": {each.path: each.origin for each in explain(loaded)},
        }  # fmt: skip

    async def _on_config_schema(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        from ostiary.assembly.config.json_schema import export

        return export()

    async def _on_config_patch(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        from ostiary.assembly.config import edit

        if params["hash"] != self._hash():
            raise Refused("CONFLICT", "The file was changed by somebody else.", hint="Read it again.")
        path = tuple(params["path"].split("."))
        text = (
            edit.unset(self.config_text, path) if params.get("unset") else edit.set_value(self.config_text, path, params["value"])
        )
        self._config(text)
        self.config_text = text
        return {"hash": self._hash(), "generation": 4}

    async def _on_config_apply(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        if params["hash"] != self._hash():
            raise Refused("CONFLICT", "The file was changed by somebody else.", hint="Read it again.")
        self._config(params["text"])
        self.config_text = params["text"]
        return {"hash": self._hash(), "generation": 4}

    async def _on_logs_tail(self, socket: "_Socket", params: dict[str, Any]) -> Any:
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

    async def _on_device_pair_list(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        return {"pending": self.pending, "devices": self.devices}

    async def _on_device_pair_approve(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        found = next((row for row in self.pending if row["id"] == params["id"]), None)
        if found is None:
            raise Refused("NOT_FOUND", "There is no such request.")
        self.pending.remove(found)
        self.devices.append(
            {
                **found,
                "id": found["deviceId"],
                "kind": "device",
                "scopes": params.get("scopes") or found["scopes"],
                "createdAt": time.time(),
                "lastSeen": time.time(),
                "current": False,
            }
        )
        return {"deviceId": found["deviceId"], "scopes": params.get("scopes") or found["scopes"]}

    async def _on_device_pair_reject(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        self.pending = [row for row in self.pending if row["id"] != params["id"]]
        return {"ok": True}

    async def _on_device_revoke(self, socket: "_Socket", params: dict[str, Any]) -> Any:
        self.devices = [row for row in self.devices if row["id"] != params["id"]]
        return {"ok": True}

    def _conversation(self, key: str, *, make: bool = False) -> dict[str, Any]:
        if key not in self.conversations and make:
            now = time.time()
            self.conversations[key] = {
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
        if key not in self.conversations:
            raise Refused("NOT_FOUND", "There is no such session.")
        return self.conversations[key]

    async def _run_turn(self, params: dict[str, Any], item: int) -> None:
        key, text = params["key"], params["text"]
        conversation = self._conversation(key, make=True)
        id = f"turn-{item}"
        inputs = [{"text": text, "attachments": params.get("attachments", [])}]
        turn = fake_data.turn(id, time.time(), text, [], status="running", inputs=inputs)
        conversation["turns"].append(turn)
        conversation.update(running=True, updatedAt=time.time(), title=conversation["title"] or text[:60])
        await self._tell(
            key, {"turn": id, "state": "started", "items": [item], "inputs": inputs, "sender": "api:token", "at": turn["at"]}
        )
        await self._tell_session(conversation)
        if "fail" in text:
            turn.update(status="failed", reason="the provider answered 401", errorKind="auth")
            await self._tell(
                key,
                {
                    "turn": id,
                    "state": "error",
                    "status": "failed",
                    "reply": "",
                    "reason": turn["reason"],
                    "errorKind": "auth",
                    "partial": "",
                },
            )
            return
        number, answer = 1, fake_data.STREAMED
        if "tools" in text:
            await self._call_tools(key, turn)
            number = 2
        if "write and run" in text or "ask three" in text:
            await self._act(key, turn, 3 if "ask three" in text else 1)
            number, answer = 2, fake_data.GREETED
        answer = text.removeprefix("echo ") if text.startswith("echo ") else answer
        await self._stream(key, turn, number, answer, is_slow="slow" in text)
        turn["steps"].append(fake_data.step(number, answer))
        turn.update(status="completed", reply=answer)
        conversation.update(running=False, updatedAt=time.time())
        answered = {
            "turn": id,
            "state": "answered",
            "step": number,
            "text": answer,
            "thinking": "",
            "model": "anthropic/claude-sonnet-5",
            "usage": fake_data.usage(10, 20, 0.01),
        }
        await self._tell(key, answered)
        await self._tell(
            key,
            {
                "turn": id,
                "state": "final",
                "status": "completed",
                "reply": answer,
                "usage": fake_data.usage(10, 20, 0.01),
                "model": "anthropic/claude-sonnet-5",
            },
        )
        await self._tell_session(conversation)

    async def _call_tools(self, key: str, turn: dict[str, Any]) -> None:
        made = fake_data.call(
            f"{turn['id']}-c", "read_file", '{"path":"notes/<img src=x>.md"}', "</script><script>document.title='owned'</script>"
        )
        facts = {"turn": turn["id"], "state": "tool", "step": 1, "id": made["id"], "name": made["name"]}
        await self._tell(
            key,
            {
                "turn": turn["id"],
                "state": "delta",
                "step": 1,
                "attempt": 1,
                "offset": 0,
                "text": "I look into the notes.",
                "stream": "thinking",
            },
        )
        await self._tell(key, {**facts, "phase": "started", "arguments": made["arguments"], "fate": "running"})
        await asyncio.sleep(self.pace * 20)
        await self._tell(key, {**facts, "phase": "ended", "fate": "done", "isError": False, "seconds": 0.2})
        turn["steps"].append(fake_data.step(1, "", thinking="I look into the notes.", calls=[made]))

    async def _act(self, key: str, turn: dict[str, Any], many: int) -> None:
        """Write a file, ask before running it, run what was allowed."""
        id = turn["id"]
        made = fake_data.call(
            f"{id}-w", "write", '{"path":"hello.py","content":"…"}', "Wrote hello.py (3 lines).",
            details={"path": "hello.py", "version": 1, "diff": fake_house.DIFF}, layer="profile",
        )  # fmt: skip
        calls = [made]
        turn["steps"].append(fake_data.step(1, "I write it and then run it.", calls=calls))
        step = {"turn": id, "step": 1}
        await self._tell(key, {**step, "state": "delta", "attempt": 1, "offset": 0, "text": "I write it", "stream": "assistant"})
        await self._tell_call(key, id, made, "started")
        self.house.wrote(id, "hello.py")
        await self._tell_call(key, id, made, "ended")
        rows = [fake_house.question(f"q{n}{id[-3:]}", key, id, f"python3 hello.py {NAMES[n]}") for n in range(many)]
        answers = {row["id"]: asyncio.get_running_loop().create_future() for row in rows}
        self._questions.update(answers)
        for row in rows:
            await self.house.ask(row)
        turn["status"] = "waiting"
        await self._tell(
            key, {"turn": id, "state": "waiting", "waitingFor": "approval", "callIds": [row["callId"] for row in rows]}
        )
        given = [await answers[row["id"]] for row in rows]
        turn["status"] = "running"
        await self._tell(key, {"turn": id, "state": "resumed"})
        for row, answer in zip(rows, given, strict=True):
            calls.append(await self._run_asked(key, id, row, answer))

    async def _run_asked(self, key: str, turn: str, row: dict[str, Any], answer: str) -> dict[str, Any]:
        ran = answer == "allowed"
        call = fake_data.call(
            row["callId"], "exec", json.dumps(row["arguments"]),
            "Hello, Ana\n[exit 0, 0.3 s]" if ran else "Refused by a person.", state="done" if ran else "refused", isError=not ran,
            details={"code": 0, "seconds": 0.31, "changes": []} if ran else {}, layer="confirm",
            asked=[{"id": row["id"], "layers": row["layers"], "reason": row["reason"], "at": row["askedAt"],
                    "deadline": row["deadline"], "answer": answer, "by": "api:token"}],
        )  # fmt: skip
        if ran:
            await self._tell_call(key, turn, call, "started")
            for line in ("exec", "collecting …\n", "Hello, Ana\n"):
                await self._tell(key, {"turn": turn, "state": "progress", "step": 1, "id": call["id"], "text": line})
            await self.progress.wait()
        await self._tell_call(key, turn, call, "ended")
        return call

    async def _tell_call(self, key: str, turn: str, call: dict[str, Any], phase: str) -> None:
        facts = {"turn": turn, "state": "tool", "step": 1, "id": call["id"], "name": call["name"], "phase": phase}
        if phase == "started":
            await self._tell(key, {**facts, "arguments": call["arguments"], "fate": "running", "layer": call["layer"]})
            return
        ended = {name: call[name] for name in ("isError", "result", "seconds", "details")}
        await self._tell(key, {**facts, "fate": call["state"], **ended})

    async def _stream(self, key: str, turn: dict[str, Any], number: int, answer: str, *, is_slow: bool) -> None:
        half = len(answer) // 2
        for at in range(0, len(answer), 7):
            if is_slow and at - 7 < half <= at and int(turn["id"].rpartition("-")[2]) > self._released:
                await self._release.wait()
            piece = answer[at : at + 7]
            turn["shown"] = answer[: at + 7]
            await self._tell(
                key,
                {
                    "turn": turn["id"],
                    "state": "delta",
                    "step": number,
                    "attempt": 1,
                    "offset": at,
                    "text": piece,
                    "stream": "assistant",
                },
            )
            await asyncio.sleep(self.pace)

    async def _tell(self, key: str, payload: dict[str, Any]) -> None:
        for socket in list(self._sockets):
            if key in socket.keys or "*" in socket.keys:
                await socket.event("chat", {"key": key, **payload}, is_lost=self.lose_events)

    async def _tell_session(self, conversation: dict[str, Any]) -> None:
        facts = {name: conversation[name] for name in ("key", "title", "updatedAt", "running")}
        for socket in list(self._sockets):
            await socket.event("sessions", {**facts, "change": "updated"}, is_lost=self.lose_events)


class _Socket:
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


def _line(conversation: dict[str, Any]) -> dict[str, Any]:
    names = ("key", "title", "createdAt", "updatedAt", "running", "waitingFor", "queued")
    return {**{name: conversation[name] for name in names}, "events": 8 * len(conversation["turns"]), "origin": ""}


async def _through_asgi(app: Ui, request: web.Request) -> web.Response:
    """The app's own files come from the very code that serves them in the gateway."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(event: Any) -> None:
        sent.append(event)

    headers = [(name.lower().encode(), value.encode()) for name, value in request.headers.items()]
    scope = {"type": "http", "method": request.method, "path": request.path, "headers": headers}
    try:
        await app(scope, receive, send)
    except ApiError as error:
        return web.json_response(error.body(), status=error.status)
    response = web.Response(status=sent[0]["status"], body=sent[1]["body"])
    for name, value in sent[0]["headers"]:
        response.headers[name.decode()] = value.decode()
    return response


@asynccontextmanager
async def running(**options: Any) -> AsyncIterator[FakeGateway]:
    gateway = FakeGateway(**options)
    await gateway.start()
    try:
        yield gateway
    finally:
        gateway.release()
        await gateway.crash()


async def _main(port: int) -> None:
    gateway = FakeGateway(pace=0.02)
    gateway.port = port
    await gateway.start()
    print(gateway.link(), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[sys.argv.index("--port") + 1]) if "--port" in sys.argv else 0))
