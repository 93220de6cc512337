"""Sockets around a real engine on a real store, and clients that speak ASGI to them in memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from ostiary.adapters.search import open_search
from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.assembly.change_desk import ChangesAtDesk
from ostiary.assembly.config.load import understand
from ostiary.assembly.control import ControlAtDesk
from ostiary.assembly.desks import SessionsAtDesk
from ostiary.assembly.memory_desk import MemoryAtDesk
from ostiary.assembly.policies import judge_of
from ostiary.assembly.policy_desk import PolicyAtDesk
from ostiary.assembly.vault_desk import VaultAtDesk
from ostiary.contracts.control import ToolStanding
from ostiary.contracts.errors import Conflict, UnknownSession
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ModelRef, ToolSchema
from ostiary.contracts.search import Search
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.control.control import Control, ControlRules, Parts
from ostiary.core.control.engine_parts import EngineTurns
from ostiary.core.memory.memory import make_memory
from ostiary.core.memory.rules import MemoryRules
from ostiary.core.policy.verdict import Verdict
from ostiary.core.routing.change_commands import Changes
from ostiary.core.routing.supervisor import Supervisor
from ostiary.gateway.auth import ALL_SCOPES, Caller
from ostiary.gateway.methods.services import Services
from ostiary.gateway.protocol.config import ConfigSchema, ConfigView
from ostiary.gateway.protocol.devices import DeviceList, KnownDevice, Paired
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.models import Profile
from ostiary.gateway.socket.app import Socket
from ostiary.gateway.socket.callers import Admitted
from ostiary.gateway.socket.dedupe import Remembered
from ostiary.gateway.socket.limits import SocketLimits
from ostiary.kit.clock import CountingIds, ManualClock
from ostiary.kit.house import House, allow_everything, open_house
from ostiary.kit.models import ScriptedModel, say

KEY = bytes(range(32))
MAIN = "agent:main:main"
OWNER = Principal(user=UserId(channel="api", stable_id="token"), role="owner")


class Refusal(Exception):
    """An error response."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: str = error["code"]
        self.details: dict[str, Any] = error.get("details", {})
        self.error = error


class Memory:
    """What was done under which key, in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Remembered] = {}

    async def find(self, caller: str, key: str) -> Remembered | None:
        return self.kept.get((caller, key))

    async def keep(self, caller: str, key: str, remembered: Remembered, *, expires_at: float) -> None:
        self.kept[caller, key] = remembered


class Models:
    def __init__(self) -> None:
        self.kept: dict[str, tuple[str, str, str]] = {}
        self.primary = ""

    def alias(self, ref: ModelRef) -> str:
        return "quick"

    def is_usable(self, ref: ModelRef) -> bool:
        return True

    def profiles(self) -> Sequence[Profile]:
        return [
            Profile(id=id, provider=provider, kind=kind, masked="sk-…99", expires=0.0, standing="ready")
            for id, (provider, kind, _) in self.kept.items()
        ]

    async def set_profile(self, id: str, provider: str, kind: str, secret: str) -> None:
        self.kept[id] = (provider, kind, secret)

    async def delete_profile(self, id: str) -> bool:
        return self.kept.pop(id, None) is not None

    async def set_primary(self, ref: ModelRef) -> int:
        self.primary = str(ref)
        return 2


class Config:
    """A configuration of one level."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {"port": 1}
        self.text = "{ port: 1 }"
        self.generation = 1

    def view(self) -> ConfigView:
        return ConfigView(
            hash=f"h{self.generation}", config=self.values, text=self.text, sources=[], problem="", generation=self.generation
        )

    def schema(self) -> ConfigSchema:
        return ConfigSchema(schema={"type": "object"}, ui_hints={}, version=1)

    async def set(self, path: str, value: object, *, hash: str) -> int:
        self._check(hash)
        self.values[path] = value
        return self.generation

    async def unset(self, path: str, *, hash: str) -> int:
        self._check(hash)
        self.values.pop(path, None)
        return self.generation

    async def apply(self, text: str, *, hash: str) -> int:
        self._check(hash)
        self.text = text
        return self.generation

    def _check(self, hash: str) -> None:
        if hash != f"h{self.generation}":
            raise Conflict("the file was changed meanwhile")
        self.generation += 1


class Devices:
    def __init__(self) -> None:
        self.revoked: list[str] = []

    async def list(self, by: Any) -> DeviceList:
        phone = KnownDevice(
            id="phone", display_name="Phone", platform="ios", kind="operator", scopes=["read"], created_at=0.0, last_seen=0.0,
            current=by.device == "phone",
        )  # fmt: skip
        return DeviceList(pending=[], devices=[phone])

    async def approve(self, request: str, scopes: Sequence[str] | None, by: Any) -> Paired:
        self._known(request)
        return Paired(device_id="phone", scopes=list(scopes or ["read"]))  # type: ignore[arg-type]

    async def reject(self, request: str, by: Any) -> None:
        self._known(request)

    async def rotate(self, device: str, by: Any) -> str:
        return "odt_new"

    async def revoke(self, device: str, by: Any) -> None:
        self.revoked.append(device)

    async def link(self, by: Any) -> str:
        return "http://127.0.0.1:1/#k=once"

    def _known(self, request: str) -> None:
        if request != "request":
            raise UnknownSession("there is no such request")


@dataclass
class Room:
    """`socket` with everything behind it; `client` opens a connection that has said who it is."""

    socket: Socket
    engine: Supervisor
    store: SqliteStore
    clock: ManualClock
    model: ScriptedModel
    services: Services
    memory: Memory
    models: Models
    config: Config
    devices: Devices
    group: Any
    revoke: Callable[[str], None]

    async def dial(self, **more: Any) -> "Line":
        """A connection that has said nothing yet."""
        line = Line(**more)
        self.group.start_soon(line.run, self.socket)
        return line

    async def until_written(self, text: str) -> None:
        """Until that much of the answer in the main session is there, whether somebody looks on or not."""
        assert self.services.sessions is not None
        with anyio.fail_after(5):
            while (written := self.services.sessions.writing(SessionKey("main", "main"))) is None or written.text != text:
                await anyio.lowlevel.checkpoint()

    async def client(self, scopes: Sequence[str] = tuple(sorted(ALL_SCOPES)), **more: Any) -> "Client":
        line = await self.dial()
        client = Client(line)
        client.hello = await client.call("connect", connect(scopes=list(scopes), **more))
        return client


def connect(**more: Any) -> dict[str, Any]:
    client = {"id": "test", "version": "1", "platform": "linux", "mode": "ui", **more.pop("client", {})}
    return {"minProtocol": 3, "maxProtocol": 3, "client": client, "auth": {"token": "tok"}, **more}


class Line:
    """An ASGI server's side of one WebSocket. `is_stalled` takes nothing off the application's hands."""

    def __init__(self, *, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self._to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.scope = {"type": "websocket", "path": "/ws", "headers": list(headers), "scheme": "ws", "extensions": {}}
        self.taking = anyio.Event()
        self.taking.set()
        self.over = anyio.Event()
        self._to_app.put_nowait({"type": "websocket.connect"})

    async def run(self, app: Any) -> None:
        try:
            await app(self.scope, self._to_app.get, self._send)
        finally:
            self.over.set()

    def stall(self) -> None:
        self.taking = anyio.Event()

    def send(self, content: str | bytes | dict[str, Any]) -> None:
        if isinstance(content, bytes):
            self._to_app.put_nowait({"type": "websocket.receive", "bytes": content})
            return
        text = content if isinstance(content, str) else json.dumps(content)
        self._to_app.put_nowait({"type": "websocket.receive", "text": text})

    def hang_up(self) -> None:
        self._to_app.put_nowait({"type": "websocket.disconnect", "code": 1000})

    async def next(self) -> dict[str, Any]:
        """The next thing the application did, frames decoded."""
        with anyio.fail_after(5):
            event = await self.events.get()
        return json.loads(event["text"]) if event["type"] == "websocket.send" else event

    async def until_closed(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Every frame up to the close, and the close."""
        frames = []
        while True:
            event = await self.next()
            if event["type"] in ("websocket.close", "websocket.http.response.start"):
                return frames, event
            frames.append(event)

    async def _send(self, event: dict[str, Any]) -> None:
        await self.taking.wait()
        if event["type"] != "websocket.accept":
            self.events.put_nowait(event)


class Client:
    def __init__(self, line: Line) -> None:
        self.line = line
        self.hello: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []
        self._answers: dict[str, list[dict[str, Any]]] = {}
        self._ids = 0

    async def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        request = self.ask(method, params)
        return await self.answer(request)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> str:
        self._ids += 1
        request = f"r{self._ids}"
        self.line.send({"type": "req", "id": request, "method": method, "params": params or {}})
        return request

    async def answer(self, request: str) -> Any:
        """Raises Refusal."""
        while not self._answers.get(request):
            await self._read()
        frame = self._answers[request].pop(0)
        if not frame["ok"]:
            raise Refusal(frame["error"])
        return frame["payload"]

    async def event(self, name: str, **wanted: Any) -> dict[str, Any]:
        """The next event of that name whose payload has these fields; others before it are dropped."""
        while True:
            while self.events:
                event = self.events.pop(0)
                payload: dict[str, Any] = event["payload"]
                if event["event"] == name and all(payload.get(key) == value for key, value in wanted.items()):
                    return payload
            await self._read()

    async def _read(self) -> None:
        frame = await self.line.next()
        assert frame["type"] in ("res", "event"), frame
        if frame["type"] == "res":
            self._answers.setdefault(frame["id"], []).append(frame)
        else:
            self.events.append(frame)


@dataclass
class Revocations:
    _queue: list[str] = field(default_factory=list)
    _arrived: anyio.Event = field(default_factory=anyio.Event)

    def __call__(self) -> AsyncIterator[str]:
        return self._watch()

    def revoke(self, caller: str) -> None:
        self._queue.append(caller)
        self._arrived.set()

    async def _watch(self) -> AsyncIterator[str]:
        while True:
            while self._queue:
                yield self._queue.pop(0)
            self._arrived = anyio.Event()
            await self._arrived.wait()


async def identify(scope: Any, said: Any, nonce: str) -> Admitted:
    """The token `tok` is the owner, with the scopes it asks for; the client's id tells callers apart."""
    if said.auth is None or said.auth.token != "tok":
        raise MethodError("UNAUTHORIZED", "Who are you?")
    scopes = ALL_SCOPES if said.scopes is None or "admin" in said.scopes else frozenset(said.scopes)
    device = said.client.id if said.client.id == "phone" else ""
    return Admitted(caller=Caller(id=said.client.id, principal=OWNER, scopes=scopes, kind="token", device=device))


def policy_desk() -> PolicyAtDesk:
    """The rules of a fresh house, over one tool."""
    config = understand("{}", {}, source=Path("ostiary.json5")).config
    schema = ToolSchema(name="exec", description="Run a command.", parameters={"type": "object"})
    spec = ToolSpec(schema=schema, effects=frozenset({Effect.EXECUTE}))
    return PolicyAtDesk(config=lambda: config, specs=lambda: {"exec": spec}, steps=Verdict(judge=judge_of(config)).explain)


def _memory_desk(store: SqliteStore, search: Search, clock: ManualClock, drop: Callable[[SessionKey], None]) -> MemoryAtDesk:
    memory = make_memory(
        store=store,
        documents=store.documents,
        search=search,
        clock=clock,
        zone=lambda: UTC,
        rules=MemoryRules,
        is_private=lambda session: True,
        redact=lambda text: text,
        drop=drop,
        wants_summary=lambda session: False,
    )
    return MemoryAtDesk(memory=memory, store=store, documents=store.documents, search_index=search)


@asynccontextmanager
async def open_room(tmp_path: Path, *steps: Any, limits: SocketLimits | None = None, **more: Any) -> AsyncIterator[Room]:
    clock = ManualClock()
    model = ScriptedModel(steps or [say("Hello", ", world.") for _ in range(50)])
    revocations, memory, saw = Revocations(), Memory(), more.pop("saw", lambda caller: None)
    models, config, devices = Models(), Config(), Devices()
    async with (
        open_store(tmp_path / "store.db", KEY, clock=clock) as store,
        open_search(tmp_path / "search.db", KEY, store=store, embedder=None, clock=clock) as search,
    ):
        house = House(
            store=store, clock=clock, ids=CountingIds(), model=model, tools=more.pop("tools", {}), drain_seconds=0.01,
            decide=more.pop("decide", allow_everything),
        )  # fmt: skip
        async with open_house(house) as engine, anyio.create_task_group() as group:
            control = Control(
                commit=engine._sessions.write,
                value=store.value,
                clock=clock,
                rules=ControlRules,
                parts=lambda: Parts(kill=(EngineTurns(engine._lanes),)),
                tools=lambda: ("exec",),
            )
            await control.load()
            changes = Changes(sessions=engine._sessions, documents=store.documents, clock=clock)
            standing = ToolStanding(name="exec", outcome="ask", reason="it runs commands")
            services = Services(
                engine=engine, store=store, catalogue=house.catalogue, clock=clock, version="1.2.3", started_at=clock.now(),
                facts=lambda: {"home": "/home/test", "generation": 7}, models=models, config=config, devices=devices,
                sessions=SessionsAtDesk(engine=engine, sessions=engine._sessions, lanes=engine._lanes, search=search),
                control=ControlAtDesk(control=control, standings=lambda by: (standing,)), policy=policy_desk(),
                approvals=engine.approvals, audit_log=store.audit(),
                changes=ChangesAtDesk(changes=changes, documents=store.documents, redact=lambda text: text),
                vault=VaultAtDesk(store=store, documents=store.documents, search_index=search, clock=clock),
                memory=_memory_desk(store, search, clock, engine._sessions.forget),
            )  # fmt: skip
            socket = Socket(
                replace(services, **more),
                identify=identify,
                watch=lambda: engine.watcher(""),
                memory=memory,
                revocations=revocations,
                saw=saw,
                limits=limits,
            )
            async with socket.running():
                yield Room(
                    socket=socket, engine=engine, store=store, clock=clock, model=model, services=services, memory=memory,
                    models=models, config=config, devices=devices, group=group, revoke=revocations.revoke,
                )  # fmt: skip
                await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
