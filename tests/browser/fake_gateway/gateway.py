"""The pretended gateway itself: it listens, signs people in, and hands each request to its subject."""

import asyncio
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import WSMsgType, web

from ostiary.gateway.errors import ApiError
from ostiary.gateway.media import media_type_of
from ostiary.gateway.ui import Ui, ui_pages
from tests.browser import fake_data, fake_house
from tests.browser.fake_gateway.pages import Pages
from tests.browser.fake_gateway.params import PARAMS
from tests.browser.fake_gateway.sessions import Sessions
from tests.browser.fake_gateway.settings import Settings
from tests.browser.fake_gateway.turns import Turns
from tests.browser.fake_gateway.vault import PARAMS as VAULT_PARAMS
from tests.browser.fake_gateway.vault import FakeVault, open_vault
from tests.browser.fake_gateway.wire import Refused, Socket
from tests.browser.fake_house import FakeHouse


class FakeGateway:
    """`pace` is the time between two pieces of an answer. `requests` lists every HTTP path that was asked for."""

    def __init__(self, vault: FakeVault, *, pace: float = 0.004, base_path: str = "/", port: int = 0) -> None:
        self.vault = vault
        self.pace = pace
        self.pages = Pages(self)
        self.sessions = Sessions(self)
        self.settings = Settings(self)
        self.turns = Turns(self)
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
        # Where the words of the conversations came from, if that is to be another than usual.
        self.label: dict[str, Any] = {}
        self.scopes = ["read", "chat", "approve", "admin"]
        # Methods that this gateway does not offer.
        self.lacks: set[str] = set()
        self.house = FakeHouse(self.broadcast)
        self.house.resume = self.turns.answered
        self.questions: dict[str, asyncio.Future[str]] = {}
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
        self.thinking = asyncio.Event()
        self.thinking.set()
        self.sockets: set[Socket] = set()
        self.gate = asyncio.Event()
        self.released = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self.items = 0
        self._runner: web.AppRunner | None = None
        self.port = port

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
        for task in list(self.tasks):
            task.cancel()
        for socket in list(self.sockets):
            transport = socket.transport
            if transport is not None:
                transport.abort()
        self.sockets.clear()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def release(self) -> None:
        """Let the slow answers go on, also one that has not come to its pause yet."""
        self.released = self.items
        self.gate.set()
        self.gate = asyncio.Event()

    async def idle(self) -> None:
        """Until no answer is being written."""
        while self.tasks:
            await asyncio.wait(set(self.tasks))

    async def push_answer(self, key: str, text: str) -> None:
        """A turn that somebody else began, all at once."""
        self.items += 1
        pace, self.pace = self.pace, 0.0
        await self.turns.run_turn({"key": key, "text": f"echo {text}"}, self.items)
        self.pace = pace

    async def close_sockets(self) -> None:
        for socket in list(self.sockets):
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
        if rest.startswith("/v1/vault/raw/"):
            collection, _, path = rest.removeprefix("/v1/vault/raw/").partition("/")
            document = await self.vault.store.documents.get(collection, path, version=int(request.query["version"]))
            kept = document[1] if document is not None else None
        else:
            kept = await self.vault.store.blob(rest.rpartition("/")[2])
        digest = rest.rpartition("/")[2]
        found = self.blobs.get(digest) or ((kept, media_type_of(kept)) if kept is not None else None)
        if found is None:
            return web.json_response({"error": {"message": "nothing here"}}, status=404)
        return web.Response(body=found[0], content_type=found[1], headers={"Content-Security-Policy": "sandbox"})

    async def _talk(self, request: web.Request) -> web.StreamResponse:
        ws = web.WebSocketResponse(max_msg_size=1 << 20)
        await ws.prepare(request)
        socket = Socket(ws, request)
        await socket.send(
            {"type": "event", "event": "connect.challenge", "payload": {"nonce": "n", "ts": int(time.time() * 1000)}}
        )
        signed_in = request.cookies.get("ostiary") in self.cookies
        async for message in ws:
            if message.type is not WSMsgType.TEXT:
                break
            frame = json.loads(message.data)
            await self._answer(socket, frame, signed_in)
        self.sockets.discard(socket)
        return ws

    async def _answer(self, socket: Socket, frame: dict[str, Any], signed_in: bool) -> None:
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

    async def _handle(self, socket: Socket, method: str, params: dict[str, Any]) -> Any:
        name = method.replace(".", "_").replace("-", "_")
        if method in fake_house.PARAMS:
            try:
                return await getattr(self.house, f"on_{name}")(params)
            except KeyError as error:
                raise Refused("CONFLICT", str(error.args[0])) from None
        if method in VAULT_PARAMS:
            return await self.vault.on(method, params)
        subjects = (self.pages, self.sessions, self.settings, self.turns)
        handler = next(getattr(each, f"on_{name}") for each in subjects if hasattr(each, f"on_{name}"))
        return await handler(socket, params)

    async def broadcast(self, event: str, payload: dict[str, Any]) -> None:
        for socket in list(self.sockets):
            await socket.event(event, payload, is_lost=self.lose_events)


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
    async with open_vault() as vault:
        gateway = FakeGateway(vault, **options)
        await gateway.start()
        try:
            yield gateway
        finally:
            gateway.release()
            await gateway.crash()
